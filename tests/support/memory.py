"""Files in memory, where there is room: nothing waits for a disk."""

import os
import shutil
from pathlib import Path

MEMORY = Path("/dev/shm")
ROOM = 2 << 30


def find_memory() -> Path | None:
    """Return a folder that is kept in memory; None where there is none with room."""
    return MEMORY if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM else None
