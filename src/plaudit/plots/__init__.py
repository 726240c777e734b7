"""Pictures with matplotlib: functions from names and numbers to axes, one module a kind of picture.

They know nothing of rewards and ledgers; `plot()` of a result hands them what they draw.
"""
