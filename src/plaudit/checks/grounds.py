"""What a finding rests on besides the formula: statements of the task that are declared, seen or defaults."""

from collections.abc import Iterable, Iterator

from plaudit.checks.finding import Ground
from plaudit.checks.model import RewardModel
from plaudit.language.field import find_field_name
from plaudit.reward.task.statements import Event
from plaudit.reward.task.task import Task

ROLES = {"state": "persists from step to step", "action": "is the action", "event": "happens in single steps"}
_SAYS = {
    "better": "which values of {} are better",
    "aim": "the target of {}",
    "rates": "the rate of {}",
    "monotone": "that {} is monotonic",
    "max_change": "how far {} moves in a step",
}


def list_grounds(
    model: RewardModel, parts: Iterable[str], term: str, about: Iterable[str] | None = None
) -> tuple[Ground, ...]:
    """Return what a finding about a term, or about some fields, rests on; its rule goes by these parts of a task.

    Ranges that were only seen always count; an undeclared role counts for rules that use roles.
    """
    names = [*sorted(model.reads.get(term, model.reads["total"]))] if about is None else [*about]
    goal = model.reward._bound.goal
    names += goal.reads if "goal" in parts and goal is not None else ()
    fields = dict.fromkeys(find_field_name(name) for name in names if name != "terminal")
    return tuple(_list_statements(model, tuple(parts), fields))


def _list_statements(model: RewardModel, parts: tuple[str, ...], fields: Iterable[str]) -> Iterator[Ground]:
    task, bound = model.reward.task, model.reward._bound
    for name in fields:
        if name in bound.fields and bound.fields[name].range_basis == "seen":
            yield _build_ground(task, "fields", name, f"the range of {name}")
    for part in ("goal", "horizon", "discount"):
        if part in parts and getattr(task, part) is not None:
            yield _build_ground(task, part, "", f"the {part}")
    if "horizon" in parts and task.horizon is None:
        yield Ground("that there is no time limit", "default")
    for part, says in _SAYS.items():
        if part in parts:
            yield from (
                _build_ground(task, part, name, says.format(name)) for name in fields if name in getattr(task, part)
            )
    if "events" in parts:
        counted = [name for name in fields if task.events.get(name) not in (None, Event())]
        yield from (_build_ground(task, "events", name, f"how often {name} happens") for name in counted)
    if "max_change" in parts:
        free = [name for name in fields if name in model.reward._transition and name not in task.max_change]
        numbers = [name for name in free if bound.fields[name].kind == "number"]
        yield from (Ground(f"that {name} can move any distance in a step", "default") for name in numbers)
    if "idle" in parts:
        yield from _list_idle(model, fields)
    if "roles" in parts:
        yield from (ground for name in fields for ground in _list_roles(model, name))


def _list_idle(model: RewardModel, fields: Iterable[str]) -> Iterator[Ground]:
    """Yield the inputs while idle; if they were only seen, those left out are assumed to be at rest."""
    task, met = model.reward.task, {find_field_name(name): name for name in model.reward.task.idle}
    watched = any(key.startswith("idle.") for key in task.seen)
    for name in fields:
        if name in met:
            yield _build_ground(task, "idle", met[name], f"the value of {name} while idle")
        elif watched and model.reward._bound.fields[name].kind == "number" and name not in model.reward.states:
            yield Ground(f"that {name} is at rest while idle", "default")


def _list_roles(model: RewardModel, name: str) -> Iterator[Ground]:
    reward, field = model.reward, model.reward.fields.get(name)
    if field is None or name in reward.states or name == reward.action:
        return
    says = f"that {name} {ROLES[model.role(field)]}"
    if (role := reward.task.find_role(name)) is not None:
        yield _build_ground(reward.task, f"{role}s", name, says)
    elif model.role(field) == "event" and field.kind == "number" and name not in model.program.counters:
        yield Ground(says, "default")


def _build_ground(task: Task, part: str, name: str, says: str) -> Ground:
    seen = task.seen.get(f"{part}.{name}" if name else part)
    return Ground(says, "declared") if seen is None else Ground(says, "seen", str(seen))
