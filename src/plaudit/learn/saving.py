"""A learner and its state as a JSON file."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from plaudit.atomic import AtomicFile
from plaudit.errors import DefinitionError, FileError, InputError, ShapeMismatch, SpecError
from plaudit.learn import ridge
from plaudit.learn.arms import ArmBandit, ArmState
from plaudit.learn.bandits import Learner
from plaudit.learn.explore import RULES
from plaudit.learn.linear import LinearBandit
from plaudit.learn.ridge import RidgeState
from plaudit.learn.router import Fallback, Router, RouterState
from plaudit.learn.validate import parse_numbers

LearnerState = RidgeState | ArmState | RouterState
"""What a learner knows: a tuple of numbers, which nothing changes."""

FORMAT = "plaudit learner"
_ROUTER = ("minimum", "trial", "noise")
VERSION = 1
"""What this plaudit writes; a file of another version is refused."""


class Saved(NamedTuple):
    """The contents of a saved learner.

    >>> import tempfile
    >>> from plaudit.learn import ucb1
    >>> bandit = ucb1(("small", "large"))
    >>> file = Path(tempfile.mkdtemp(), "bandit.json")
    >>> save(file, bandit, bandit.init(), trained_on="night-3")
    >>> learner, state, more = load(file)
    >>> state.decisions, more
    (0, {'trained_on': 'night-3'})
    """

    learner: Any
    state: Any
    more: dict[str, Any]
    """The extra data."""


def save(path: str | os.PathLike[str], learner: Learner, state: LearnerState, **more: Any) -> None:
    """Save a learner and its state as a JSON file; the file is replaced only when it is complete.

    Args:
        path: The file.
        learner: The learner.
        state: Its state.
        **more: Extra JSON data to keep in the file.

    Raises:
        WrongType: It is not a plaudit learner, or the state is not its own.
        FileError: The file cannot be written.

    >>> import tempfile
    >>> from plaudit.learn import ucb1
    >>> bandit = ucb1(("small", "large"))
    >>> file = Path(tempfile.mkdtemp(), "bandit.json")
    >>> save(file, bandit, bandit.init())
    >>> load(file).learner == bandit
    True
    """
    spec, plain = describe_learner(learner), _encode_state(state)
    try:
        _decode_state(learner, plain)
        content = {"learner": spec, "state": plain, "more": more}
        data = {"format": FORMAT, "version": VERSION, "hash": digest(content), **content}
        text = json.dumps(data, indent=1, allow_nan=False)
    except SpecError as error:
        raise ShapeMismatch(f"{os.fspath(path)} was not written: the state is not the learner's: {error}") from None
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{os.fspath(path)} was not written: the extra data saved with the learner cannot be JSON: {error}"
        ) from None
    with AtomicFile(path) as draft:
        try:
            draft.file.write(text + "\n")
        except OSError as error:
            raise FileError(f"{draft.name} cannot be written: {error.strerror or error}") from None
        draft.commit()


def load(path: str | os.PathLike[str], *, expected: Learner | None = None, fallback: Fallback | None = None) -> Saved:
    """Load a learner that `save` wrote.

    Args:
        path: The file.
        expected: The learner that the file must contain; a file with other actions, features or settings is refused.
            Old files without an intercept give a learner without one.
        fallback: The fallback rule of a router, if `expected` does not have it: no file can hold a function.

    Returns:
        The learner, its state, and the extra data.

    Raises:
        SpecError: The file is not a saved learner, or not the expected one.
        FileError: The file cannot be read.

    >>> import tempfile
    >>> from plaudit.learn import ucb1
    >>> bandit = ucb1(("small", "large"))
    >>> file = Path(tempfile.mkdtemp(), "bandit.json")
    >>> save(file, bandit, bandit.init())
    >>> load(file, expected=bandit).state.decisions
    0
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{os.fspath(path)} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    try:
        data = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise SpecError(f"{os.fspath(path)} is not a saved learner: {error}. Was saving it interrupted?") from None
    try:
        return _parse_content(data, expected, fallback)
    except (InputError, DefinitionError, SpecError) as error:
        raise SpecError(f"{os.fspath(path)} cannot be loaded: {error}") from None


