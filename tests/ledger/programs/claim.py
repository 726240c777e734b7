"""Claims actors of a run, says which, and waits: claim.py WHERE ACTOR [ACTOR ...]; an ACTOR of - takes the next free."""

import sys
import time

from plaudit import Ledger

ledger = Ledger(sys.argv[1])
for actor in sys.argv[2:]:
    print(ledger._claim_actor("night", None if actor == "-" else actor)[1][1], flush=True)
while True:
    time.sleep(0.05)
