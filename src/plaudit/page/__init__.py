"""The page: rewards, runs, episodes and steps to look at, as a report in one file or from a local server."""
