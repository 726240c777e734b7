"""What each view of the page shows, as a document of JSON."""
