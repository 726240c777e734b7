"""The dashboard's server on real ledgers: while they are recorded, compacted, removed and replaced."""

import json
import threading
from urllib.parse import quote

import pytest

from plaudit import Ledger
from plaudit.errors import PlauditError
from plaudit.page.library import Library
from support.dashboards import serve
from support.ledgers import REWARD, columns, signal


def record(ledger, run, episodes, start=0):
    for episode in range(start, start + episodes):
        ledger.record_batch(REWARD, columns(5 * episode, 5 * episode + 5), run=run, episode=str(episode), step=range(5))


@pytest.fixture
def path(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        record(ledger, "night", 4)
    return tmp_path / "rewards.db"


@pytest.fixture
def library(path):
    library = Library([str(path)], live=True)
    yield library
    library.close()


@pytest.fixture
def client(library):
    with serve(library) as client:
        yield client


def test_the_page_is_told_of_what_another_program_records(path, client):
    assert client.get("/documents/run/l0/night").json()["episodes"] == 4
    events = client.listen()
    assert next(events) == ("listening", None)
    with Ledger(path) as ledger:
        record(ledger, "night", 1, start=4)
        name, changed = next(events)
        assert name == "changed"
        assert {"index", "run/l0/night", "episodes/l0/night"} <= set(changed)
        assert client.get("/documents/run/l0/night").json()["episodes"] == 5
        record(ledger, "day", 1)
        assert "run/l0/day" in next(events)[1]
    assert [run["run"] for run in client.get("/documents/index").json()["sources"][0]["runs"]] == ["night", "day"]
    events.close()


def test_what_was_said_to_have_changed_is_read_anew_at_once(path, library):
    with Ledger(path) as ledger:
        for episodes in range(5, 8):
            library.get("run/l0/night")
            record(ledger, "night", 1, start=episodes - 1)
            assert "run/l0/night" in library.changed()
            assert library.get("run/l0/night")["episodes"] == episodes


def test_steps_of_a_ledger_in_the_place_of_another_are_its_own(path, library):
    before = library.get("episode/l0/night/1")["total"]
    path.unlink()
    with Ledger(path) as ledger:
        for episode in range(4):  # the same numbers and names, other steps
            ledger.record_batch(
                REWARD, columns(100 + 5 * episode, 105 + 5 * episode), run="night", episode=str(episode), step=range(5)
            )
    assert library.changed()
    assert library.get("episode/l0/night/1")["total"] != before


def test_a_ledger_is_read_while_it_is_compacted(path, client):
    failed = []

    def read(number):
        for step in range(5):  # each is a document of its own, which nobody has read yet
            answer = client.get(f"/documents/step/l0/night/{number}/{step}")
            if answer.status != 200 or answer.json()["total"] != signal(5 * number + step).total:
                failed.append(answer)

    readers = [threading.Thread(target=read, args=[number]) for number in range(4)]
    for each in readers:
        each.start()
    with Ledger(path) as ledger:
        for start in range(4, 8):
            record(ledger, "night", 1, start)
            ledger.compact()
    for each in readers:
        each.join(300)
    assert failed == []


def test_a_ledger_that_is_removed_is_said_so_and_one_in_its_place_is_shown(path, client, capfd):
    assert client.get("/documents/run/l0/night").status == 200
    events = client.listen()
    assert next(events) == ("listening", None)
    for each in path.parent.glob("rewards.db*"):
        each.unlink()
    name, message = next(events)
    assert name == "gone"
    assert str(path.parent) not in message
    with Ledger(path) as ledger:
        record(ledger, "again", 1)
    assert next(events) == ("back", None)
    name, changed = next(events)
    assert name == "changed"
    assert {"run/l0/night", "run/l0/again"} <= set(changed)
    assert client.get("/documents/run/l0/again").json()["episodes"] == 1
    assert client.get("/documents/run/l0/night").status == 404
    events.close()
    assert str(path) in capfd.readouterr().err, "the terminal says which file"


def test_nothing_that_the_page_uses_can_write(library):
    ledger = library.sources[0].ledger
    with pytest.raises(PlauditError, match="readonly database"), ledger._store.backend.snapshot() as connection:
        connection.exec_driver_sql("DELETE FROM blocks")
    with pytest.raises(PlauditError, match="read_only"):
        record(ledger, "night", 1)


def test_a_ledger_on_a_postgres_server_is_followed_and_cannot_be_written(postgres_url):
    with Ledger(postgres_url) as ledger:
        record(ledger, "night", 1)
        library = Library([postgres_url.replace("postgres@", "postgres:secret@")], live=True)
        try:
            index = library.get("index")
            record(ledger, "night", 1, start=1)
            assert "run/l0/night" in library.changed()
            assert library.get("run/l0/night")["episodes"] == 2
            assert library.get("step/l0/night/1/2")["verified"]
            assert "secret" not in json.dumps(index)
            with (
                pytest.raises(PlauditError, match="read-only transaction"),
                library.sources[0].ledger._store.backend.snapshot() as connection,
            ):
                connection.exec_driver_sql("DELETE FROM blocks")
        finally:
            library.close()


def test_only_what_was_named_can_be_looked_at(path, client):
    with Ledger(path.with_name("other.db")) as other:
        record(other, "secret", 1)
    for source in ("l1", "other.db", str(path.with_name("other.db")), "../other.db", "L0", "l-1", "0"):
        assert client.get(f"/documents/run/{quote(source, safe='')}/secret").status == 404


def test_a_whole_run_is_scored_with_other_knobs(path, client):
    weight = next(name for name in REWARD.params if name.endswith(".weight"))
    found = client.get(f"/rescore/l0/night?set={quote(json.dumps({weight: 3.0}))}").json()
    with Ledger(path, read_only=True) as ledger:
        episodes = {each.episode: each.total for each in ledger.episodes()}
        batches = list(ledger.score_history(REWARD.with_params({weight: 3.0}), run="night"))
    assert found["steps"] == 20
    assert found["return"]["before"] == pytest.approx(sum(episodes.values()) / 4)
    assert found["return"]["after"] == pytest.approx(sum(batch.scores[0].total.sum() for batch in batches) / 4)
    assert {each["episode"]: each["before"] for each in found["ranking"]} == pytest.approx(episodes)
    for settings in ({"no.such": 1.0}, {weight: "2"}, {weight: [1]}):
        answer = client.get(f"/rescore/l0/night?set={quote(json.dumps(settings))}")
        assert (answer.status, answer.json()["kind"]) == (400, "refused")


def test_scoring_a_run_ends_when_nobody_waits_for_it(library):
    begun, ended = threading.Event(), threading.Event()

    def rescore(source, run, settings, go_on):
        begun.set()
        try:
            while True:  # until `go_on` raises
                go_on()
        finally:
            ended.set()

    library.rescore = rescore
    with serve(library) as client:
        asking = threading.Thread(target=lambda: client.leave("/rescore/l0/night", begun))
        asking.start()
        assert ended.wait(300)
        asking.join(300)
