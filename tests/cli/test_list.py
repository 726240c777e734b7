"""`plaudit list`."""

import json

from plaudit.systems import BUILT_IN
from support.command_line import built_in


def test_every_built_in_reward_is_listed_with_its_versions_and_terms(plaudit):
    shown = plaudit("list").stdout
    for row in json.loads(plaudit("list", "--json").stdout):
        assert row["name"] in shown
        assert all(label in shown for label in row["versions"])
        assert all(term in shown for term in row["terms"])


def test_json_is_for_scripts(plaudit):
    rows = json.loads(plaudit("list", "--json").stdout)
    assert [row["name"] for row in rows] == list(BUILT_IN)
    for row in rows:
        reward = built_in(row["name"])
        assert row["versions"][0] == reward.version
        assert row["terms"] == [term.name for term in reward.terms]
        assert row["rewards"]
        assert row["from"] == "built-in"
        assert "error" not in row


def test_a_narrow_terminal_will_do(plaudit, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    result = plaudit("list")
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= 40
