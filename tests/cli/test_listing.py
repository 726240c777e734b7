"""`plaudit list`."""

import json

from plaudit.systems import BUILT_IN, system


def test_every_built_in_reward_is_listed_with_its_versions_and_terms(plaudit):
    shown = plaudit("list").stdout
    for name in BUILT_IN:
        assert name in shown
        assert all(label in shown for label in system(name).VERSIONS)
        assert all(term.name in shown for term in system(name).reward.terms)


def test_json_is_for_scripts(plaudit):
    rows = json.loads(plaudit("list", "--json").stdout)
    assert [row["name"] for row in rows] == list(BUILT_IN)
    for row in rows:
        assert row["versions"] == list(system(row["name"]).VERSIONS)
        assert row["terms"] == [term.name for term in system(row["name"]).reward.terms]
        assert row["rewards"] == BUILT_IN[row["name"]]


def test_a_narrow_terminal_will_do(plaudit, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    result = plaudit("list")
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= 40
