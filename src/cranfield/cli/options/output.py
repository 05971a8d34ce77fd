"""Output options of commands, and display of their progress."""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, fields, is_dataclass, replace
from threading import Event, Thread
from typing import Any, Literal

import click

import cranfield as cf
from cranfield.base.errors import PolicyError
from cranfield.base.files import open_atomically
from cranfield.base.text import sanitise
from cranfield.cli.options.declaring import Decorator, IntegerRange, option, set_group, with_options
from cranfield.cli.options.hints import as_options
from cranfield.cli.options.signatures import make_options
from cranfield.result import ALL, WRITERS, Result, ResultSet, check_table, combine_results
from cranfield.tabular import Table

Progress = Callable[[int, int], None]  # called with the numbers of finished items and of all items

MIN_RUNS = 4  # minimum number of runs for a progress bar
DELAY = 2.0  # seconds before the elapsed time is shown
_BARS: list[str] = []  # progress bars on display; the elapsed time is not shown beside them


@contextmanager
def show_elapsed_time() -> Iterator[None]:
    """Show the elapsed time on a terminal if no progress bar is shown; erase it at the end."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    start, has_ended = time.monotonic(), Event()

    def show() -> None:
        wait, line = DELAY, ""
        while not has_ended.wait(wait):
            wait = 1.0
            if not _BARS:
                line = f"working, {time.monotonic() - start:.0f} s"
                print(line, end="\r", file=sys.stderr, flush=True)
        if line:
            print(" " * len(line), end="\r", file=sys.stderr, flush=True)

    # A daemon, so that the interpreter does not wait for it at exit.
    thread = Thread(target=show, daemon=True)

    def end() -> None:
        has_ended.set()
        thread.join(1.0)

    def write(text: str) -> int:
        end()
        return int(write_to_stream(text))

    thread.start()
    stream: Any = sys.stdout
    shares_terminal = stream is not None and stream.isatty()
    if shares_terminal:
        write_to_stream, stream.write = stream.write, write
    try:
        yield
    finally:
        end()
        if shares_terminal:
            stream.write = write_to_stream


@contextmanager
def show_progress_bar(label: str, total: int | None = None) -> Iterator[Progress | None]:
    """Show a progress bar if standard error is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich import progress as bars
    from rich.console import Console

    columns = (
        bars.TextColumn("{task.description}", markup=False),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TimeRemainingColumn(),
    )
    with bars.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total)
        _BARS.append(label)
        try:
            yield lambda count, total: bar.update(task, completed=count, total=total)
        finally:
            _BARS.remove(label)


def show_judging_progress(runs: Sequence[Any]) -> AbstractContextManager[Progress | None]:
    return show_progress_bar("judging", len(runs)) if len(runs) >= MIN_RUNS else nullcontext()


MARKUP = ("latex", "markdown", "html")  # formats of tables for papers and pages
FORMATS = ("table", "csv", "json", *MARKUP, "parquet")  # formats of scores
ROUNDED_FORMATS = ("table", "ir_measures", *MARKUP)  # formats with --places decimals

output_option = option(
    "--output",
    help="File to write; on an error it is left unchanged. Its suffix selects the format, unless"
    " --format does.",
    group="Output",
    sets_format=True,
)


def make_format_option(
    formats: Iterable[str], default: str = "text", help: str = "Output format.", **attributes: Any
) -> Decorator:
    """Make the option of the output format."""
    choice = click.Choice(list(formats))
    attributes |= {"type": choice, "default": default, "help": help}
    return option("--format", **attributes)


@dataclass(frozen=True)
class ResultOutput:
    """Options for writing results."""

    format: str
    table: str | None = None
    output: str | None = None

    def check(self, tables: Iterable[str], absent: Mapping[str, str] | None = None) -> None:
        """Refuse a table that the results lack; `absent` maps such tables to required options."""
        absent = absent or {}
        if condition := absent.get(self.table or ""):
            raise PolicyError(f"--table {self.table} requires {condition}")
        if self.table is not None:
            check_table(self.table, (name for name in tables if name not in absent))

    def writes_frame(self, table: str) -> bool:
        """Return True if a table is written as a data frame, which has no notes."""
        is_data = self.format in {"csv", "json"}
        return self.table == table or (is_data and self.table in (None, ALL))

    def write(
        self, results: Result | ResultSet, write_more: Callable[[], object] | None = None
    ) -> None:
        """Write results, and further files as in :func:`write`.

        With CSV, notes are written to standard error; if a single table is requested, the
        conclusion is, too.
        """
        if isinstance(results, Result):
            results = combine_results(results)
        command = click.get_current_context().command
        heading = [
            as_options(line, command) if line.startswith("note: ") else line
            for line in results.heading
        ]
        results = replace(results, heading=heading)
        write(results.write(self.format, self.table), self.output, write_more)
        if self.format == "csv":
            lines = [line for line in results.heading if line.startswith("note: ")]
            lines += results.verdict if self.table not in (None, ALL) else []
            sys.stderr.writelines(f"{sanitise(line)}\n" for line in lines)


def make_result_options(
    tables: Iterable[str] = (), output: Decorator | None = output_option
) -> Decorator:
    """Make a decorator that adds options of results; a command gets them as `result_output`."""
    names = ", ".join(tables)
    help_end = f": {names}." if names else "; all: write every table."
    options = (
        make_format_option(WRITERS),
        option("--table", help=f"Write this table only{help_end}"),
        *(() if output is None else (output,)),
    )
    return gather_options(ResultOutput, "result_output", set_group("Output", options))


