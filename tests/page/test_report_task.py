"""A page that is made with a task judges every reward on it by that task."""

import json

import pytest

from plaudit import DefinitionError, Task
from plaudit.page.library import Library

NEAR = Task("near", better={"distance": "low"}, states=["distance"])


def test_rewards_of_a_ledger_are_shown_with_the_task(recorded):
    library = Library([str(recorded)], task=NEAR)
    for each in library.get("index")["sources"][0]["rewards"]:
        assert library.get(f"definition/{each['id']}")["task"]["name"] == "near"
    library.close()


def test_a_task_that_does_not_fit_is_refused_when_the_page_is_made(recorded):
    with pytest.raises(DefinitionError, match="distanc"):
        Library([str(recorded)], task=Task(better={"distanc": "low"}))


def test_the_command_takes_a_task(plaudit, recorded, tmp_path):
    NEAR.save(tmp_path / "near.json")
    result = plaudit("report", recorded, "--task", "near.json", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["output"] == "report.html"
    result = plaudit("report", recorded, "--task", "far.json")
    assert (result.exit_code, result.stderr) == (2, "Error: far.json does not exist. Did you mean 'near.json'?\n")
