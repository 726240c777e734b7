"""Records in a lake: their files in object storage or a folder, listed in Delta Lake tables that other engines read."""
