"""A feature: a function from parts of a sample to an input of a reward."""

import importlib
import inspect
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, overload

from plaudit.errors import DefinitionError, DuplicateName, MissingField, UnknownParameter, WrongType, did_you_mean
from plaudit.llm.fingerprint import compute_fingerprint
from plaudit.terminal import escape_controls

__all__ = ["Answer", "Feature", "feature"]

Scope = Literal["sample", "batch", "group"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a feature found, and the words it was found in, such as the answer of a judge; both are recorded.

    >>> Answer(0.7, "7 of 10: clear, a little long").value
    0.7
    """

    value: Any
    """The input of the reward: a number, a bool or a string."""
    text: str
    """The words; None, as a model may return, becomes an empty string."""

    def __post_init__(self) -> None:
        """Check that the words are a string.

        Raises:
            WrongType: They are something else.
        """
        text: Any = self.text
        if text is None:
            object.__setattr__(self, "text", "")
        elif not isinstance(text, str):
            raise WrongType(f"the text of an Answer is a string, not {text!r:.60}; pass json.dumps(...) of data.")


class Feature:
    """A function from parts of a sample to an input of a reward, made by `@feature`. Calling it calls the function.

    Positional parameters name parts of a sample, or other features; keyword-only ones are settings.

    >>> @feature
    ... def near(text, answer, *, tolerance=0.5):
    ...     return abs(float(text) - answer) <= tolerance
    >>> near("1.4", 1), near.with_(tolerance=0.1)("1.4", 1), near.reads, near.settings
    (True, False, ('text', 'answer'), {'tolerance': 0.5})
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        version: str = "1",
        scope: Scope = "sample",
        judge: bool = False,
        settings: Mapping[str, Any] | None = None,
        fingerprint: str | None = None,
    ) -> None:
        """Read the signature of a function; see `feature`.

        Args:
            function: The function.
            name: Name of the input; the name of the function if omitted.
            version: A label, part of the fingerprint.
            scope: What it is called with: a "sample", or lists of a "batch" or a "group".
            judge: Whether its answers are kept and not asked for again.
            settings: Keyword-only parameters, where they differ from their defaults.
            fingerprint: What to take for the fingerprint of the function; computed from its source if omitted.

        Raises:
            DefinitionError: It is not a function, or its signature cannot be used.
            UnknownParameter: It has no such setting.
        """
        if not callable(function):
            raise DefinitionError(f"{function!r:.60} is not a function.")
        if not isinstance(version, str):
            raise DefinitionError(f"version={version!r:.60} is not a string; write version='2'.")
        self.function, self.version, self.scope, self.judge = function, version, scope, judge
        self._given_fingerprint = fingerprint
        self.name = name or str(getattr(function, "__name__", type(function).__name__))
        try:
            self.signature = inspect.signature(function)
        except (TypeError, ValueError):
            raise DefinitionError(
                f"the parameters of {function!r:.60} cannot be read; call it in a function."
            ) from None
        self.is_async = any(map(inspect.iscoroutinefunction, (function, type(function).__call__)))
        self.takes_everything = False
        self.needs: tuple[str, ...] = ()
        """Parts of a sample, or other features, without which it cannot be called."""
        self.reads: tuple[str, ...] = ()
        """These, and those that have a default."""
        self.settings: dict[str, Any] = {}
        for each in self.signature.parameters.values():
            self._add_parameter(each)
        for setting in settings or {}:
            if setting not in self.settings:
                near = did_you_mean(setting, self.settings)
                raise UnknownParameter(f"feature {self.name!r} has no setting {setting!r}.{near}")
        self.settings |= settings or {}

    def _add_parameter(self, parameter: inspect.Parameter) -> None:
        name, has_default = parameter.name, parameter.default is not parameter.empty
        if parameter.kind is parameter.VAR_KEYWORD:
            self.takes_everything = True
        elif parameter.kind is parameter.KEYWORD_ONLY:
            if not has_default:
                raise DefinitionError(
                    f"feature {self.name!r}: the setting {name!r} has no default; write {name}=..., or put {name} "
                    "before the * if it is a part of a sample."
                )
            self.settings[name] = parameter.default
        elif parameter.kind is parameter.VAR_POSITIONAL:
            raise DefinitionError(
                f"feature {self.name!r} has a parameter *{name}; name the parts of a sample it needs."
            )
        elif parameter.kind is parameter.POSITIONAL_ONLY:
            raise DefinitionError(f"feature {self.name!r}: parts are passed by name; remove the / behind {name!r}.")
        else:
            self.reads += (name,)
            self.needs += () if has_default else (name,)

    def __call__(self, *parts: Any, **more: Any) -> Any:
        """Call the function with the settings of this feature."""
        return self.function(*parts, **{**self.changed, **more})

    @cached_property
    def changed(self) -> dict[str, Any]:
        """The settings that differ from their defaults."""
        defaults = self.signature.parameters
        return {name: value for name, value in self.settings.items() if value is not defaults[name].default}

    def with_(self, *, name: str | None = None, **settings: Any) -> "Feature":
        """Return the same feature with other settings.

        Args:
            name: Another name.
            **settings: Keyword-only parameters by name.

        Returns:
            The new feature.

        Raises:
            UnknownParameter: It has no such setting.
        """
        return Feature(
            self.function,
            name=name or self.name,
            version=self.version,
            scope=self.scope,
            judge=self.judge,
            settings=self.settings | settings,
            fingerprint=self._given_fingerprint,
        )

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the function's source and what of yours it calls, its version and its settings."""
        return compute_fingerprint(
            _nothing if self._given_fingerprint else self.function,
            given=self._given_fingerprint,
            version=self.version,
            settings=self.settings,
            scope=self.scope,
        )

    def collect(self, sample: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of the function for a sample, which has the parts that it needs.

        Args:
            sample: The sample.

        Returns:
            The arguments by name.
        """
        found = {name: sample[name] for name in self.reads if name in sample}
        return {**self.take_rest(sample), **found, **self.changed}

    def take_rest(self, sample: Mapping[Any, Any]) -> dict[str, Any]:
        """Return every part of a sample, where the function takes all that it does not name.

        Args:
            sample: The sample; parts whose names are not strings are left out.

        Returns:
            The parts by name.
        """
        parts = dict[Any, Any](sample if self.takes_everything else {})
        return {name: part for name, part in parts.items() if isinstance(name, str)}

    def get_default(self, part: str) -> Any:
        """Return what the function takes for a part that a sample lacks.

        Args:
            part: The name of the part.

        Returns:
            The default of the parameter; None where it has none.
        """
        parameter = self.signature.parameters.get(part)
        return None if parameter is None or parameter.default is parameter.empty else parameter.default

    def require(self, sample: Mapping[str, Any], known: Collection[str] = ()) -> None:
        """Check that a sample has the parts that the function needs.

        Args:
            sample: The sample.
            known: Names of other features.

        Raises:
            MissingField: It lacks one: then the function is wrong, and not the sample.
        """
        for name in self.needs:
            if name not in sample and name not in known:
                has = list(map(str, sample))
                raise MissingField(
                    f"{self.name} asks for {name!r}, which a sample does not have.{did_you_mean(name, has)}\n"
                    f"It has: {', '.join(has)}."
                )

    def __reduce__(self) -> Any:
        """Pickle it by the name under which its module has it: the function's own name stands for the feature."""
        module, name = getattr(self.function, "__module__", None), getattr(self.function, "__qualname__", "")
        found = _find_global(module, name)
        if isinstance(found, Feature) and found.function is self.function:
            return _restore, (module, name, self.name, self.settings)
        given = (self.name, self.version, self.scope, self.judge, self.settings, self._given_fingerprint)
        return _rebuild, (self.function, *given)

    def __repr__(self) -> str:
        """Return its name, version and the start of its fingerprint."""
        return escape_controls(f"Feature({self.name}@{self.version}, {self.fingerprint[:12]})")


def _nothing() -> None: ...


def _find_global(module: str | None, name: str) -> Any:
    found: Any = sys.modules.get(module or "")
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _restore(module: str, name: str, own: str, settings: Mapping[str, Any]) -> Feature:
    """Return the feature of a module, under its name and with its settings."""
    importlib.import_module(module)
    found: Feature = _find_global(module, name)
    return found if (found.name, found.settings) == (own, settings) else found.with_(name=own, **settings)


def _rebuild(
    function: Callable[..., Any],
    name: str,
    version: str,
    scope: Scope,
    judge: bool,
    settings: Mapping[str, Any],
    fingerprint: str | None,
) -> Feature:
    about: dict[str, Any] = {"version": version, "scope": scope, "judge": judge, "fingerprint": fingerprint}
    return Feature(function, name=name, settings=settings, **about)


@overload
def feature(function: Callable[..., Any], /) -> Feature: ...


@overload
def feature(
    *, name: str | None = ..., version: str = ..., batch: bool = ..., group: bool = ..., judge: bool = ...
) -> Callable[[Callable[..., Any]], Feature]: ...


def feature(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    version: str = "1",
    batch: bool = False,
    group: bool = False,
    judge: bool = False,
) -> Feature | Callable[[Callable[..., Any]], Feature]:
    """Make a feature of a function of a sample; the function may be async.

    Positional parameters name parts of a sample (`prompt`, `completion`, `text`, `reasoning`, `tool_calls`, a column
    of the data set) or other features. Keyword-only parameters are settings and have a default. It returns the input of
    the reward that has its name, or several inputs by name.

    Args:
        function: The function, if the decorator is used without arguments.
        name: Name of the input; the name of the function if omitted.
        version: A label; change it when something changes that the source does not show, such as a model behind an
            address.
        batch: Call it once a batch, with lists; it returns a list. A part that only some samples have is the default of
            the parameter for the others.
        group: Call it once for all completions of a prompt, with lists; it returns a list.
        judge: Keep its answers, and do not ask again when rollouts are scored again.

    Returns:
        The feature.

    Raises:
        DefinitionError: It is not a function, or its signature cannot be used.

    >>> @feature
    ... def words(text):
    ...     return len(text.split())
    >>> @feature(group=True)
    ... def rank(words):
    ...     return [sorted(words).index(each) for each in words]
    >>> words("one two"), rank.reads, rank.scope
    (2, ('words',), 'group')
    """
    if batch and group:
        raise DefinitionError(
            "a feature is called for a batch or for a group: choose one of batch=True and group=True."
        )
    scope: Scope = "group" if group else "batch" if batch else "sample"

    def make(function: Callable[..., Any]) -> Feature:
        if isinstance(function, Feature):
            raise DefinitionError(f"{function.name!r} is a feature already.")
        return Feature(function, name=name, version=version, scope=scope, judge=judge)

    return make if function is None else make(function)


class FeatureSet:
    """Features in the order in which they are called: those that others read come first."""

    def __init__(self, given: Callable[..., Any] | Iterable[Callable[..., Any]]) -> None:
        """Put features in order; a plain function is one.

        Raises:
            DuplicateName: Two features have one name.
            DefinitionError: There is none, or two read each other.
        """
        if isinstance(given, str | Mapping) or not (callable(given) or isinstance(given, Iterable)):
            raise DefinitionError(f"features are functions, or a list of them, not {given!r:.60}.")
        listed = [given] if callable(given) else list(given)
        made = [each if isinstance(each, Feature) else Feature(each) for each in listed]
        if not made:
            raise DefinitionError("there are no features: give a function that returns the inputs of the reward.")
        self.by_name: dict[str, Feature] = {}
        for each in made:
            if each.name in self.by_name:
                raise DuplicateName(f"two features are called {each.name!r}; give one another name: with_(name=...).")
            self.by_name[each.name] = each
        self.ordered: list[Feature] = []
        for each in made:
            self._place(each, ())
        self.read_by_others = {
            name for each in made for name in each.reads if name in self.by_name and name != each.name
        }

    def _place(self, each: Feature, above: Sequence[str]) -> None:
        if each in self.ordered:
            return
        if each.name in above:
            cycle = " → ".join([*above[above.index(each.name) :], each.name])
            raise DefinitionError(f"features read each other in a circle: {cycle}.")
        for name in each.reads:
            if name in self.by_name and name != each.name:
                self._place(self.by_name[name], [*above, each.name])
        self.ordered.append(each)

    @cached_property
    def fingerprints(self) -> dict[str, str]:
        """The fingerprint of each feature, which includes those of the features that it reads."""
        found: dict[str, str] = {}
        for each in self.ordered:
            read = {name: found[name] for name in each.reads if name in found and name != each.name}
            found[each.name] = (
                compute_fingerprint(_nothing, own=each.fingerprint, read=read) if read else each.fingerprint
            )
        return found

    @cached_property
    def levels(self) -> list[list[Feature]]:
        """The features in groups: those of one group read only results of groups before, and may run at once."""
        depth: dict[str, int] = {}
        for each in self.ordered:
            depth[each.name] = 1 + max((depth[name] for name in each.reads if name in depth), default=-1)
        return [[each for each in self.ordered if depth[each.name] == at] for at in range(1 + max(depth.values()))]

    def require(self, sample: Mapping[str, Any]) -> None:
        """Raise MissingField if a sample lacks a part that a feature needs."""
        for each in self.ordered:
            each.require(sample, self.by_name.keys() - {each.name})
