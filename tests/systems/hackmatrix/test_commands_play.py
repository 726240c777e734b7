"""`plaudit play`: a game at the terminal, move by move, for people and for scripts."""

import io
import json
import sys

import pytest

from plaudit import OutOfRange
from plaudit.systems.hackmatrix import reward
from plaudit.systems.hackmatrix.commands.display import Pictures
from plaudit.systems.hackmatrix.commands.play import play_game
from plaudit.systems.hackmatrix.plain.state import Enemy, Player, State
from plaudit.systems.hackmatrix.playing.game import Game
from plaudit.systems.hackmatrix.rules import ACTION_NAMES
from plaudit.terminal import ExitCode, Screen
from support.forking import run_python

SEED = 7
UP, DOWN, LEFT, RIGHT = range(4)


@pytest.fixture(scope="module")
def course():
    """Return the first moves of a game that are allowed: directions only, so that nobody dies of a siphon."""
    game, moves = Game(SEED), []
    for _ in range(3):
        moves.append(int(game.allowed[:4].argmax()))
        game.play(moves[-1])
    return [ACTION_NAMES[move].lower() for move in moves]


@pytest.fixture
def shown(monkeypatch, capsys):
    """Play on from a state with what a person types, and return what is printed."""

    def play(state, *lines, given=None):
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        game = Game(0, state=state)
        play_game(game, Pictures(reward, Screen()), given)
        return game, capsys.readouterr().out

    monkeypatch.setenv("COLUMNS", "80")
    return play


def lines_of(result):
    return [json.loads(line) for line in result.stdout.splitlines()]


# -- moves that are given -----------------------------------------------------------------------------------------------


def test_moves_are_played_and_each_is_told_term_by_term(plaudit, course):
    result = plaudit("play", "hackmatrix", "--seed", SEED, "--moves", " ".join(course))
    assert result.exit_code == 0
    assert result.stdout.startswith("hackmatrix@1.0.0, seed 7\n")
    assert result.stdout.count("Stage 1 of 8") == 2  # the first board and the last
    assert f"1. {course[0].upper()}" in result.stdout
    assert result.stdout.count("-0.010  step_penalty      Take a step, whatever it does") == 3
    assert "The game is on stage 1 after 3 moves." in result.stdout
    assert "\x1b" not in result.stdout


def test_json_has_a_line_for_the_start_and_one_a_move(plaudit, course):
    result = plaudit("play", "hackmatrix", "--seed", SEED, "--moves", ",".join(course), "--json")
    start, *moves = lines_of(result)
    assert (start["move"], start["seed"], start["paid_by"]) == (0, SEED, "hackmatrix@1.0.0")
    assert [move["action"].lower() for move in moves] == course
    assert course[0].upper() in start["allowed"]
    for move in moves:
        assert list(move["components"]) == [term.name for term in reward.terms]
        assert sum(move["components"].values()) == pytest.approx(move["reward"], abs=1e-6)
    assert moves[-1]["return"] == pytest.approx(sum(move["reward"] for move in moves), abs=1e-5)
    assert result.stderr == ""


def test_a_seed_is_a_game_and_without_one_it_is_another(plaudit, course):
    def game(*options):
        return lines_of(plaudit("play", "hackmatrix", "--moves", "", "--json", *options))

    assert game("--seed", SEED) == game("--seed", SEED)
    assert game()[0]["seed"] != game()[0]["seed"]


def test_a_game_can_begin_on_a_later_stage(plaudit):
    (start,) = lines_of(plaudit("play", "hackmatrix", "--seed", SEED, "--stage", 5, "--moves", "", "--json"))
    assert (start["stage"], start["turn"]) == (5, 0)
    with pytest.raises(OutOfRange, match="the stage is 9"):
        Game(0, stage=9)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["hackmatrix", "--moves", "up upp"], "Error: there is no move 'upp'. Did you mean 'up'?"),
        (["hackmatrix", "--moves", "28"], "Error: there is no move '28'."),
        (["hackmatrix", "--reward", "2.0"], "Error: hackmatrix has no version '2.0'. Choose from: 1.0.0, potential."),
        (["hackmatrix", "--seed", "-1"], "Invalid value for '--seed'"),
        (["hackmatrix", "--stage", "9"], "Invalid value for '--stage'"),
        (["chess"], "No such command 'chess'. Choose from: hackmatrix."),
    ],
)
def test_what_cannot_be_played_is_told_before_anything_is(plaudit, arguments, told):
    result = plaudit("play", *arguments)
    assert result.exit_code == ExitCode.FAILED
    assert result.stdout == ""
    assert told in result.stderr


def test_a_given_move_that_is_not_allowed_is_an_error_with_the_reason(plaudit, course):
    result = plaudit("play", "hackmatrix", "--seed", SEED, "--moves", f"{course[0]} push", "--json")
    assert result.exit_code == ExitCode.FAILED
    assert len(lines_of(result)) == 2
    assert result.stderr == "Error: move 2: PUSH is not allowed: you do not own PUSH; siphon programs from blocks.\n"


