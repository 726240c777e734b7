"""Find the reward, task, Python module or ledger that a command-line argument names."""

import contextlib
import importlib
import importlib.util
import json
import linecache
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import plaudit
from plaudit.errors import (
    DefinitionError,
    FileError,
    LedgerError,
    PlauditError,
    SpecError,
    did_you_mean,
    explain_unreadable,
)
from plaudit.language.codec import MOST_CHARACTERS
from plaudit.plugins.registry import find_system, list_systems, load
from plaudit.reward.reward import Reward
from plaudit.reward.task.task import Task

if TYPE_CHECKING:
    from plaudit.ledger.ledger import Ledger

__all__ = ["find_reward", "find_reward_or_function", "find_task", "load_module", "open_ledger", "open_ledger_to_write"]

Found = TypeVar("Found", Reward, Task)
_NAME = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*"


def find_reward(text: str) -> Reward:
    """Find the reward that a text names.

    Args:
        text: A system (roadsense, or roadsense@R8), file.py:name, package.module:name, or a JSON specification. The
            name is optional if the file has one reward. Python code is executed.

    Returns:
        The reward.

    Raises:
        DefinitionError: If there is no such reward, or its code fails; the message suggests what to write.

    >>> find_reward("roadsense@R8").version
    'R8'
    """
    found = _find_named(text)
    if not isinstance(found, Reward):
        raise _refuse_kind(text, found, Reward)
    return found


def find_reward_or_function(text: str) -> Reward | Callable[..., Any]:
    """Find the reward or plain function that a text names, such as the second argument of `plaudit prove`.

    Args:
        text: As in `find_reward`; file.py:name and package.module:name can also name a function.

    Returns:
        The reward or the function.

    Raises:
        DefinitionError: If there is nothing of that name, or it is a task.

    >>> find_reward_or_function("math:sqrt")(4.0)
    2.0
    """
    found = _find_named(text)
    if isinstance(found, Task):
        raise _refuse_kind(text, found, Reward)
    return found


def find_reward_or_task(text: str) -> Reward | Task:
    """Return the reward or task that `text` names; the name of a system is that of its reward."""
    found = _find_named(text)
    if not isinstance(found, Reward | Task):
        raise _refuse_kind(text, found, Reward)
    return found


def find_task(text: str) -> Task:
    """Find the task that a text names.

    Args:
        text: A JSON file, file.py:name, package.module:name, or a system. The name is optional if the file has one
            task. Python code is executed.

    Returns:
        The task; for a system, that of its reward.

    Raises:
        DefinitionError: If there is no such task, or its code fails; the message suggests what to write.

    >>> find_task("roadsense").horizon
    1000
    """
    name, _, version = text.partition("@")
    if is_system(name):
        return load(name, version or None).task
    place, colon, attribute = text.rpartition(":")
    if colon and re.fullmatch(_NAME, attribute):
        module = load_module(place)
        found = _find_attribute(place, module, attribute, more=_list_named(place, module, Task))
    elif text.endswith(".py"):
        found = _find_only(text, Task)
    elif _is_path(text):
        found = _read_json(Path(text))
    else:
        known = [entry.name for entry in list_systems() if not entry.problem]
        raise DefinitionError(
            f"there is no task {text!r}.{did_you_mean(name, known)} Name a JSON file, file.py:name, "
            f"package.module:name, or a system: {', '.join(known)}."
        )
    if not isinstance(found, Task):
        raise _refuse_kind(text, found, Task)
    return found


def _refuse_kind(text: str, found: object, wanted: type) -> DefinitionError:
    """Return the error for an argument that does not name a reward, or a task."""
    place, colon, _ = text.rpartition(":")
    if not colon:  # a file of JSON, which is one or the other
        hint = "Give it with --task." if wanted is Reward else "A reward's own task is used by default."
        return DefinitionError(f"{text} is a {type(found).__name__}, not a {wanted.__name__}. {hint}")
    known = _list_named(place, load_module(place), wanted)
    own = f" Its task is {text}.task." if wanted is Task and isinstance(found, Reward) else ""
    return DefinitionError(f"{text} is a {type(found).__name__}, not a {wanted.__name__}.{own}{known}")


def _find_named(text: str) -> Reward | Task | Callable[..., Any]:
    name, at, version = text.partition("@")
    if is_system(name):
        if at and not version:
            raise DefinitionError(f"{text!r} has no version after the '@'; `plaudit list` shows the versions.")
        return load(name, version or None)
    place, colon, attribute = text.rpartition(":")
    if colon and re.fullmatch(_NAME, attribute):
        return _load_attribute(place, attribute)
    if place.endswith(".py"):
        raise DefinitionError(f"{attribute!r} cannot be a name in {place}; write {place}:NAME.")
    if text.endswith(".py"):
        return _find_only(text, Reward)
    if _is_path(text):
        return _read_json(Path(text))
    known = [entry.name for entry in list_systems() if not entry.problem]
    raise DefinitionError(
        f"there is no reward {text!r}.{did_you_mean(name, known)}\n"
        f"Named rewards: {', '.join(known)}. Your own: file.py:name, package.module:name, or a JSON file."
    )


