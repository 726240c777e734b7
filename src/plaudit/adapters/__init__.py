"""Adapters for other engines and frameworks, one module for each."""
