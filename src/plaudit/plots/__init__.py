"""Plots with matplotlib: functions from names and numbers to axes, one module per kind of plot.

They know nothing about rewards and ledgers; the `plot()` method of a result passes them the data.
"""
