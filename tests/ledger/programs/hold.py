"""Begins to write to a ledger, says so, and never ends.

hold.py LEDGER
"""

import sys
import time

from plaudit import Ledger

if __name__ == "__main__":
    ledger = Ledger(sys.argv[1])
    with ledger._store.backend.transaction() as cursor:
        cursor.execute("UPDATE writers SET records = records")
        print("holding", flush=True)
        time.sleep(600)
