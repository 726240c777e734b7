"""Reports: one file with everything in it, as large as it may be."""

import json
import re
import sqlite3

import pytest
from click.testing import CliRunner

from plaudit import Ledger
from plaudit.cli import main
from plaudit.errors import DefinitionError
from plaudit.ledger import history
from plaudit.page.addresses import format_address
from plaudit.page.documents import columns
from plaudit.page.documents.episodes import choose_episodes, rank_episodes
from plaudit.page.library import Library
from plaudit.page.report import READ_TOGETHER, build_report, parse_size, unpack
from plaudit.page.sources import Listing
from support.moving import ONE, draw, record_episode


def read_documents(html):
    """Return the documents that a report embeds, by address."""
    [found] = re.findall(r'<script type="application/json" id="documents">(.*?)</script>', html, re.DOTALL)
    return {address: unpack(packed) for address, packed in json.loads(found).items()}


@pytest.fixture(scope="module")
def long_run(tmp_path_factory):
    """A run of 30 episodes of 200 steps."""
    path = tmp_path_factory.mktemp("page") / "long.db"
    with Ledger(path) as ledger:
        at = range(30 * 200)
        episode, step = [each // 200 for each in at], [each % 200 for each in at]
        ledger.record_batch(ONE, draw(len(at)), run="night", episode=episode, step=step)
    return path


@pytest.fixture(autouse=True)
def few_single_steps(monkeypatch):
    """Explaining steps takes the longest."""
    monkeypatch.setattr("plaudit.page.report.MOST_SINGLE", 3)


def build(path, **options):
    library = Library([str(path)])
    try:
        return build_report(library, **options)
    finally:
        library.close()


def test_a_report_holds_what_the_library_gives(recorded):
    told = []
    made = build(recorded, progress=lambda done, total: told.append((done, total)))
    assert {total for _, total in told} == {100}
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    documents = read_documents(made.html)
    library = Library([str(recorded)])
    for address in ("run/l0/night", "episode/l0/night/3", "episode/l0/a%2Fb%20c/1", "step/l0//solo/2", "steps/l0/"):
        assert documents[address] == library.get(address)
    library.close()
    assert documents["index"]["embedded"] == {"episodes": 7, "of": 7, "steps": 38, "of_steps": 38, "explained": 7}
    assert sorted(documents["episodes/l0/night"]["embedded"]) == ["0", "1", "2", "3", "4"]
    assert made.html.count("</script>") == made.html.count("<script")  # the context of a record holds such a text


def test_a_report_has_as_many_episodes_as_fit(long_run):
    made = build(long_run, max_size=400_000)
    assert 4 < made.episodes < 30
    assert 0.9 * 400_000 < made.size <= 400_000
    documents = read_documents(made.html)
    library = Library([str(long_run)])
    listed = library.find_ledger("l0").runs["night"].episodes
    library.close()
    order = sorted(range(30), key=lambda at: listed[at].total)
    for at in (order[0], order[-1], 0, 29):
        assert f"episode/l0/night/{at}" in documents
    embedded = documents["episodes/l0/night"]["embedded"]
    assert len(embedded) == made.episodes == documents["index"]["embedded"]["episodes"]
    assert all(format_address("episode", "l0", "night", each) in documents for each in embedded)
    whatif = documents["whatif/l0/night"]
    assert {each["episode"] for each in whatif["episodes"]} == set(embedded)
    assert (whatif["shown"], whatif["of"]) == (made.episodes, 30)


def test_short_episodes_are_read_together(tmp_path, monkeypatch):
    with Ledger(tmp_path / "short.db") as ledger:
        ledger.record_batch(ONE, draw(100), run="night", episode=range(100), actor="left")
        ledger.record_batch(ONE, draw(100), run="night", episode=range(100), actor="right")
        ledger.record_batch(ONE, draw(100), episode=range(100))
    looked_up = []
    read = columns.read_episode
    monkeypatch.setattr("plaudit.page.sources.read_episode", lambda *given: looked_up.append(given) or read(*given))
    documents = read_documents(build(tmp_path / "short.db", max_size=1_500_000).html)
    shown = [address for address in documents if address.startswith("episode/")]
    assert len(shown) > 200
    assert not looked_up
    library = Library([str(tmp_path / "short.db")])
    for address in shown[::20]:
        assert documents[address] == library.get(address)
    library.close()


def test_single_steps_are_explained_together(tmp_path, monkeypatch):
    with Ledger(tmp_path / "short.db") as ledger:
        ledger.record_batch(ONE, draw(300), run="night", episode=range(300), actor="left")
        ledger.record_batch(ONE, draw(300), run="day", episode=range(300))
    read, pages = history.read_records, []
    monkeypatch.setattr("plaudit.ledger.history.read_records", lambda page: pages.append(page) or read(page))
    documents = read_documents(build(tmp_path / "short.db").html)
    shown = [address for address in documents if address.startswith("step/")]
    assert len(shown) > 300
    assert len(pages) <= 2 * (len(shown) // READ_TOGETHER + 2), "a page is decoded once for all steps read together"
    library = Library([str(tmp_path / "short.db")])
    for address in shown[::10]:
        assert documents[address] == library.get(address)
    library.close()


def test_a_report_shows_one_moment_of_a_ledger_that_is_being_written(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        record_episode(ledger, 1)
        library = Library([str(tmp_path / "rewards.db")])

        def record_more(done, total):
            record_episode(ledger, done + 2)
            record_episode(ledger, done + 2, run=f"run {done}")

        documents = read_documents(build_report(library, progress=record_more).html)
        library.close()
    [run] = documents["index"]["sources"][0]["runs"]
    assert (run["run"], run["episodes"], documents["run/l0/night"]["episodes"]) == ("night", 1, 1)


def test_a_report_without_room_says_what_it_needs(recorded):
    with pytest.raises(DefinitionError, match=r"the summaries alone take 0\.\d MB.*--max-size"):
        build(recorded, max_size=50_000)


def test_a_report_of_a_reward_alone_shows_it(tmp_path):
    spec = tmp_path / "moving.json"
    spec.write_text(ONE.to_json())
    documents = read_documents(build(spec).html)
    reward = documents["index"]["sources"][0]["rewards"][0]["id"]
    assert documents["index"]["embedded"] is None
    assert [each["name"] for each in documents[f"reward/{reward}"]["terms"]] == ["near", "haste"]


def test_the_worst_best_first_and_last_come_first_then_others_in_turn(recorded):
    class Each:
        actor, reward, version, first_record, finished = None, "moving", "1", 1, True

        def __init__(self, at, total):
            self.episode, self.total, self.length = str(at), total, 1

    totals = [5, 1, 4, 2, 9, 3, 8, 7, 6, 0]
    listing = Listing([Each(at, total) for at, total in enumerate(totals)])
    assert rank_episodes(listing)[:4] == [9, 4, 0, 1]
    assert sorted(rank_episodes(listing)) == list(range(10))
    assert choose_episodes(listing, 4) == [0, 1, 4, 9]
    assert rank_episodes(Listing([])) == []


@pytest.mark.parametrize("text", ["", "3 bananas", "-3MB", "MB", "3MB4", "٣MB"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(DefinitionError, match="is not a size"):
        parse_size(text)


# -- the command ------------------------------------------------------------------------------------------------------


def test_the_command_writes_a_file_and_says_what_is_in_it(recorded, tmp_path):
    output = tmp_path / "report.html"
    output.write_text("an older one")
    done = CliRunner().invoke(main, ["report", str(recorded), "-o", str(output), "--json", "--run", "night"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert (told["episodes"], told["of"], told["bytes"]) == (5, 5, output.stat().st_size)
    assert [run["run"] for run in read_documents(output.read_text())["index"]["sources"][0]["runs"]] == ["night"]
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_a_report_that_fails_leaves_the_older_one(recorded, tmp_path):
    output = tmp_path / "report.html"
    output.write_text("an older one")
    for arguments in (["--run", "nigth"], [str(output)], ["missing.db"]):
        done = CliRunner().invoke(main, ["report", str(recorded), "-o", str(output), *arguments])
        assert done.exit_code == 2, done.output
        assert "Traceback" not in done.output
    assert output.read_text() == "an older one"
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_a_report_never_replaces_what_it_reads(recorded, tmp_path):
    ledger = tmp_path / "rewards.db"
    ledger.write_bytes(recorded.read_bytes())
    (tmp_path / "link.html").symlink_to(ledger)
    for output in (ledger, tmp_path / "link.html"):
        done = CliRunner().invoke(main, ["report", str(ledger), "-o", str(output)])
        assert done.exit_code == 2
        assert "would replace" in done.output
    assert ledger.read_bytes() == recorded.read_bytes()


def test_an_episode_that_is_damaged_is_left_out_and_named(recorded, tmp_path):
    path = tmp_path / "rewards.db"
    path.write_bytes(recorded.read_bytes())
    with sqlite3.connect(path) as database:
        database.execute("UPDATE blocks SET inputs = x'00' WHERE first = 1")
    made = build(path)
    assert made.episodes == 6
    assert any("episode '0'" in each and "damaged" in each for each in made.left_out)
