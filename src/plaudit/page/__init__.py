"""The page: rewards, runs, episodes and single steps to look at, as one file or live."""