def describe_learner(learner: Learner) -> dict[str, Any]:
    """Return a learner as plain data: its kind, actions, features and settings."""
    if isinstance(learner, Router):
        settings = {name: getattr(learner, name) for name in _ROUTER}
        return {"kind": learner.kind, "bandit": describe_learner(learner.bandit), **settings}
    if not isinstance(learner, LinearBandit | ArmBandit):
        raise DefinitionError(f"{learner!r:.60} is not a plaudit learner; save its parts yourself.")
    rule = next(name for name, kind in RULES.items() if isinstance(learner.explore, kind))
    parts = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(learner).items()}
    if parts.get("intercept") is False:
        del parts["intercept"]  # a learner without one is described as it was before there were any
    return {"kind": learner.kind, **parts, "explore": {"rule": rule, **asdict(learner.explore)}}


def digest(content: Mapping[str, Any]) -> str:
    """Return what tells whether anything of a file was changed.

    >>> digest({"kind": "arms"})
    '1a5651dc35e9a434'
    """
    plain = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return sha256(plain.encode()).hexdigest()[:16]


def _parse_content(data: Any, expected: Learner | None, fallback: Fallback | None) -> Saved:
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise SpecError("it does not say that it is a saved learner.")
    if data.get("version") != VERSION:
        raise SpecError(f"it is of version {data.get('version')!r}, and this plaudit reads version {VERSION}.")
    missing = [name for name in ("hash", "learner", "state", "more") if name not in data]
    if missing:
        raise SpecError(f"it has no {missing[0]!r}.")
    if digest({name: data[name] for name in ("learner", "state", "more")}) != data["hash"]:
        raise SpecError("it was changed after it was saved: the hash does not match.")
    spec = data["learner"]
    if not isinstance(spec, dict) or not isinstance(data["more"], dict):
        raise SpecError("its parts are not objects.")
    if expected is not None:
        expected = _match_intercept(expected, spec)
        if describe_learner(expected) != spec:
            raise SpecError(_describe_difference(describe_learner(expected), spec))
    learner = _build_learner(spec, fallback) if expected is None else expected
    return Saved(learner, _decode_state(learner, data["state"]), data["more"])


def _match_intercept(expected: Learner, spec: Any) -> Learner:
    """Return the expected learner, without an intercept where the file is of one without, as all were once."""
    if isinstance(expected, Router):
        return replace(expected, bandit=_match_intercept(expected.bandit, spec.get("bandit")))  # type: ignore[arg-type]
    if isinstance(expected, LinearBandit) and isinstance(spec, dict) and "intercept" not in spec:
        return replace(expected, intercept=False)
    return expected


def _build_learner(spec: Any, fallback: Fallback | None) -> Learner:
    try:
        if spec["kind"] == Router.kind:
            routed = _build_learner(spec["bandit"], None)
            return Router(routed, fallback or _refuse_to_guess, **{name: spec[name] for name in _ROUTER})  # type: ignore[arg-type]
        explore = dict(spec["explore"])
        rule = RULES[explore.pop("rule")](**explore)
        kinds: dict[str, Any] = {each.kind: each for each in (LinearBandit, ArmBandit)}
        kind = kinds[spec["kind"]]
        spec = {"intercept": False, **spec}
        names = [each.name for each in fields(kind) if each.init and each.name != "explore"]
        parts = {name: tuple(spec[name]) if isinstance(spec[name], list) else spec[name] for name in names}
        bandit: LinearBandit | ArmBandit = kind(**parts, explore=rule)
    except (KeyError, TypeError) as error:
        raise SpecError(f"its description is not that of a learner: {error}") from None
    return bandit


