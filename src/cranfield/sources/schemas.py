"""Kinds of tables: which columns each has, under which names, and what their values are."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

from cranfield.base.errors import InputError, quoted
from cranfield.base.words import some_of
from cranfield.sources.column_names import DECISIVE, GROUPS, PLAIN
from cranfield.sources.values import Cells, Kind, is_number

NAMED = frozenset({"csv", "tsv", "json", "jsonl", "parquet"})
"""Formats with named columns."""

FRAMES = frozenset({"csv", "tsv", "parquet"})
"""Those of them that are tables, and nothing else."""


AS_USUAL: Mapping[str, str] = MappingProxyType({})
"""Columns have their usual names."""

NO_NAME = re.compile(r"(unnamed|duplicated|indexlevel)\d*|index|")
"""Names that pandas or Polars give to an index or to a second column; an index may have none."""


def spelt(name: object) -> str:
    """Spell the name of a column in lower case, without blanks, hyphens and the like."""
    return re.sub(r"[\s_.:-]+", "", str(name)).casefold()


_PLAIN = frozenset(map(spelt, PLAIN.split()))
_DECISIVE = {spelt(name): kind for kind, names in DECISIVE.items() for name in names.split()}


def _kind(name: str) -> str:
    """Return what kind of decisive column has a name, which is spelt; empty if none has."""
    return _DECISIVE.get(name, "status" if name.endswith("status") else "")


@dataclass(frozen=True)
class Column:
    """A column: its name, what its values are, and what it means.

    `meaning` is a key of :data:`~cranfield.sources.column_names.GROUPS`, which has its usual
    names; by default the name of the column, and None where a user gave the name. `called` is what
    a value of it is called in messages, if not by the name of the column.
    """

    name: str
    kind: Kind
    meaning: str | None = ""
    required: bool = True
    called: str = ""

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The usual names, those that win first."""
        meaning = self.name if self.meaning == "" else self.meaning
        groups = [tuple(one.split()) for one in GROUPS.get(meaning or "", ())]
        known = spelt(self.name) in {spelt(name) for group in groups for name in group}
        own = () if known else ((self.name,),)
        return (*own, *groups)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for group in self.groups for name in group)

    def named_in(self, names: Sequence[object]) -> list[int]:
        """Find the columns of a table that have the usual names which win among those there."""
        given = [spelt(name) for name in names]
        for group in self.groups:
            usual = {*map(spelt, group)}
            places = [k for k, name in enumerate(given) if name in usual]
            if places:
                return places
        return []


def optional(name: str, kind: Kind, meaning: str | None = "", called: str = "") -> Column:
    return Column(name, kind, meaning, required=False, called=called)


@dataclass(frozen=True)
class Lines:
    """Lines of text without a head; where they are `loose`, further fields are left out."""

    names: tuple[str, ...]
    least: int
    loose: bool = False
    cut: Callable[[str], list[str]] = str.split


