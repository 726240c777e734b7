"""The JSON documents that the views of the page show."""
