"""Redraw the pictures of docs/how-to/plot.md: `python scripts/plots.py` runs the code of the page."""

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from types import ModuleType

DOCS = Path(__file__).parent.parent.resolve() / "docs"


def main() -> None:
    """Run the Python code of the page in an empty folder, and keep the pictures that it saved."""
    page = (DOCS / "how-to" / "plot.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        file = Path("page.py")
        file.write_text(code, encoding="utf-8")  # terms are read from their source
        module = ModuleType("page")
        module.__file__ = str(file)
        sys.modules["page"] = module
        exec(compile(code, str(file.resolve()), "exec"), vars(module))
        for picture in sorted(Path(folder).glob("*.png")):
            shutil.copy(picture, DOCS / "pictures" / picture.name)
            print(f"docs/pictures/{picture.name}: {picture.stat().st_size:,} bytes")
        os.chdir(DOCS)


if __name__ == "__main__":
    main()
