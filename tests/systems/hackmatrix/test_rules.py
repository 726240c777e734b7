"""The game's numbers against the worked examples' own tables, and the choices that rules are made of."""

import subprocess
import sys

import pytest

from plaudit.systems import hackmatrix
from plaudit.systems.hackmatrix import rewards, rules
from plaudit.systems.hackmatrix.rules import ACTION_NAMES, PROGRAMS, Rules, action_of
from support.hackmatrix_model.examples import examples


def test_the_actions_are_those_of_the_examples():
    assert {str(action): name.lower() for action, name in enumerate(ACTION_NAMES)} == examples()["actions"]
    assert len(ACTION_NAMES) == rules.ACTIONS == rules.ACTION_PROGRAM_START + len(PROGRAMS)
    assert ACTION_NAMES[rules.ACTION_SIPHON] == "SIPHON"


def test_the_programs_cost_and_release_what_the_examples_table_says():
    columns = zip(PROGRAMS, rules.PROGRAM_CREDITS, rules.PROGRAM_ENERGY, rules.PROGRAM_SPAWN, strict=True)
    table = [
        {
            "slot": slot,
            "action": slot + 5,
            "name": name.lower(),
            "credits": credits,
            "energy": energy,
            "block_spawn": spawn,
        }
        for slot, (name, credits, energy, spawn) in enumerate(columns)
    ]
    assert table == examples()["program_table"]


def test_the_constants_have_the_names_of_the_specification_everywhere():
    for name, value in {"ACTION_SIPHON": 4, "ACTION_PROGRAM_START": 5, "PROGRAM_RESET": 14}.items():
        assert getattr(rules, name) == getattr(rewards, name) == getattr(hackmatrix, name) == value
    assert hackmatrix.STAGE_COMPLETION_REWARDS == (1, 2, 4, 8, 16, 32, 64, 100)


def test_the_components_are_those_of_the_examples_in_their_order():
    assert [term.name for term in rewards.reward.terms] == examples()["reward_keys"]


def test_an_action_is_found_by_its_name():
    assert [action_of(name) for name in ("UP", "DOWN", "LEFT", "RIGHT", "SIPHON", "HACK")] == [0, 1, 2, 3, 4, 27]


def test_an_action_that_is_not_there_is_answered_with_one_that_is():
    with pytest.raises(ValueError, match="no action is called 'RSET'. Did you mean 'RESET'?"):
        action_of("RSET")


def test_the_seed_takes_the_first_choice_of_each_and_the_reference_the_second():
    assert Rules.seed() == Rules(
        no_path="manhattan", siphon_candidates="values", question_blocks="ignored", siphoned_cells="counted"
    )
    assert Rules.reference() == Rules(
        no_path="zero", siphon_candidates="same_blocks", question_blocks="counted", siphoned_cells="skipped"
    )
    assert Rules() == Rules.reference()


@pytest.mark.parametrize("option", ["no_path", "siphon_candidates", "question_blocks", "siphoned_cells"])
def test_a_choice_that_is_not_there_is_refused_with_those_that_are(option):
    first, second = getattr(Rules.seed(), option), getattr(Rules.reference(), option)
    with pytest.raises(ValueError, match=f"{option}='both' must be '{first}' or '{second}'"):
        Rules(**{option: "both"})


def test_rules_can_be_keys_of_what_is_compiled_for_them():
    assert len({Rules.seed(), Rules.seed(), Rules.reference()}) == 2


def test_the_rules_and_the_reward_need_no_jax():
    code = "import sys; sys.modules['jax'] = None; import plaudit.systems.hackmatrix.rules, plaudit.systems.hackmatrix"
    subprocess.run([sys.executable, "-c", code], check=True)
