"""Pictures: honest axes, one colour a term, names that cannot break them, and what was drawn said."""

import math
import re
import sys
from itertools import pairwise
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_hex

from plaudit import Field, Ledger, Reward, check, term
from plaudit.analysis import attribute, compare, compare_episodes, diff, sweep
from plaudit.checks.finding import Finding, Step
from plaudit.checks.report import Report
from plaudit.errors import DefinitionError, InputError, MissingExtra
from plaudit.ledger.rescore.changes import Changes
from plaudit.ledger.summary.episodes import Episodes
from plaudit.plots.axes import choose_style, open_axes
from plaudit.plots.distances import plot_intervals, plot_matrix
from plaudit.plots.stacked import plot_shares, plot_stacked
from plaudit.plots.sweeps import Axis, plot_curve
from plaudit.plots.training import plot_returns, plot_terms
from plaudit.plots.versions import plot_pairs, plot_sides

mpl.use("agg")
DOCS = Path(__file__).parents[2] / "docs"
HOSTILE = ["$\\frac{$", "_hidden", "\x1b[31m\u202e", "a" * 300, "<b>"]


@term
def gain(speed):
    return speed


@term(weight=-2.0)
def risk(speed, *, limit=3.0):
    return 1 if speed > limit else 0


RACING = Reward("racing", version="1", terms=[gain, risk], fields=[Field("speed", low=0, high=9, unit="m/s")])
SLOWER = RACING.with_params(risk={"limit": 2.0}).with_version("2")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    with Ledger(tmp_path_factory.mktemp("ledger") / "rewards.db") as made:
        with made.writer() as writer:
            for episode in range(6):
                for step in range(5):
                    signal = RACING.score(speed=float((episode * 3 + step) % 8))
                    writer.record(signal, run="day" if episode < 4 else "night", episode=str(episode), step=step)
        yield made


def words(ax):
    """Return everything that is written in a picture."""
    return "\n".join(each.get_text() for each in ax.figure.findobj(mpl.text.Text))


def colors(ax):
    """Return the colour of each entry of the legend, by its name."""
    handles = zip(ax.get_legend().legend_handles, ax.get_legend().get_texts(), strict=True)
    return {
        text.get_text(): to_hex(handle.get_color() if hasattr(handle, "get_color") else handle.get_facecolor())
        for handle, text in handles
    }


def stacks(ax):
    """Return the upper and the lower ends of each term of a stacked picture, by its name."""
    drawn = {patch.get_label(): patch.get_data() for patch in ax.patches}
    return {name: (data.values, data.baseline) for name, data in drawn.items() if name != "total"}


def test_without_matplotlib_the_error_names_the_extra(monkeypatch, ledger):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingExtra, match=r"plaudit\[plot\]"):
        ledger.episodes().plot()


def test_a_picture_is_drawn_where_one_asks_for_it(ledger):
    _, ax = pyplot.subplots()
    before = len(pyplot.get_fignums())
    with Ledger(ledger.name, read_only=True) as read:
        found = diff(RACING, SLOWER, ledger=read)
    for draw in (
        ledger.episodes().plot,
        ledger.history(episode="1").plot,
        found.plot,
        found.effect.changes.plot,
        sweep(RACING, "speed").plot,
        check(RACING).plot,
        compare(RACING, SLOWER, samples=1000, means=50).plot,
    ):
        ax.clear()
        assert draw(ax=ax) is ax
        assert ax.has_data()
    assert len(pyplot.get_fignums()) == before


def test_a_term_has_one_colour_in_every_picture(ledger):
    wanted = {name: choose_style(at).color.lower() for at, name in enumerate(("gain", "risk"))}
    assert wanted.items() <= colors(ledger.episodes().plot(terms=True)).items()
    assert wanted.items() <= colors(ledger.history(episode="1").plot()).items()
    drawn = sweep(RACING, "speed", term="risk").plot().lines
    assert wanted["risk"] in {to_hex(line.get_color()) for line in drawn}


def test_returns_are_drawn_by_run_and_how_many_is_said(ledger):
    ax = ledger.episodes().plot()
    assert "6 episodes" in words(ax)
    assert colors(ax).keys() == {"day", "night"}
    drawn = [line for line in ax.lines if line.get_label() == "day"]
    assert drawn[0].get_ydata().tolist() == [each.total for each in ledger.episodes() if each.run == "day"]


def test_a_mean_is_over_whole_windows_only():
    ax = plot_returns({"a": [1.0, 2.0, 3.0, 10.0]}, window=2)
    mean = next(line for line in ax.lines if line.get_label() == "a")
    assert (mean.get_xdata().tolist(), mean.get_ydata().tolist()) == ([2, 3, 4], [1.5, 2.5, 6.5])
    assert "moving mean over 2" in words(ax)
    terms = plot_terms({"x": [None, 2.0, 4.0]}, [1.0, 2.0, 3.0], window=2)
    assert terms.lines[0].get_ydata().tolist() == [2.0, 3.0]


