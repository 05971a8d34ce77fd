"""How a command declares its options: their letters, groups of help, files read and written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from cranfield.base.errors import CranfieldError, PolicyError, quoted
from cranfield.cli.options.conditions import check_conditions
from cranfield.cli.options.formats import choose_format
from cranfield.cli.options.habits import told
from cranfield.cli.options.hints import as_options
from cranfield.sources.patterns import asks, matches

LETTERS = {
    "--baseline": "-b",
    "--correction": "-c",
    "--format": "-f",
    "--jobs": "-j",
    "--rel": "-l",
    "--measure": "-m",
    "--output": "-o",
    "--places": "-p",
    "--by-topic": "-q",
    "--by-session": "-q",
    "--test": "-t",
}
"""What a letter stands for, in every command that has the option; there are no other letters."""

OF_OUTPUT = ("--format", "--output", "--table")
"""Options whose group in help is that of the output, in every command."""

MOST_SHOWN = 12
"""Options that `--help` shows; a command with more says which are first."""

_SHORTER = {"INTEGER RANGE": "N", "INTEGER": "N", "FLOAT RANGE": "X", "FLOAT": "X"}

_ALL = "cranfield.help-all"


class Option(click.Option):
    """An option that knows its group in help; `detail` is told by `--help-all` only.

    In hints it `stands_for` an argument of Python, the one of its own name if none is given. What
    it `goes_with` are options without which it would have no effect: see `conditions`. A file that
    is `formatted` is in the format that its suffix says, if no other is asked for: see `formats`.
    """

    def __init__(
        self,
        names: Sequence[str],
        *,
        group: str = "",
        detail: str = "",
        stands_for: str = "",
        goes_with: str | Sequence[str] = (),
        formatted: bool = False,
        **rest: Any,
    ) -> None:
        letters = [LETTERS[name] for name in names if name in LETTERS]
        super().__init__([*names, *letters], **rest)
        self.group = group or ("Output" if {*OF_OUTPUT} & {*names} else "")
        self.detail = detail
        self.stands_for = stands_for
        self.formatted = formatted
        self.goes_with = (goes_with,) if isinstance(goes_with, str) else tuple(goes_with)

    def make_metavar(self, ctx: click.Context) -> str:
        return _SHORTER.get(made := super().make_metavar(ctx), made)

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        record = super().get_help_record(ctx)
        if record is None or not self.detail or _ALL not in ctx.meta:
            return record
        return record[0], f"{record[1]} {self.detail}"


def option(*names: str, **declared: Any) -> Callable[[Any], Any]:
    """Declare an option; it takes what `click.option` does, `group` and `detail`.

    Its letter comes by its name.
    """
    return click.option(*names, **{"cls": Option, **declared})


def in_group(
    group: str, options: Iterable[Callable[[Any], Any]]
) -> tuple[Callable[[Any], Any], ...]:
    """Put options into a group of help."""

    def placed(declare: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def add(command: Any) -> Any:
            command = declare(command)
            command.__click_params__[-1].group = group
            return command

        return add

    return tuple(map(placed, options))


class FileRead(click.ParamType):  # type: ignore[type-arg]
    """A file that is read, as `FILE` or as `NAME=FILE`: outputs do not go over it."""

    name = "file"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type="file")]


class Named(click.ParamType):  # type: ignore[type-arg]
    """Text that names something: shells complete the names that there are, others are taken."""

    name = "text"

    def __init__(self, names: Callable[[], Iterable[str]]) -> None:
        self.names = names

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        # Several stand behind each other, with commas.
        before, comma, begun = incomplete.rpartition(",")
        start = begun.casefold()
        found = [name for name in self.names() if name.casefold().startswith(start)]
        return [CompletionItem(f"{before}{comma}{name}") for name in found]


class FileWritten(FileRead):
    """A file that is written."""


READ = FileRead()
WRITTEN = FileWritten()


class Command(click.Command):
    """A command whose help is in groups, and short: what is not `first` is in `--help-all`.

    It refuses to write over a file that it reads, and an option of one value that is given twice.
    Its `kin` is a command that has options which
    hints name and this one lacks.
    """

    def __init__(self, *args: Any, first: str = "", kin: str = "", **rest: Any) -> None:
        super().__init__(*args, **rest)
        self.kin = kin
        self.first = tuple(f"--{name}" for name in first.split())

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return [*super().get_params(ctx), _HELP_ALL]

    def options(self, ctx: click.Context, *, every: bool) -> list[Option]:
        """Return the options that help shows: every one of them, or those that are first."""
        listed = [
            one
            for one in self.params
            if isinstance(one, Option) and one.get_help_record(ctx) is not None
        ]
        if every or len(listed) <= MOST_SHOWN:
            return listed
        return [one for one in listed if not {*self.first}.isdisjoint(one.opts)]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        shown = self.options(ctx, every=_ALL in ctx.meta)
        groups: dict[str, list[tuple[str, str] | None]] = {}
        for one in shown:
            groups.setdefault(one.group, []).append(one.get_help_record(ctx))
        own = self.get_help_option(ctx)
        groups["Help"] = [] if own is None else [own.get_help_record(ctx)]
        if hidden := len(self.options(ctx, every=True)) - len(shown):
            groups["Help"].append(("--help-all", f"Show the other {hidden} options too."))
        for group, records in groups.items():
            with formatter.section(group or "Options"):
                formatter.write_dl([record for record in records if record is not None])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing:
            try:
                _, _, given = self.make_parser(ctx).parse_args(args=[*args])
            except click.NoSuchOption as error:
                if said := told(error, self):
                    ctx.fail(said)
                raise
            for one in self.params:
                if _takes_one(one) and given.count(one) > 1:
                    ctx.fail(f"{max(one.opts, key=len)} is given twice, and takes one value")
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        files = [one for one in self.params if isinstance(one.type, FileRead)]
        read = [path for one in files if not _is_written(one) for path in _paths(ctx, one)]
        for one in filter(_is_written, files):
            keep_inputs(_paths(ctx, one), read, max(one.opts, key=len))
        try:
            choose_format(ctx)
            check_conditions(ctx)
            return super().invoke(ctx)
        except CranfieldError as error:
            raise click.ClickException(as_options(str(error), self)) from error


def command(name: str | None = None, **declared: Any) -> Callable[[Any], Any]:
    """Declare a command; `first` names the options that `--help` shows, where it has many."""
    return click.command(name, **{"cls": Command, **declared})


def _show_all(ctx: click.Context, param: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        ctx.meta[_ALL] = True
        click.echo(ctx.get_help())
        ctx.exit()


_HELP_ALL = click.Option(
    ["--help-all"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_all,
    help="Show all options.",
)


def _takes_one(param: click.Parameter) -> bool:
    return isinstance(param, click.Option) and not (param.multiple or param.is_flag or param.count)


def _is_written(param: click.Parameter) -> bool:
    return isinstance(param.type, FileWritten)


def _paths(ctx: click.Context, param: click.Parameter) -> list[str]:
    """Return the paths that a parameter was given."""
    value = ctx.params.get(param.name or "")
    return [] if value is None else [value] if isinstance(value, str) else list(value)


def keep_inputs(
    outputs: Iterable[str | None], inputs: Iterable[str | None], option: str = "--output"
) -> None:
    """Refuse to write over a file that is read, is in a folder or fits a pattern that is read."""
    existing = [path for path in outputs if path and path != "-" and asks(Path.is_file, path)]
    if not existing:
        return
    read = [file for path in inputs if path is not None for file in _files(path)]
    for output in existing:
        if any(asks(Path(output).samefile, path) for path in read):
            raise PolicyError(f"{option} {quoted(output)} is a file that is read")


def _files(given: str) -> Iterator[str | Path]:
    for path in (given, given.partition("=")[2]):
        if not path:
            continue
        if asks(Path.is_dir, path):
            yield from Path(path).iterdir()
        yield from matches(path) or ()
        yield path
