"""Declare commands, groups and options, and check their values."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path, PurePath
from textwrap import indent
from typing import Any

import click
from click.shell_completion import CompletionItem

from cranfield.base.errors import CranfieldError, PolicyError, name_options_in_notes, quote, warn
from cranfield.base.spec import Registry
from cranfield.base.text import find_similar, inflect
from cranfield.cli.options.hints import as_options, describe_unknown_option, find_option
from cranfield.cli.options.settings_file import read_settings
from cranfield.sources.archives import check_path, match_files

Decorator = Callable[[Any], Any]  # a decorator of commands


def check_conditions(ctx: click.Context) -> None:
    """Raise an error if an option is set while none of its conditions (`requires`) is met.

    Each condition is sufficient: `"--sample --judged"` requires both options,
    `"--format=latex,html"` one of these values, and `"!--judged"` that the option is not set.
    """
    params: dict[str, click.Parameter] = {}
    for param in ctx.command.params:
        params |= dict.fromkeys([*param.opts, param.human_readable_name.strip("[].")], param)
    for param in ctx.command.params:
        # A shared option may have conditions on options that the command lacks.
        conditions = [
            condition
            for condition in map(str.split, getattr(param, "requires", ()))
            if all(term.removeprefix("!").partition("=")[0] in params for term in condition)
        ]
        if not conditions or not is_set(param.name or "", ctx):
            continue
        if not any(all(_is_met(term, params, ctx) for term in terms) for terms in conditions):
            option = get_display_name(param)
            for terms in conditions:
                unmet_terms = [term for term in terms if not _is_met(term, params, ctx)]
                if all(term[0] == "!" for term in unmet_terms):
                    exclusions = _list_exclusions(
                        [_insert_actual_value(term, params, ctx) for term in unmet_terms], params
                    )
                    raise PolicyError(f"{option} cannot be combined with {exclusions}")
            condition_text = " or ".join(_describe_condition(terms, params) for terms in conditions)
            raise PolicyError(f"{option} requires {condition_text}")


def _is_met(term: str, params: Mapping[str, click.Parameter], ctx: click.Context) -> bool:
    option, _, values = term.removeprefix("!").partition("=")
    name = params[option].name or ""
    value = ctx.params[name]
    has_value = is_set(name, ctx) and value not in (None, (), False)
    has_option = str(value) in values.split(",") if values else has_value
    return has_option != term.startswith("!")


def _insert_actual_value(
    term: str, params: Mapping[str, click.Parameter], ctx: click.Context
) -> str:
    """Return an unmet exclusion with the value of the option instead of all excluded values."""
    option, sign, _ = term.partition("=")
    return f"{option}={ctx.params[params[option[1:]].name or '']}" if sign else term


def _describe_condition(terms: Sequence[str], params: Mapping[str, click.Parameter]) -> str:
    required_terms = [term for term in terms if term[0] != "!"]
    words = " and ".join(_describe_term(term, params) for term in required_terms)
    exclusions = _list_exclusions(terms, params)
    return f"{words} (without {exclusions})" if exclusions else words


def _list_exclusions(terms: Sequence[str], params: Mapping[str, click.Parameter]) -> str:
    return " or ".join(_describe_term(term[1:], params) for term in terms if term[0] == "!")


def _describe_term(term: str, params: Mapping[str, click.Parameter]) -> str:
    option, sign, values = term.partition("=")
    name = get_display_name(params[option]) if option.startswith("--") else option
    *start, end = values.split(",")
    return f"{name} {', '.join(start)}{' or ' * bool(start)}{end}" if sign else name


def change_options(names: Collection[str], **attributes: Any) -> Decorator:
    """Make a decorator that sets attributes of shared options, such as `help`, in a command."""

    def add(command: Any) -> Any:
        for param in command.__click_params__:
            if param.name in names:
                vars(param).update(attributes)
        return command

    return add


def warn_unused(names: Iterable[str], reason: str) -> None:
    """Warn if one of these options is set, because it has no effect on the result."""
    for param in click.get_current_context().command.params:
        if param.name in {*names} and is_set(param.name):
            warn(f"{get_display_name(param)} has no effect: {reason}")


def refuse_options(names: Iterable[str], reason: str) -> None:
    """Raise an error if one of these options is set."""
    for param in click.get_current_context().command.params:
        if param.name in {*names} and is_set(param.name):
            raise PolicyError(f"{get_display_name(param)} {reason}")


def refuse_other_options(allowed: Collection[str], reason: str) -> None:
    """Raise an error if an option besides those in `allowed` is set."""
    names = {param.name or "" for param in click.get_current_context().command.params}
    refuse_options(names.difference(allowed), reason)


def refuse_listing(allowed: str, inputs: Sequence[str], metavar: str) -> None:
    """Raise an error if inputs, or options besides those in `allowed`, are set with `--list`."""
    if inputs:
        raise PolicyError(f"{metavar} cannot be combined with --list")
    ctx = click.get_current_context()
    argument_names = [p.name or "" for p in ctx.command.params if isinstance(p, click.Argument)]
    refuse_other_options([*allowed.split(), *argument_names], "cannot be combined with --list")


def is_on_command_line(name: str, ctx: click.Context | None = None) -> bool:
    source = (ctx or click.get_current_context()).get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def is_set(name: str, ctx: click.Context | None = None) -> bool:
    """Return True if an option has a value from the command line or from a file of settings."""
    source = (ctx or click.get_current_context()).get_parameter_source(name)
    return source is not None and source.name in {"COMMANDLINE", "DEFAULT_MAP"}


def get_display_name(param: click.Parameter) -> str:
    """Return the name of an option in messages: a flag, or a key of a file of settings."""
    flag = max(param.opts, key=len)
    return f"setting {flag.removeprefix('--')}" if getattr(param, "is_setting", False) else flag


SUFFIXES = "csv docx html json jsonl ods parquet pdf png svg tsv xls xlsx xml yaml yml"
FORMAT_OF_SUFFIX = {f".{name}": name for name in SUFFIXES.split()}
FORMAT_OF_SUFFIX |= {".tex": "latex", ".md": "markdown", ".htm": "html", ".bib": "bibtex"}
"""Format of each suffix; a command refuses formats that it cannot write."""

COMPRESSION_SUFFIXES = (".gz", ".bz2", ".xz", ".zst")


def choose_format(ctx: click.Context) -> None:
    """Set the format of an output that `sets_format` from its suffix, unless `--format` is set."""
    options = {name: param for param in ctx.command.params for name in param.opts}
    format_option, output = options.get("--format"), options.get("--output")
    if format_option is None or not getattr(output, "sets_format", False) or output is None:
        return
    path = ctx.params[output.name or ""]
    name = PurePath(path or "")
    if name.suffix.lower() in COMPRESSION_SUFFIXES:
        name = name.with_suffix("")
    suffix_format = FORMAT_OF_SUFFIX.get(name.suffix.lower())
    if suffix_format is None or is_set(format_option.name or "", ctx):
        return
    assert isinstance(format_option.type, click.Choice)
    if suffix_format not in format_option.type.choices:
        raise PolicyError(
            f"--output {quote(path)} has the suffix of {suffix_format}, which this command cannot"
            f" write; choose a format with --format: {', '.join(format_option.type.choices)}"
        )
    ctx.params[format_option.name or ""] = suffix_format


def describe_format(format: str) -> str:
    """Return a format for a message, with a remark if the suffix of `--output` selected it."""
    ctx = click.get_current_context()
    [format_option] = [param for param in ctx.command.params if "--format" in param.opts]
    is_by_suffix = format != format_option.default and not is_set(format_option.name or "", ctx)
    return f"{format} (by the suffix of --output)" if is_by_suffix else format


SHORT_FLAGS = {
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
"""Short flags; each means the same in every command."""

METAVARS = {
    name: metavar
    for metavar, names in {
        "COLUMN": "unit",
        "CORRECTION": "correction",
        "DAY": "anonymous-until date",
        "ID": "team",
        "MEASURE": "measure",
        "METHOD": "method",
        "METHOD,...": "methods",
        "MODEL": "model",
        "NAME": "label name table task reference",
        "QRELS": "judged",
        "RUN": "runs",
        "TAG": "tag without",
        "TEST": "test",
        "TEXT": "caption chunk-separator description",
        "TIME": "received session-timeout",
        "VARIANT": "control",
        "VERSION": "judgments",
        "WORD": "family needs",
    }.items()
    for name in names.split()
}
"""Metavar of an option in help, unless its declaration sets another."""

INPUT_FILE_OPTIONS = (
    "aspect collections contributors costs exclude factors families groups held-out human intents"
    " judged keys labels lengths nuggets other-qrels preferences references replicates rules runs"
    " scores session-topics shard-map teams template topic-groups votes"
)
"""Options that name files to read, in every command."""

OUTPUT_FILE_OPTIONS = "output plot report topic-scores"
OUTPUT_OPTIONS = ("--format", "--output", "--table")  # in the group Output
MAX_FLAGS = 12  # maximum number of flags in `--help`
SEVERAL_TIMES = "may be given several times"  # in the help of options that are `multiple`

SHORT_METAVARS = {"INTEGER": "N", "NUMBER": "X", "FLOAT": "X"}

ALL_OPTIONS_KEY = "cranfield.help-all"
FOLDER = Path(__file__).parents[1]  # the folder of the modules with commands


class Option(click.Option):
    """An option with a group in help, and further attributes.

    detail: text that only `--help-all` shows.
    argument: Python argument that the option replaces in hints; by default that of its name.
    requires, sets_format: see :func:`check_conditions` and :func:`choose_format`.
    declared_by: function and parameter that declare the option.
    is_setting: whether the option is a key of the --settings file instead of a flag.
    """

    group: str = ""
    detail: str = ""
    argument: str = ""
    requires: str | Sequence[str] = ()
    sets_format: bool = False
    declared_by: tuple[str, str] | None = None
    is_setting: bool = False

    def __init__(self, names: Sequence[str], **options: Any) -> None:
        for attribute in Option.__annotations__.keys() & options:
            setattr(self, attribute, options.pop(attribute))
        short_flags = [SHORT_FLAGS[name] for name in names if name in SHORT_FLAGS]
        name, kind = names[0].removeprefix("--"), options.get("type", str)
        if kind is str and name in f"{INPUT_FILE_OPTIONS} {OUTPUT_FILE_OPTIONS}".split():
            options["type"] = kind = (
                INPUT_FILE if name in INPUT_FILE_OPTIONS.split() else OUTPUT_FILE
            )
        if kind is str or isinstance(kind, (InputFile, KnownName)):
            default = "FILE" if isinstance(kind, InputFile) else None
            options.setdefault("metavar", METAVARS.get(name, default))
        if options.get("default"):
            options.setdefault("show_default", True)
        options.setdefault("multiple", SEVERAL_TIMES in str(options.get("help")))
        super().__init__([*names, *short_flags], **options)
        if {*OUTPUT_OPTIONS} & {*names}:
            self.group = self.group or "Output"
        if isinstance(self.requires, str):
            self.requires = (self.requires,)

    def make_metavar(self, ctx: click.Context) -> str:
        return SHORT_METAVARS.get(metavar := super().make_metavar(ctx), metavar)

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        if not self.is_setting:
            super().add_to_parser(parser, ctx)

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        record = super().get_help_record(ctx)
        if record is None:
            return None
        name, text = record
        if self.is_setting:
            name = name.split(" / ")[0].rpartition("--")[2]
            if self.is_bool_flag:
                name += " [true|false]"
        if self.detail and ALL_OPTIONS_KEY in ctx.meta:
            text = f"{text} {self.detail}"
        return name, text


def option(*names: str, **arguments: Any) -> Decorator:
    """Declare an option, with arguments of `click.option` and of :class:`Option`."""
    return click.option(*names, **{"cls": Option, **arguments})


def with_options(options: Iterable[Decorator]) -> Decorator:
    """Make a decorator that adds options to a command, in this order."""
    decorators = list(options)

    def add(command: Any) -> Any:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return add


def set_group(group: str, options: Iterable[Decorator]) -> tuple[Decorator, ...]:
    """Return the options with a group, under which help lists them."""

    def declare_in_group(declare: Decorator, command: Any) -> Any:
        command = declare(command)
        command.__click_params__[-1].group = group
        return command

    return tuple(partial(declare_in_group, declare) for declare in options)


class IntegerRange(click.IntRange):
    """Integers within bounds."""

    name = "integer"


class NumberRange(click.FloatRange):
    """Numbers within bounds."""

    name = "number"


class InputFile(click.ParamType):  # type: ignore[type-arg]
    """An input file, `FILE` or `NAME=FILE`; commands refuse to overwrite it."""

    name = "file"

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type="file")]


class KnownName(click.ParamType):  # type: ignore[type-arg]
    """A name; shells complete known names, but other names are accepted, too."""

    name = "text"

    def __init__(self, names: Callable[[], Iterable[str]]) -> None:
        self.names = names

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:
        # In a comma-separated list, the last name is completed.
        prefix, comma, word = incomplete.rpartition(",")
        start = word.casefold()
        names = [name for name in self.names() if name.casefold().startswith(start)]
        return [CompletionItem(f"{prefix}{comma}{name}") for name in names]


class OutputFile(InputFile):
    """An output file."""


INPUT_FILE = InputFile()
OUTPUT_FILE = OutputFile()


class Command(click.Command):
    """A command with its options in groups; of many flags, `--help` shows the `common` ones only.

    Commands refuse to overwrite their inputs. They also refuse a repeated option with a value or,
    for options that may be given several times, a repeated value.
    """

    def __init__(self, *args: Any, common: str = "", **options: Any) -> None:
        super().__init__(*args, **options)
        self.help, self.epilog = _split_docstring(self.help)
        self.common = tuple(f"--{name}" for name in common.split())

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return [*super().get_params(ctx), _HELP_ALL]

    def list_options(self, ctx: click.Context, *, show_all: bool) -> list[Option]:
        """Return all options, or those of `--help`: flags or, of many flags, the `common` ones."""
        options = [opt for opt in self.params if isinstance(opt, Option)]
        options = [opt for opt in options if opt.get_help_record(ctx) is not None]
        if show_all:
            return options
        flags = [opt for opt in options if not opt.is_setting]
        if len(flags) <= MAX_FLAGS:
            return flags
        return [opt for opt in flags if not {*self.common}.isdisjoint(opt.opts)]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        visible_options = self.list_options(ctx, show_all=ALL_OPTIONS_KEY in ctx.meta)
        groups: dict[str, list[tuple[str, str] | None]] = {}
        for opt in sorted(visible_options, key=lambda opt: opt.is_setting):
            group = "Settings (keys of the --settings file)" if opt.is_setting else opt.group
            groups.setdefault(group, []).append(opt.get_help_record(ctx))
        help_option = self.get_help_option(ctx)
        groups["Help"] = [] if help_option is None else [help_option.get_help_record(ctx)]
        if n_hidden := len(self.list_options(ctx, show_all=True)) - len(visible_options):
            groups["Help"].append(("--help-all", f"Also show {inflect(n_hidden, 'more option')}."))
        for group, records in groups.items():
            with formatter.section(group or "Options"):
                formatter.write_dl([record for record in records if record is not None])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing:
            try:
                values, _, order = self.make_parser(ctx).parse_args(args=[*args])
            except click.NoSuchOption as error:
                ctx.fail(describe_unknown_option(error, self, args))
            for param in (param for param in self.params if isinstance(param, click.Option)):
                name = max(param.opts, key=len)
                if order.count(param) > 1 and not (param.multiple or param.is_flag):
                    ctx.fail(f"{name} must be given only once")
                texts = (values.get(param.name) or []) if param.multiple else []
                if repeated_values := [text for text in texts if texts.count(text) > 1]:
                    ctx.fail(f"{name} {quote(repeated_values[0])} must be given only once")
            if isinstance(path := values.get("settings"), str):
                ctx.default_map = read_settings(path, self, ctx)
                ctx.meta["settings"] = path
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        setting_params = (param for param in self.params if getattr(param, "is_setting", False))
        keys = {name for param in setting_params for name in param.opts}
        completions = super().shell_complete(ctx, incomplete)
        return [item for item in completions if item.value not in keys]

    def invoke(self, ctx: click.Context) -> Any:
        files = [param for param in self.params if isinstance(param.type, InputFile)]
        inputs = [path for p in files if not _is_written(p) for path in _list_paths(ctx, p)]
        if inputs.count("-") > 1:
            ctx.fail("only one file can be standard input (-)")
        for param in filter(_is_written, files):
            refuse_overwriting(_list_paths(ctx, param), inputs, max(param.opts, key=len))
        try:
            choose_format(ctx)
            check_conditions(ctx)
            with name_options_in_notes(lambda argument: find_option(argument, self)):
                return super().invoke(ctx)
        except CranfieldError as error:
            raise click.ClickException(as_options(str(error), self)) from error


def settings(names: str, flags: str = "") -> Decorator:
    """Make a decorator that moves options of a command from flags to the YAML file of --settings.

    Keys of the file are the names of the options without the leading dashes. Options in `flags`
    remain flags.
    """
    keys = {f"--{name}" for name in names.split() if name not in flags.split()}

    def add(command: Any) -> Any:
        for param in command.__click_params__:
            if not keys.isdisjoint(param.opts):
                param.is_setting = True
        _SETTINGS(command)
        # Parameters are listed from the last to the first; --settings is the last.
        command.__click_params__.insert(0, command.__click_params__.pop())
        return command

    return add


_SETTINGS = option(
    "--settings",
    type=INPUT_FILE,
    expose_value=False,
    group="Input",
    help="YAML file with less common settings; --help-all lists them.",
)


def command(name: str | None = None, **arguments: Any) -> Decorator:
    """Declare a command; of a command with many options, `--help` shows only the `common` ones."""
    return click.command(name, **{"cls": Command, **arguments})


def _split_docstring(text: str | None) -> tuple[str, str | None]:
    """Split a docstring into the help of a command, without parameters, and its examples."""
    text, _, lines = inspect.cleandoc(text or "").partition("\n\nExamples\n--------\n")
    n_examples = sum(line[:1] != " " for line in lines.splitlines())
    head = "Example" if n_examples == 1 else "Examples"
    epilog = f"\b\n{head}:\n{indent(lines, '  ')}\n" if lines else None
    return text.partition("\n\nParameters\n")[0], epilog


def _show_all(ctx: click.Context, param: click.Parameter, is_requested: bool) -> None:
    if is_requested and not ctx.resilient_parsing:
        ctx.meta[ALL_OPTIONS_KEY] = True
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


def _is_written(param: click.Parameter) -> bool:
    return isinstance(param.type, OutputFile)


def _list_paths(ctx: click.Context, param: click.Parameter) -> list[str]:
    """Return the paths in a parameter; an empty list if it is not set."""
    value = ctx.params.get(param.name or "")
    return [] if value is None else [value] if isinstance(value, str) else list(value)


def refuse_overwriting(
    outputs: Iterable[str | None], inputs: Iterable[str | None], option: str = "--output"
) -> None:
    """Refuse to overwrite an input: a file, or a file in a folder or of a pattern."""
    files_to_write = [p for p in outputs if p and p != "-" and check_path(Path.is_file, p)]
    if not files_to_write:
        return
    files = [file for path in inputs if path is not None for file in _list_files(path)]
    for output in files_to_write:
        if any(check_path(Path(output).samefile, path) for path in files):
            raise PolicyError(f"{option} {quote(output)} would overwrite an input file")


def _list_files(argument: str) -> Iterator[str | Path]:
    for path in (argument, argument.partition("=")[2]):
        if not path:
            continue
        if check_path(Path.is_dir, path):
            yield from Path(path).iterdir()
        yield from match_files(path) or ()
        yield path


class CommandGroup(click.Group):
    """A group whose commands are in the modules `PREFIX_*.py` of :mod:`cranfield.cli`.

    Commands are loaded on request, which keeps the start fast. If `is_ordered`, help lists the
    commands in `start`, then other commands in order of declaration; otherwise it lists all by
    name.
    """

    command_class = Command

    def __init__(
        self,
        *args: Any,
        prefix: str | None = None,
        is_ordered: bool = False,
        start: str = "",
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        self.help, self.epilog = _split_docstring(self.help)
        self.prefix = prefix
        self.is_ordered = is_ordered
        self.start = start.split()

    @cached_property
    def module_commands(self) -> Registry[click.Command]:
        """Commands of the modules, by name."""
        modules = sorted(path.stem for path in FOLDER.glob("*.py"))
        command_modules = " ".join(
            name for name in modules if name.rpartition("_")[0] == self.prefix
        )
        return Registry(
            "command",
            command_modules,
            package="cranfield.cli",
            decorators=r"cli\.command cli\.group",
        )

    def list_commands(self, ctx: click.Context) -> list[str]:
        names = [*self.module_commands.names(), *super().list_commands(ctx)]
        return list(dict.fromkeys([*self.start, *names])) if self.is_ordered else sorted(names)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self.module_commands:
            return self.module_commands[cmd_name]
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        command_name = args[0]
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchOption:
            raise
        except click.UsageError:
            names = self.list_commands(ctx)
            groups = {name: self.get_command(ctx, name) for name in names}
            similar_names = [
                f"{name} {command_name}"
                for name, group in groups.items()
                if isinstance(group, click.Group) and command_name in group.list_commands(ctx)
            ] or find_similar(command_name, names, 1)
            hint = f"expected one of: {', '.join(names)}"
            hint = f"did you mean {' or '.join(similar_names)}?" if similar_names else hint
            ctx.fail(f"unknown command '{command_name}'; {hint}")


def group(**arguments: Any) -> Callable[[Any], CommandGroup]:
    """Declare a group of commands."""
    decorate: Callable[[Any], CommandGroup] = click.group(cls=CommandGroup, **arguments)
    return decorate
