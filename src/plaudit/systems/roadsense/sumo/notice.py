"""Import libsumo without the notice that it prints where pyarrow is installed."""

import io
import sys
from contextlib import redirect_stdout
from types import ModuleType

from plaudit.systems.roadsense.sumo.installed import missing

# libsumo is compiled against a libarrow of its own and warns, on standard output, wherever another pyarrow is
# installed, loaded or not. Only a pyarrow that is *loaded* beside it can do harm, and `simulation` then hosts SUMO in
# a process of its own, so the notice says nothing that a reader could act on.
NOTICE = (
    "Warning! pyarrow is installed with version",
    " Try to uninstall pyarrow or install a matching pyarrow version",
)


def without_notice(text: str) -> str:
    r"""Return what libsumo printed while it was imported, less the two lines about pyarrow.

    >>> without_notice("Warning! pyarrow is installed with version 26.0\nother\n")
    'other\n'
    """
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith(NOTICE))


def imported() -> ModuleType:
    """Return the module libsumo."""
    printed = io.StringIO()
    try:
        with redirect_stdout(printed):
            import libsumo
    except ImportError as error:
        raise missing("libsumo") from error
    sys.stdout.write(without_notice(printed.getvalue()))
    module: ModuleType = libsumo
    return module
