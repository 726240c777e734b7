"""Reports written down: for people, scripts, code scanning and build logs. One module a format."""
