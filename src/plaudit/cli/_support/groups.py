"""Groups that import their commands on demand, so that the command line starts quickly."""

import importlib
import shutil
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from types import MappingProxyType
from typing import Any

import click

from plaudit.errors import DefinitionError, did_you_mean
from plaudit.plugins.registry import KINDS, Registration, find_system, list_systems

_NARROW = 52
"""Terminals with fewer columns are narrower than what Click formats help for."""
_NARROW_NAMES = 12
"""Width of the names of commands and options in a narrow terminal; texts of longer names start on the next line."""
_WHOLE = 1000
"""Maximum length of a summary: it is never cut."""


class _HelpFormatter(click.HelpFormatter):
    """Fits help into terminals narrower than Click's 50 columns, without cutting words or summaries."""

    def __init__(self, indent_increment: int = 2, width: int | None = None, max_width: int | None = None) -> None:
        if width is None and (columns := shutil.get_terminal_size().columns) < _NARROW:
            width = max(columns - 2, 30)
        super().__init__(indent_increment, width, max_width)

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Write a list of names and texts."""
        super().write_dl(rows, col_max if self.width >= _NARROW else _NARROW_NAMES, col_spacing)


class HelpContext(click.Context):
    """A context whose help fits the terminal."""

    formatter_class = _HelpFormatter


class LazyGroup(click.Group):
    """A group whose commands are in modules of their own, with a summary of each."""

    context_class = HelpContext

    def __init__(
        self,
        name: str | None = None,
        *,
        package: str,
        summaries: Mapping[str, str],
        others: Mapping[str, str] = MappingProxyType({}),
        **options: Any,
    ) -> None:
        """Take the command `name` from the module `name` in `package`, or from `module` for a key "module:name".

        A command named like a Python keyword or builtin has an underscore there: `list_`. The values of `summaries`
        are the first lines of the commands' help. `others` has names that are no commands, and what to suggest there.
        """
        self._others = others
        self.summaries = {key.rpartition(":")[2]: summary for key, summary in summaries.items()}
        modules = {key.rpartition(":")[2]: f"{package}.{key.partition(':')[0]}" for key in summaries}
        super().__init__(name, commands=_ModuleCommands(modules), **options)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the named command; where there is none, the error says which one may be meant."""
        if (meant := self._others.get(args[0])) is not None and not ctx.resilient_parsing:
            ctx.fail(f"No such command {args[0]!r}. Did you mean {meant!r}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the summary of each command, without importing it."""
        stand_ins = {name: click.Command(name, help=summary) for name, summary in sorted(self.summaries.items())}
        _write_commands({name: each for name, each in stand_ins.items() if name not in KINDS}, formatter)
        if self.summaries.keys() & set(KINDS):
            _write_commands({name: stand_ins[name] for name in sorted(KINDS)}, formatter, "System commands")


class SystemGroup(click.Group):
    """A group of the commands that systems provide: `plaudit run NAME`."""

    context_class = HelpContext

    def __init__(self, name: str, **options: Any) -> None:
        """Take the commands of this `name`: run, play, train or experiment."""
        super().__init__(name, commands=_SystemCommands(name), **options)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Accept the name of the system after options too; the options are the system's own."""
        if args and args[0].startswith("-") and args[0] not in self.get_help_option_names(ctx):
            known = set(self.commands)
            if name := next((text for text in args if text in known), None):
                args = [name, *args[: args.index(name)], *args[args.index(name) + 1 :]]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command of the named system; if there is none, the error lists the systems."""
        name = args[0]
        if not ctx.resilient_parsing and not name.startswith("-") and self.get_command(ctx, name) is None:
            known = list(self.commands)
            ctx.fail(f"No such command {name!r}.{did_you_mean(name, known)} Choose from: {', '.join(known)}.")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the summary of each command; one that cannot be imported says why when it is run."""
        commands = {}
        for name in self.list_commands(ctx):
            try:
                commands[name] = self.commands[name]
            except DefinitionError:
                commands[name] = click.Command(name, help="Cannot be used; run it to see why.")
        _write_commands(commands, formatter)


def _write_commands(
    commands: Mapping[str, click.Command], formatter: click.HelpFormatter, title: str = "Commands"
) -> None:
    with formatter.section(title):
        formatter.write_dl([(name, command.get_short_help_str(_WHOLE)) for name, command in commands.items()])


class _LazyCommands(MutableMapping[str, click.Command]):
    """Commands by name, each imported on first use."""

    def __init__(self) -> None:
        self._added: dict[str, click.Command] = {}

    @abstractmethod
    def find_names(self) -> Iterable[str]:
        """Return the names of the commands that can be imported."""

    @abstractmethod
    def load(self, name: str) -> click.Command:
        """Import a command; KeyError if there is none."""

    def __getitem__(self, name: str) -> click.Command:
        if name in self._added:
            return self._added[name]
        command = self.load(name)
        command.context_class = HelpContext
        return command

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._added[name] = command

    def __delitem__(self, name: str) -> None:
        del self._added[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self.find_names(), *self._added]))

    def __len__(self) -> int:
        return len(list(iter(self)))


class _ModuleCommands(_LazyCommands):
    """The commands of plaudit itself, by name."""

    def __init__(self, modules: Mapping[str, str]) -> None:
        super().__init__()
        self._modules = modules

    def find_names(self) -> Iterable[str]:
        return self._modules

    def load(self, name: str) -> click.Command:
        module = importlib.import_module(self._modules[name])
        command: click.Command = vars(module).get(f"{name}_") or vars(module)[name]
        return command


class _SystemCommands(_LazyCommands):
    """The commands of one kind by the name of their system."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self._kind = kind

    def find_names(self) -> Iterable[str]:
        return [entry.name for entry in list_systems() if self._is_brought_by(entry)]

    def load(self, name: str) -> click.Command:
        entry = find_system(name)
        if entry is None or self._kind not in entry.find_commands():  # a system that is broken says so here
            raise KeyError(name)
        return entry.load_command(self._kind)

    def _is_brought_by(self, entry: Registration) -> bool:
        """Return whether a system provides the command; a broken one does not, as `plaudit list` reports."""
        try:
            return self._kind in entry.find_commands()
        except DefinitionError:
            return False