@dataclass(frozen=True)
class Schema:
    """A kind of table.

    kind, called, readable, lacks, hint: words for messages: what a table is, what something is to
        be read as, what a damaged file is none of (by default its format), what a missing column
        is, and what helps, where nothing else seems to be wrong.
    columns: its columns; a note names the other ones of a table.
    asked: whether the user named the columns, so that others are not worth a note.
    decisive: kinds of columns, of `DECISIVE`, that change what a row means and that it cannot
        take into account: it refuses them.
    formats: files with named columns that are read, by suffix; of any other suffix are `lines`, or
        else files of the format `otherwise`.
    tuples: what the values of a plain tuple are, those that are required first; None where rows
        in memory are not read at all.
    lines_as_rows: what they are where they are the fields of a line of text.
    mapping: makes columns of a mapping or an object of JSON, and the name of the source.
    numbered: whether rows of CSV know their line, which takes longer, and errors their topic.
    """

    kind: str
    columns: tuple[Column, ...]
    called: str = ""
    formats: frozenset[str] = NAMED
    lines: Lines | None = None
    otherwise: str = ""
    tuples: tuple[str, ...] | None = ()
    lines_as_rows: tuple[str, ...] = ()
    mapping: Callable[[Mapping[Any, Any], str], Mapping[str, Cells]] | None = None
    readable: str = ""
    numbered: bool = False
    lacks: str = "has no {name} column (usual names: {names}); columns: {have}"
    hint: str = ""
    decisive: tuple[str, ...] = ("status",)
    asked: bool = False

    @property
    def things(self) -> str:
        """What the rows are."""
        return self.kind.removeprefix("table of ")

    def empty(self, source: str) -> InputError:
        return InputError(f"is empty: a {self.kind} has at least one row", source=source)

    @property
    def required(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns if column.required)

    def places(
        self, names: Sequence[object], source: str, called: Mapping[str, str] = AS_USUAL
    ) -> dict[str, int]:
        """Find each column by what it is `called` here, or else under any of its usual names.

        However these are spelt. Two columns of one meaning, by names of one group, are refused.
        """
        found = {}
        for column in self.columns:
            if column.name in called:
                found[column.name] = place_of(called[column.name], names, source, column.name)
                continue
            # A column has one meaning.
            places = [k for k in column.named_in(names) if k not in found.values()]
            if len(places) > 1:
                two = " and ".join(quoted(names[k]) for k in places[:2])
                what = column.called or column.name
                settled = self.hint.format(name=column.name) or "; remove or rename one"
                raise InputError(f"has two columns for the {what}: {two}{settled}", source=source)
            if places:
                found[column.name] = places[0]
            elif column.required:
                if any(isinstance(name, str) and is_number(name) for name in names):
                    raise InputError(self._headless(names), source=source)
                have = [quoted(name) for name in names[:12]]
                usual = [*dict.fromkeys((column.name, *column.names))]
                reason = (self.lacks + (self._of_head(names) or self.hint)).format(
                    name=column.name,
                    names=some_of(usual, 10),
                    either=" or ".join(usual[:2]),
                    have=", ".join(have),
                    plain=", ".join(map(str, names)) or "none",
                )
                raise InputError(reason, source=source)
        return found

    @staticmethod
    def describes(name: object) -> bool:
        """Tell whether a column only describes what rows are about, by its name."""
        return spelt(name) in _PLAIN

    def unused(
        self, names: Sequence[object], used: Collection[int]
    ) -> tuple[list[int], dict[int, int], dict[int, str]]:
        """Return the columns that are worth a note as nothing reads them, and the decisive ones.

        The first are not those that only describe rows. Those that have another name of a column
        that is read are apart, with the place of that column. The decisive ones are given with
        what they are, a key of `DECISIVE`.
        """
        left = {k: spelt(name) for k, name in enumerate(names) if k not in used}
        decisive = {k: kind for k, name in left.items() if (kind := _kind(name)) in self.decisive}
        if self.asked:
            return [], {}, decisive
        others: dict[int, int] = {}
        for column in self.columns:
            usual = {*map(spelt, column.names)}
            read = [k for k in used if spelt(names[k]) in usual]
            others |= {k: read[0] for k, name in left.items() if read and name in usual}
        noted = [
            k
            for k, name in left.items()
            if k not in others
            and name not in _PLAIN
            and not (NO_NAME.fullmatch(name) and (name or not k))
        ]
        return noted, others, decisive

    def _headless(self, names: Sequence[object]) -> str:
        """Say that a table does not name its columns, and which names may be wanted."""
        usual = self.lines_as_rows if len(names) == len(self.lines_as_rows) else self.tuples
        such = f" such as {','.join(usual or self.required)}"
        # The reader of CSV gives a name that stands there again another one.
        have = ", ".join(quoted(str(name).split("_duplicated_")[0]) for name in names[:6])
        return f"does not name its columns: the first line is {have}; write a line{such} above it"

    def _of_head(self, names: Sequence[object]) -> str:
        """Say what may be wrong with the names that a file has."""
        if len(names) != 1 or not isinstance(name := names[0], str):
            return ""
        if ";" in name:
            return "; they are separated by semicolons, and commas or tabs are wanted"
        if name.count(",") > 1:
            return "; they are separated by commas, as those of a file that is called .csv"
        if len(self.lines_as_rows) == len(name.split()):
            return (
                f"; that is a line of TREC text ({' '.join(self.lines_as_rows)}), which is read"
                " from files with other suffixes, or with format='trec'"
            )
        return ""


def place_of(name: str, names: Sequence[object], source: str, of: str) -> int:
    """Find a column by a name that was asked for: as it is written, or else however spelt."""
    for known in (str, spelt):
        for k, one in enumerate(names):
            if known(one) == known(name):
                return k
    have = ", ".join(quoted(one) for one in names[:12])
    raise InputError(
        f"has no column {quoted(name)}, which is asked for as {of}; columns: {have}", source=source
    )


def between_tabs(line: str, widths: Collection[int]) -> list[str]:
    """Split a line at tabs if the number of fields is one of the widths, else return no fields."""
    for text in (line.strip(), line) if "\t" in line else ():
        fields = [field.strip() for field in text.split("\t")]
        if len(fields) in widths:
            return fields
    return []


def fields_of(line: str, widths: Collection[int]) -> list[str]:
    """Cut a line at its tabs, semicolons or blanks; a comment has no fields."""
    if line.lstrip().startswith("#"):
        return []
    if fields := between_tabs(line, widths):
        return fields
    line = line.strip()
    separator = ";" if ";" in line else "\t" if "\t" in line else None
    return [field.strip() for field in line.split(separator)]


def schema_of_lines(
    kind: str,
    *columns: Column,
    mapping: Callable[[Mapping[Any, Any], str], Mapping[str, Cells]],
) -> Schema:
    """Describe tables that may be lines of text or tuples, with the columns in this order."""
    required = tuple(column.name for column in columns if column.required)
    cut = partial(fields_of, widths=range(len(required), len(columns) + 1))
    lines = Lines(tuple(column.name for column in columns), len(required), cut=cut)
    return Schema(kind, columns, lines=lines, tuples=required, mapping=mapping)
