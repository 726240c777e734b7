"""New boards: where blocks stand, what lies on the cells, and where transmissions appear."""