def is_system(name: str) -> bool:
    """Return whether a system is registered under this name.

    >>> is_system("roadsense"), is_system("rewards.json")
    (True, False)
    """
    return re.fullmatch(r"[A-Za-z_][\w-]*", name) is not None and find_system(name) is not None


def _is_path(text: str) -> bool:
    return text.endswith((".json", ".py")) or "/" in text or "\\" in text or Path(text).is_file()


# -- a specification ------------------------------------------------------------------------------------------------


def _read_json(path: Path) -> Reward | Task:
    """Return the reward or task in a JSON file."""
    raw = _read_bytes(path, limit=4 * MOST_CHARACTERS)
    try:
        text = raw.decode("utf-8-sig")
        return Task.from_json(text) if _holds_task(text) else Reward.from_json(text)
    except UnicodeDecodeError:
        raise SpecError(f"{path} is not a reward: it is not UTF-8 text.") from None
    except SpecError as error:
        raise SpecError(f"{path}: {error}") from None


def _holds_task(text: str) -> bool:
    """Return whether a JSON text is a task: its key `task` is the number of the format."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(data, dict) and isinstance(data.get("task"), int) and "terms" not in data


def _read_bytes(path: Path, *, limit: int) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(limit)
    except OSError as error:
        raise explain_unreadable(path, error) from None


# -- a name in a Python file or module --------------------------------------------------------------------------------


def load_module(place: str) -> ModuleType:
    """Import a module, or run a Python file as if it were imported.

    Args:
        place: The path of a file, or the name of a module. Modules in the current folder are found first.

    Returns:
        The module.

    Raises:
        DefinitionError: If there is no such module, or its code fails.

    >>> load_module("math").floor(2.5)
    2
    """
    return _run_file(Path(place)) if _is_path(place) else _import_module(place)


def find_object(text: str) -> Any:
    """Return what `text` names: `file.py:name` or `package.module:name`."""
    place, _, name = text.rpartition(":")
    if not place or not re.fullmatch(_NAME, name):
        raise DefinitionError(f"{text!r} does not name anything; write file.py:name or package.module:name.")
    return _find_attribute(place, load_module(place), name)


def find_function(text: str) -> Callable[..., Any]:
    """Return the function that `text` names: `file.py:name` or `package.module:name`."""
    found: Callable[..., Any] = find_object(text)
    if not callable(found):
        raise DefinitionError(f"{text} is not a function; its type is {type(found).__name__}.")
    return found


def _load_attribute(place: str, name: str) -> Reward | Task | Callable[..., Any]:
    module = load_module(place)
    found = _find_attribute(place, module, name, more=_list_named(place, module, Reward))
    if not isinstance(found, Reward | Task) and not callable(found):
        kind = type(found).__name__
        raise DefinitionError(f"{place}:{name} is a {kind}, not a Reward.{_list_named(place, module, Reward)}")
    return found


def _find_attribute(place: str, module: ModuleType, name: str, *, more: str = "") -> object:
    found: object = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise DefinitionError(f"{place} has no {name!r}.{did_you_mean(part, dir(found))}{more}")
        found = getattr(found, part)
    return found


def find_beside(text: str, name: str) -> Any:
    """Return `name` from the file or module of the reward that `text` names, or None."""
    place, _, attribute = text.rpartition(":")
    place = place if place and re.fullmatch(_NAME, attribute) else text
    if is_system(place.partition("@")[0]) or not (place.endswith(".py") or re.fullmatch(_NAME, place)):
        return None
    loaded = sys.modules.get(_name_module(Path(place)))  # it was executed to find its reward
    return getattr(loaded if place.endswith(".py") and loaded else load_module(place), name, None)


def _find_only(place: str, kind: type[Found]) -> Found:
    """Return the only reward or task of a Python file; if there are several, the error lists their names."""
    module = load_module(place)
    found = {id(value): value for value in vars(module).values() if isinstance(value, kind)}
    if len(found) != 1:
        noun = kind.__name__.lower()
        what = f"has several {noun}s; name one" if found else f"has no {noun}"
        raise DefinitionError(f"{place} {what}.{_list_named(place, module, kind)}")
    return next(iter(found.values()))


def _list_named(place: str, module: ModuleType, kind: type) -> str:
    names = [name for name, value in vars(module).items() if isinstance(value, kind)]
    if not names:
        return f"\nThere is no {kind.__name__} at the top level of {place}."
    return f"\nIts {kind.__name__.lower()}s: {', '.join(f'{place}:{name}' for name in sorted(names))}"


def _run_file(path: Path) -> ModuleType:
    """Run a Python file as if it were imported; it can import modules beside it."""
    _read_bytes(path, limit=1)
    spec = importlib.util.spec_from_file_location(_name_module(path), path)
    if spec is None or not isinstance(spec.loader, SourceFileLoader):
        raise FileError(f"{path} is not a Python file; rewards are read from .py and .json files.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses and pickles look there
    with _import_from(path.resolve().parent), _explain_failure(str(path), [str(path), str(path.resolve())]):
        # As Python runs a script: an import would take a compiled copy of the same second and size, edited or not.
        exec(spec.loader.source_to_code(path.read_bytes(), spec.loader.path), vars(module))
    return module


def _name_module(path: Path) -> str:
    return f"plaudit_file_{path.stem}"


def _import_module(name: str) -> ModuleType:
    if not re.fullmatch(_NAME, name):
        raise DefinitionError(f"{name!r} is neither a file nor the name of a module.")
    with _import_from(Path.cwd()), _explain_failure(name):
        return importlib.import_module(name)


@contextlib.contextmanager
def _import_from(folder: Path) -> Iterator[None]:
    """Let imports find modules in `folder`, as in a script there."""
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(str(folder))


@contextlib.contextmanager
def _explain_failure(what: str, files: Sequence[str] = ()) -> Iterator[None]:
    """Turn exceptions of the user's code into one error with the line; redirect its output to stderr."""
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    except PlauditError as error:
        where = "" if ", line " in str(error) else _locate(error, files)  # most of our errors name the line themselves
        raise DefinitionError(f"{what} cannot be loaded. {type(error).__name__}: {error}{where}") from None
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and not files and f"{what}.".startswith(f"{error.name}."):
            raise DefinitionError(f"there is no module {what!r} in this folder or on the import path.") from None
        lines = traceback.format_exception_only(error)
        last = lines[-1] if isinstance(error, SyntaxError) else lines[0]
        raised = last.strip().split("\n")[0]
        raise DefinitionError(f"{what} cannot be loaded: it raised {raised}{_locate(error, files)}") from None