@pytest.mark.parametrize("window", [0, 5, -1])
def test_a_window_that_no_episodes_fill_is_refused(window):
    with pytest.raises(InputError, match="window="):
        plot_returns({"a": [1.0, 2.0]}, window=window)


def test_what_is_not_there_is_not_drawn():
    for draw in (Episodes([]).plot, Changes().plot, Report(reward="r", version="1", fingerprint="").plot):
        with pytest.raises(InputError, match="no"):
            draw()
    with pytest.raises(InputError, match="do not differ"):
        diff(RACING, RACING).plot()


def test_a_stacked_episode_adds_up_to_its_totals(ledger):
    ax = ledger.history(run="day", episode="2").plot()
    heights = sum(upper - lower for upper, lower in stacks(ax).values())
    assert heights.tolist() == [record.total for record in ledger.history(run="day", episode="2")]
    assert ax.get_ylim()[0] < 0 < ax.get_ylim()[1]
    assert "5 steps" in words(ax)
    assert "racing@1 day 2" in words(ax)


def test_bars_of_one_step_do_not_overlap():
    ax = plot_stacked({"a": [3.0, -1.0], "b": [2.0, -2.0], "c": [-4.0, 5.0]}, [1.0, 2.0])
    for step in range(2):
        spans = sorted(sorted((float(upper[step]), float(lower[step]))) for upper, lower in stacks(ax).values())
        assert all(one[1] <= other[0] for one, other in pairwise(spans))


def test_many_steps_are_added_up_and_that_is_said():
    ax = plot_stacked({"a": np.ones(1000)}, np.ones(1000))
    assert "sum of 3 steps" in ax.get_ylabel()
    upper, lower = stacks(ax)["a"]
    assert (upper - lower).sum() == 1000


def test_a_step_that_is_missing_is_a_gap():
    ax = plot_stacked({"a": [1.0, 2.0, 3.0]}, [1.0, 2.0, 3.0], x=[4, 5, 9])
    assert np.isnan(stacks(ax)["a"][0]).tolist() == [False, False, True, False]
    assert ax.patches[0].get_data().edges.tolist() == [3.5, 4.5, 5.5, 8.5, 9.5]


def test_terms_beyond_what_can_be_told_apart_are_one():
    terms = {f"t{at}": np.full(3, at + 1.0) for at in range(20)}
    ax = plot_stacked(terms, sum(terms.values()))
    assert "8 others" in colors(ax)
    assert len(stacks(ax)) == 13


