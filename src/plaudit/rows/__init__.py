"""Rows of files: one reader and one writer for CSV, JSON lines and Parquet, and what a bad row is."""
