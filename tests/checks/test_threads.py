"""Several rewards may be checked at once, in threads of one process."""

import subprocess
import sys

SCRIPT = """
from concurrent.futures import ThreadPoolExecutor
from plaudit import check
from plaudit.systems import load

names = [("hackmatrix", "potential"), ("apex", "high_water"), ("deepthinker", None)] * 2
with ThreadPoolExecutor(3) as pool:
    reports = list(pool.map(lambda each: check(load(*each)), names))
print([[finding.code for finding in report] for report in reports[:3]] == [[f.code for f in r] for r in reports[3:]])
"""


def test_checks_in_threads_give_the_same_reports_and_keep_stdout():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")