def _locate(error: BaseException, files: Sequence[str]) -> str:
    """Return the line of the user's code that failed: the innermost in `files`, or outside all libraries."""
    if isinstance(error, SyntaxError) and error.filename:
        return _format_line(error.filename, error.lineno or 1)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_own_code(frame.filename, files)]
    return _format_line(frames[-1].filename, frames[-1].lineno or 1) if frames else ""


def _is_own_code(filename: str, files: Sequence[str]) -> bool:
    if files:
        return filename in files
    libraries = (sys.base_prefix, str(Path(plaudit.__file__).parent), "<")
    return "site-packages" not in filename and not filename.startswith(libraries)


def _format_line(filename: str, number: int) -> str:
    text = linecache.getline(filename, number).strip()
    return f"\n  {filename}, line {number}:  {text}".rstrip()


# -- a ledger, a file -------------------------------------------------------------------------------------------------


def open_ledger(where: str) -> "Ledger":
    """Open an existing ledger read-only.

    Args:
        where: A file, or postgresql://user@host/database.

    Returns:
        The ledger.

    Raises:
        FileError: If the file does not exist.
        LedgerError: If it is not a ledger, or the server does not answer.

    Example:
        with open_ledger("rewards.db") as ledger:
            print(ledger.runs())
    """
    from plaudit.ledger.ledger import Ledger

    check_exists(where)
    return Ledger(where, read_only=True)


def open_ledger_to_write(where: str, *, new: bool = False) -> "Ledger":
    """Open a ledger for writing.

    Args:
        where: A file, or postgresql://user@host/database.
        new: Whether to create the ledger if it does not exist.

    Returns:
        The ledger.

    Raises:
        FileError: If the file does not exist and `new` is false.
        LedgerError: If it is not a ledger, or the server does not answer.

    Example:
        with open_ledger_to_write("rewards.db", new=True) as ledger:
            ledger.record(signal, run="night-3")
    """
    from plaudit.ledger.ledger import Ledger

    check_exists(where, new=new)
    return Ledger(where)


def is_file_name(where: str) -> bool:
    """Return whether an argument names a file rather than a server."""
    return "://" not in where


def check_exists(where: str, *, new: bool = False) -> None:
    """Raise if an argument names a file that does not exist, unless it may be `new`."""
    path = Path(where)
    if not is_file_name(where) or path.exists():
        return
    if re.match(r"postgres\w*:", where):  # a typo in an address: the message must not contain its password
        raise LedgerError("write the address of a server as postgresql://user@host/database.")
    if not new:
        raise explain_unreadable(path, FileNotFoundError())
