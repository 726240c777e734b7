"""What pictures need is imported when it is needed, and named when it is missing."""

import sys

import pytest

from support.forking import run_python

HIDDEN = "import sys; sys.modules[{0!r}] = None\n"


def run(script):
    done = run_python([sys.executable, "-c", script], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_drawing_from_above_does_not_import_matplotlib():
    script = "import sys; from plaudit.systems.roadsense.pictures import draw_top_view; "
    assert run(f"{script}print('PIL' in sys.modules, 'matplotlib' in sys.modules)") == (0, "True False\n")


def test_the_picture_of_a_step_for_the_page_needs_neither():
    script = "import sys; from plaudit.systems.roadsense import draw_step; "
    assert run(f"{script}print('PIL' in sys.modules, 'matplotlib' in sys.modules)") == (0, "False False\n")


@pytest.mark.parametrize(
    ("library", "use"),
    [
        ("PIL", "from plaudit.systems.roadsense.pictures import draw_top_view"),
        ("matplotlib", "from plaudit.systems.roadsense.pictures.strip_chart import _import_matplotlib as use; use()"),
    ],
)
def test_a_missing_library_is_named_with_the_way_to_install_it(library, use):
    code, output = run(HIDDEN.format(library) + use)
    assert code == 1
    assert (
        f"need {library}. Install it: pip install 'plaudit[sumo]'" in output
        or f"needs {library}. Install it: pip install 'plaudit[sumo]'" in output
    )


def test_a_chart_does_not_touch_pyplot(tmp_path):
    script = (
        "import sys\n"
        "from plaudit.systems.roadsense.measurement import Measurement\n"
        "from plaudit.systems.roadsense.pictures import Frame, save_strip_chart\n"
        "from plaudit.systems.roadsense.world import CarState\n"
        "step = Measurement(30.0, 0.5, 1, 0.0, 15.0, False, False, False, False, False, 0.0)\n"
        "frame = Frame(1, {'V001': CarState(0.0, 0.0, 15.0, 0.0, 90.0)}, step, {'safety': 1.0}, 1.0)\n"
        f"save_strip_chart([frame], {str(tmp_path / 'drive.png')!r})\n"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    assert run(script) == (0, "False\n")
