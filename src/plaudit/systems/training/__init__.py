"""What the training runs of all systems share: stopping, going on, journals, files and reports."""