def gather_options(
    make: Callable[..., object], name: str, options: Iterable[Decorator]
) -> Decorator:
    """Make a decorator that adds options to a command, and passes their values as one object.

    The object is an instance of a dataclass, whose other fields keep their defaults, or a `dict`.
    """
    decorate = with_options([*options])
    if is_dataclass(make):
        keys = [field.name for field in fields(make)]
    else:
        keys = [param.name for param in decorate(lambda: None).__click_params__]

    def add(command: Any) -> Any:
        @functools.wraps(command)
        def call_command(*arguments: Any, **values: Any) -> Any:
            options_object = make(**{key: values.pop(key) for key in keys if key in values})
            return command(*arguments, **{name: options_object}, **values)

        return decorate(call_command)

    return add


@dataclass(frozen=True)
class MarkupOptions:
    """Options of tables for papers and pages.

    Attributes
    ----------
    caption
        Caption of the LaTeX table, which is then a complete table environment.
    label
        Label of the LaTeX table, which is then a complete table environment.
    long
        Write a LaTeX table that may span several pages (longtable).
    """

    caption: str | None
    label: str | None
    long: bool = False

    def format_tables(self, tables: Sequence[Table], format: str) -> str:
        if self.label is not None and len(tables) > 1:
            raise PolicyError(f"setting label requires a single table, got {len(tables)}")
        options = vars(self) if format == "latex" else {}
        return "\n".join(getattr(table, f"to_{format}")(**options) for table in tables)


table_options = gather_options(
    MarkupOptions,
    "markup",
    make_options(
        f"{__name__}.MarkupOptions", "caption label long", group="Output", requires="--format=latex"
    ),
)


@dataclass(frozen=True)
class Output:
    """Options for writing scores.

    Attributes
    ----------
    format
        Output format.
    output
        The file, or None for standard output.
    places
        Number of decimals.
    order
        Order of systems in latex, markdown and html tables: by the mean of the first measure, best
        first (means, default), or in the order of the input (given).
    """

    by_topic: bool
    format: str
    output: str | None
    markup: MarkupOptions
    places: int = 4
    order: Literal["means", "given"] | None = None

    def check(self) -> None:
        """Refuse invalid options before any file is read."""
        if self.format == "parquet" and self.output in {None, "-"}:
            raise PolicyError("--format parquet requires --output FILE")
        if self.format == "prototext" and self.by_topic:
            raise PolicyError("--format prototext cannot be combined with --by-topic")

    def write(self, scores: Mapping[str, cf.Scores], *, unit: str = "topic") -> None:
        """Write scores by measure; `unit` is the title of the column of topics."""
        if self.format == "parquet":
            from cranfield.collection.files.writing import write_table
            from cranfield.reporting.score_formats import tabulate_scores

            frame = tabulate_scores(scores, by_topic=self.by_topic)
            write_table(frame, self.output or "", "parquet")
        else:
            write(self._format_scores(scores, unit), self.output)

    def write_results(self, *results: Result) -> None:
        """Write results that are not scores."""
        format = "text" if self.format == "table" else self.format
        ResultOutput(format, None, self.output).write(combine_results(*results))

    def _format_scores(self, scores: Mapping[str, cf.Scores], unit: str) -> str:
        if self.format in MARKUP:
            from cranfield.reporting.tables import tabulate_evaluation, tabulate_topics

            if self.by_topic:
                markup_table = tabulate_topics(scores, places=self.places)
            else:
                key = None if self.order == "given" else next(iter(scores))
                markup_table = tabulate_evaluation(scores, sort=key, places=self.places)
            return self.markup.format_tables([markup_table], self.format)
        if self.format == "table":
            from cranfield.reporting.terminal import draw_table, tabulate_systems, tabulate_units

            table = (
                tabulate_units(scores, places=self.places, unit=unit)
                if self.by_topic
                else tabulate_systems(scores, places=self.places)
            )
            return draw_table(
                table, is_on_terminal=self.output in {None, "-"} and sys.stdout.isatty()
            )
        from cranfield.reporting.score_formats import format_scores_csv, format_scores_json

        write_scores = format_scores_csv if self.format == "csv" else format_scores_json
        return write_scores(scores, by_topic=self.by_topic)


def make_output_options(unit: str = "topic", formats: Sequence[str] = FORMATS) -> Decorator:
    """Make a decorator that adds options for writing scores; each score belongs to a `unit`."""
    rounded_formats = ",".join(format for format in formats if format in ROUNDED_FORMATS)
    markup_formats = ",".join(MARKUP)
    options = (
        option(
            f"--by-{unit}",
            "by_topic",
            is_flag=True,
            help=f"Also write the scores of each {unit}.",
            group="Output",
        ),
        make_format_option(formats, "table"),
        output_option,
        *make_options(
            f"{__name__}.Output",
            "places order",
            group="Output",
            places={"type": IntegerRange(0, 17), "requires": f"--format={rounded_formats}"},
            order={"requires": f"--format={markup_formats} !--by-{unit}"},
        ),
        table_options,
    )
    return gather_options(Output, "output", options)


def write(text: str, output: str | None, write_more: Callable[[], object] | None = None) -> None:
    """Write to standard output (also for `-`), or atomically to a file, compressed by its suffix.

    Further files are written by `write_more`; if this fails, the file is left unchanged.
    """
    if output in {None, "-"}:
        if write_more is not None:
            write_more()
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    from cranfield.sources.archives import compress_by_suffix

    with open_atomically(output or "") as out:
        out.write(compress_by_suffix(text.encode(), output or ""))
        if write_more is not None:
            write_more()