def test_moves_after_the_end_are_not_played(shown):
    game, printed = shown(State(player=Player(row=5, col=4), stage=8), given=[RIGHT, LEFT, LEFT])
    assert game.ended
    assert "stage 8 completed" in printed
    assert "+500.000  victory           Win the game, better with a high score" in printed
    assert "You won after 1 move, with a score of 0. 2 moves were not played." in printed


# -- moves that are asked for -------------------------------------------------------------------------------------------


def test_a_person_is_asked_until_the_input_ends(plaudit, course):
    result = plaudit("play", "hackmatrix", "--seed", SEED, stdin=f"{course[0]}\n{course[1]} {course[2]}\n")
    assert result.exit_code == 0
    assert result.stdout.count("Stage 1 of 8") == 3
    assert "3. " in result.stdout
    assert "The game is on stage 1 after 3 moves." in result.stdout


def test_what_is_allowed_is_offered_with_its_key_or_its_cost(shown):
    state = State(player=Player(energy=5, data_siphons=1), owned={"WAIT", "PUSH"})
    _, printed = shown(state, "q")
    assert "\nw up   d right   f siphon   wait 1e\n" in printed


@pytest.mark.parametrize("typed", ["w", "W", "up", "UP", "0"])
def test_a_move_can_be_typed_as_a_key_a_word_or_a_number(shown, typed):
    game, printed = shown(State(), typed)
    assert game.state.player.row == 1
    assert "1. UP\n" in printed


def test_a_move_that_is_not_allowed_is_refused_with_the_reason_and_nothing_happens(shown):
    game, printed = shown(State(), "left", "undo", "siphon", "jump", "")
    assert (game.moves, game.ended) == (0, False)
    assert "LEFT is not allowed: that is off the board." in printed
    assert "UNDO is not allowed: you do not own UNDO; siphon programs from blocks." in printed
    assert "SIPHON is not allowed: there are no data siphons left." in printed
    assert "there is no move 'jump'." in printed
    assert printed.count("Stage 1 of 8") == 1


def test_a_line_is_played_up_to_the_move_that_is_not_allowed(shown):
    game, printed = shown(State(), "up left up")
    assert game.moves == 1
    assert "LEFT is not allowed" in printed


@pytest.mark.parametrize("word", ["q", "quit", "exit", "Q"])
def test_a_person_can_leave(shown, word):
    game, printed = shown(State(), "up", word, "up")
    assert game.moves == 1
    assert "The game is on stage 1 after 1 move." in printed


def test_the_signs_and_the_moves_are_explained(shown):
    _, printed = shown(State(), "?")
    assert "@ you   V virus" in printed
    assert "w up   s down   a left   d right" in printed


def test_what_a_move_changed_is_told(shown):
    struck = State(
        player=Player(row=2, col=2, energy=3), enemies=[Enemy("daemon", 2, 4), Enemy("glitch", 3, 2)], owned={"WAIT"}
    )
    _, printed = shown(struck, "wait", "right")
    assert "1. WAIT   hp 3 → 2, energy 3 → 2" in printed
    assert "-1.000  damage_penalty    Lose hit points" in printed
    assert "2. RIGHT   a shot" in printed


def test_death_ends_the_game_with_what_each_term_paid(shown):
    dying = State(player=Player(hp=1, energy=1), enemies=[Enemy("daemon", 1, 0)], stage=2, owned={"WAIT"})
    game, printed = shown(dying, "wait", "up")
    assert game.ended
    assert "You died on stage 2 after 1 move." in printed
    assert "total                1   -1.560" in printed


def test_ctrl_c_ends_the_game_with_its_summary(plaudit, monkeypatch, course):
    def interrupted(self, *arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("plaudit.systems.hackmatrix.commands.play._parse_line", interrupted)
    result = plaudit("play", "hackmatrix", "--seed", SEED, stdin="up\n")
    assert result.exit_code == ExitCode.INTERRUPTED
    assert "The game is on stage 1 after 0 moves." in result.stdout
    assert result.stderr == "\n"


def test_a_script_is_told_on_stderr_what_was_refused(plaudit):
    result = plaudit("play", "hackmatrix", "--seed", SEED, "--json", stdin="hack\n?\n")
    assert len(lines_of(result)) == 1
    assert "HACK is not allowed" in result.stderr
    assert "w up" in result.stderr


# -- any terminal -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", ["10", "40", "80", "200"])
def test_any_width_will_do(plaudit, monkeypatch, course, width):
    monkeypatch.setenv("COLUMNS", width)
    result = plaudit("play", "hackmatrix", "--seed", SEED, "--moves", course[0])
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= max(80, int(width))


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "cp437"])
def test_a_terminal_without_the_signs_gets_ascii(monkeypatch, encoding):
    raw = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(raw, encoding=encoding, errors="strict"))
    screen = Screen()
    Pictures(reward, screen).start(Game(0, state=State()), asking=False)
    sys.stdout.flush()
    assert b"| EXIT  |" in raw.getvalue()


def test_a_game_is_played_without_jax(course):
    script = "import sys; sys.modules['jax'] = None; from plaudit.cli import main; main()"
    arguments = ["play", "hackmatrix", "--seed", str(SEED), "--moves", course[0]]
    done = run_python([sys.executable, "-c", script, *arguments], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "The game is on stage 1 after 1 move." in done.stdout