def _describe_difference(expected: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    expected, found = ({"intercept": False, **each} for each in (expected, found))
    name = next((name for name in expected if expected[name] != found.get(name)), "kind")
    if name == "bandit" and isinstance(found.get(name), Mapping):
        return _describe_difference(expected[name], found[name])
    return (
        f"it was saved with {name}={found.get(name)!r:.200}, but now {name}={expected[name]!r:.200}. A "
        "learner's state does not fit another definition: start over with a new file, or restore the old definition."
    )


def _refuse_to_guess(_: tuple[float, ...]) -> NoReturn:
    raise SpecError(
        "the router has not learned enough to be used, and its fallback rule is not saved in the file: "
        "pass it with load(…, fallback=rule)."
    )


def _encode_state(state: LearnerState) -> dict[str, Any]:
    """Return a state as plain data; the weights follow from the rest but are kept, for their last bit."""
    if isinstance(state, RouterState):
        return {"ridge": _encode_state(state.ridge), "squares": list(state.squares)}
    if isinstance(state, RidgeState):
        parts = {name: getattr(state, name).tolist() for name in ("inverse", "moment", "weights")}
        return {**parts, "pulls": list(state.pulls), "decisions": state.decisions}
    if not isinstance(state, ArmState):
        raise DefinitionError(f"{state!r:.60} is not a state of a learner.")
    return state._asdict()


def _decode_state(learner: Learner, data: Any) -> LearnerState:
    if not isinstance(data, dict):
        raise SpecError("its state is not an object.")
    try:
        if isinstance(learner, Router):
            return _decode_router_state(learner, data)
        return (
            _decode_ridge_state(learner, data)
            if isinstance(learner, LinearBandit)
            else _decode_arm_state(learner, data)
        )
    except KeyError as error:
        raise SpecError(f"its state has no {error}.") from None


def _decode_ridge_state(learner: LinearBandit, data: Mapping[str, Any]) -> RidgeState:
    models, dimension = len(learner.actions), learner.width
    state = ridge.init(models, dimension, learner.ridge)
    shapes = {"inverse": (models, dimension, dimension), "moment": (models, dimension), "weights": (models, dimension)}
    for name, shape in shapes.items():
        try:
            array = np.array(data[name], dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise SpecError(f"its {name} is not an array of numbers.") from None
        if array.shape != shape:
            raise SpecError(f"its {name} has the shape {array.shape}, but {shape} is expected.")
        if not np.isfinite(array).all():
            raise SpecError(f"its {name} holds a number that is not finite.")
        getattr(state, name)[...] = array
    state.table[:, -1, 0] = _parse_counts(data["pulls"], "pulls", models)
    return RidgeState(state.table, *_parse_counts([data["decisions"]], "decisions", 1))


def _decode_router_state(learner: Router, data: Mapping[str, Any]) -> RouterState:
    squares = parse_numbers(data["squares"], "squares", len(learner.actions))
    if min(squares) < 0:
        raise SpecError(f"its squares are not sums of squares: {squares}.")
    return RouterState(_decode_ridge_state(learner.bandit, data["ridge"]), squares)


def _decode_arm_state(learner: Learner, data: Mapping[str, Any]) -> ArmState:
    count = len(learner.actions)
    totals, squares = (parse_numbers(data[name], name, count) for name in ("totals", "squares"))
    return ArmState(
        _parse_counts(data["pulls"], "pulls", count),
        totals,
        squares,
        *_parse_counts([data["decisions"]], "decisions", 1),
    )


def _parse_counts(values: Any, name: str, length: int) -> tuple[int, ...]:
    counts = parse_numbers(values, name, length)
    if any(each < 0 or each % 1 or each > 2**53 for each in counts):
        raise SpecError(f"its {name} are not counts: {values!r:.80}.")
    return tuple(int(each) for each in counts)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
