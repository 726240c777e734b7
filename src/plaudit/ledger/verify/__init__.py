"""Whether everything is as it was written."""