def test_steps_of_several_rewards_are_not_stacked(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        ledger.record(RACING.score(speed=1.0))
        ledger.record(SLOWER.score(speed=1.0))
        with pytest.raises(InputError, match="several rewards, racing@1, racing@2"):
            ledger.history().plot()


def test_shares_that_are_negative_hang_below_zero():
    ax = plot_shares([0, 10, 20], {"a": [1.2, 0.5], "b": [-0.2, 0.5]}, along="episode", counts=20)
    a, b = ax.containers
    assert (b[0].get_y(), b[0].get_height()) == (0.0, -0.2)
    assert a[1].get_height() + b[1].get_height() == 1.0
    assert "20 episodes" in words(ax)


def test_versions_are_drawn_on_one_scale(ledger):
    with Ledger(ledger.name, read_only=True) as read:
        found = diff(RACING, SLOWER, ledger=read)
    ax = found.plot()
    assert ax.get_xlim() == ax.get_ylim()
    assert "return under racing@2" in words(ax)
    assert "6 episodes" in words(ax)
    assert "lower" in words(ax)
    assert "30 records" in found.plot(terms=True).get_xlabel()


def test_bars_begin_at_zero_and_zero_is_shown():
    pictures = [
        diff(RACING, SLOWER).plot(),
        check(RACING).plot(),
        plot_sides(["a", "b"], [1001.0, None], [1002.0, 1003.0], names=("x", "y"), measured="sum", title=""),
    ]
    for ax in pictures:
        bars = [bar for container in ax.containers if hasattr(container, "patches") for bar in container.patches]
        assert {bar.get_x() for bar in bars} == {0.0}
        assert ax.get_xlim()[0] <= 0 <= ax.get_xlim()[1]
    assert "none" in words(pictures[-1])


def test_many_pairs_are_drawn_as_a_density():
    numbers = np.linspace(0, 1, 6000)
    ax = plot_pairs(numbers, numbers, names=("a", "b"), what="total", of="step")
    assert len(ax.lines) == 1  # that of no change
    assert "6,000 steps" in words(ax)
    changes = Changes(ranked_at_most=5)
    changes.add(np.arange(9.0), np.arange(9.0))
    assert "a sample of 5 of 9 steps" in words(changes.plot())


def test_a_row_that_cannot_be_scored_says_so():
    rows = (Step({"x": 1.0}, None, "here"), Step({"x": 2.0}, 3.0, "there"))
    found = Finding(code="fails", severity="warning", term="total", message="", advice="", witness=rows)
    ax = Report(reward="r", version="1", fingerprint="", findings=(found,)).plot()
    assert "cannot be scored" in words(ax)
    assert "2 rows" in words(ax)


def test_a_matrix_says_its_scale_and_leaves_out_what_is_undefined():
    values = np.array([[0.0, 0.042, np.nan], [0.042, 0.0, 0.3], [np.nan, 0.3, 0.0]])
    ax = plot_matrix(["a", "b", "c"], values, title="EPIC distance", note="on 9 steps")
    assert ax.images[0].get_clim() == (0.0, 0.3)
    assert words(ax).count("–") == 2
    assert "on 9 steps" in words(ax)
    assert plot_matrix(["a", "b"], [[1, 0.93], [0.93, 1]], title="r", signed=True).images[0].get_clim() == (0.93, 1.0)


def test_three_rewards_are_a_matrix_and_two_are_intervals():
    third = RACING.with_weights(gain=-1.0).with_version("3")
    matrix = compare(RACING, SLOWER, third, samples=1000, means=50)
    ax = matrix.plot()
    assert [text.get_text() for text in ax.get_xticklabels()] == ["1", "2", "3"]
    assert "1,000 steps drawn" in words(ax)
    assert matrix.plot("pearson").images[0].get_clim()[1] == 1.0
    with pytest.raises(DefinitionError, match="not measured"):
        matrix.plot("dard")
    ax = compare(RACING, SLOWER, samples=1000, means=50).plot()
    assert ax.get_xlim()[0] < -1 < 1 < ax.get_xlim()[1]


def test_a_number_that_is_undefined_is_not_a_point():
    ax = plot_intervals(["a", "b"], [0.5, math.nan], [0.4, math.nan], [0.6, math.nan], title="", measured="")
    assert "undefined" in words(ax)
    assert sum(line.get_marker() == "o" for line in ax.lines) == 1


def test_no_name_breaks_a_picture():
    ax = plot_stacked({name: [1.0] for name in HOSTILE}, [5.0], title=HOSTILE[0])
    pairs = plot_pairs([1.0], [2.0], names=(HOSTILE[0], HOSTILE[2]))
    swept = Axis(HOSTILE[0], HOSTILE[0], np.arange(2.0))
    curve = plot_curve(swept, [1.0, 2.0], measured=HOSTILE[1], note=HOSTILE[2])
    for drawn in (ax, pairs, curve):
        drawn.figure.draw_without_rendering()
        assert not [c for c in words(drawn) if not c.isprintable() and c != "\n"]
    assert len(colors(ax)) == 1 + len(HOSTILE)  # nothing is left out of the legend
    assert max(map(len, colors(ax))) < 60


def test_drawing_leaves_settings_alone():
    before = dict(mpl.rcParams)
    open_axes(None)
    sweep(RACING, "speed").plot()
    assert dict(mpl.rcParams) == before


def test_the_pictures_of_the_docs_are_there_and_small():
    page = (DOCS / "how-to" / "plot.md").read_text(encoding="utf-8")
    named = re.findall(r"\]\(\.\./(pictures/[\w-]+\.png)\)", page)
    assert len(named) >= 8
    for name in named:
        assert (DOCS / name).stat().st_size < 60_000
        assert f'savefig("{name.removeprefix("pictures/")}")' in page


def test_an_attribution_and_a_gap_of_episodes_draw_what_they_say(ledger):
    found = attribute(ledger.episodes(run="day"), bins=2)
    ax = found.plot()
    ends = stacks(ax)
    assert [*ends] == ["gain", "risk"]
    assert ends["gain"][0] == pytest.approx([each["gain"].mean for each in found.bins])
    assert "4 episodes" in words(ax)
    shares = found.plot(variance=True)
    assert "variance" in words(shares)
    assert colors(shares) == {name: color for name, color in colors(ax).items() if name != "total"}
    gap = compare_episodes(ledger, "0", "3", run="day")
    widths = [bar.get_width() for bar in gap.plot().patches]
    assert widths == pytest.approx(
        [*(each.first for each in gap.terms), gap.first.total, *(each.second for each in gap.terms), gap.second.total]
    )
