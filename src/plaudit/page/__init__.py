"""The web page: rewards, runs, episodes and steps, as a report in one file or from a local server."""
