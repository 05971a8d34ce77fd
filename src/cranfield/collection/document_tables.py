"""Tables of the lengths and groups of documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import quote, warn
from cranfield.base.text import inflect
from cranfield.collection.files.named_columns import DOC, TOPIC
from cranfield.collection.pairs import IndexedTable
from cranfield.collection.qrels import number_sorted_values
from cranfield.sources.columns import make_pair_reader, read_columns, read_table, transpose_rows
from cranfield.sources.schemas import (
    FileColumn,
    declare_optional,
    make_line_schema,
    suspect_negative,
)
from cranfield.sources.values import ID, NUMBER


@dataclass(frozen=True, eq=False, repr=False)
class DocumentTable(IndexedTable):
    """Lengths or groups of documents; returned by :func:`read_lengths` and :func:`read_groups`.

    docs: document id of each row.
    values: length of the document of each row, or its weight in the group of the row.
    codes: group of each row, as an index into `names`; 0 for lengths.
    names: names of the groups; empty for lengths.
    source: name of the input in messages.
    """

    docs: pl.Series
    values: Floats
    codes: Ints
    names: tuple[str, ...]
    source: str

    def find_rows(self, docs: pl.Series) -> tuple[Ints, Ints]:
        """Return pairs (row of `docs`, row of this table) of the same document, in any order."""
        return self._index.find_matching_rows(docs)

    def __repr__(self) -> str:
        groups = f", {inflect(len(self.names), 'group')}" if self.names else ""
        return f"DocumentTable({inflect(len(self.docs), 'row')}{groups})"


def _convert_memberships(data: Mapping[Any, Any], source: str) -> dict[str, list[Any]]:
    rows: list[tuple[Any, Any, Any]] = []
    for doc, value in data.items():
        is_single = isinstance(value, str | bytes) or not isinstance(value, Iterable)
        weights = value if isinstance(value, Mapping) else {}
        rows += [(doc, g, weights.get(g, 1.0)) for g in ([value] if is_single else value)]
    return transpose_rows(("doc", "group", "weight"), rows)


_LENGTHS = replace(
    make_line_schema(
        "table of lengths",
        DOC,
        FileColumn("length", NUMBER),
        read_mapping=make_pair_reader("doc", "length"),
        suspicions={"document occurs twice in the lengths": pl.col("doc").is_duplicated()}
        | suspect_negative("length"),
    ),
    decisive_kinds=("status", "unit of measurement"),
)
_GROUPS = make_line_schema(
    "table of groups",
    DOC,
    FileColumn("group", ID),
    declare_optional("weight", NUMBER),
    read_mapping=_convert_memberships,
    suspicions={"document occurs twice in one group": pl.struct("doc", "group").is_duplicated()}
    | suspect_negative("weight"),
)


def read_lengths(data: Any) -> DocumentTable:
    """Read the length of each document, in the unit of the measures that use it.

    Parameters
    ----------
    data
        A dict `{document: length}`, a data frame with columns `doc` and `length` (or `words`,
        `characters`), or a file. The suffix selects CSV, TSV, JSON, JSON lines or Parquet; other
        files have a document and its length on each line.

    Raises
    ------
    InputError
        For unreadable input, a missing length or one below 0, or a document that occurs twice.

    Examples
    --------
    >>> read_lengths({"d1": 812, "d2": 40})
    DocumentTable(2 rows)
    """
    if isinstance(data, DocumentTable):
        return data
    table = read_table(data, _LENGTHS)
    docs, values = table.frame["doc"], table.frame["length"].to_numpy()
    return DocumentTable(docs.rechunk(), values, np.zeros(values.size, np.int64), (), table.source)


def read_groups(data: Any) -> DocumentTable:
    """Read the groups of documents, for measures of fairness.

    Parameters
    ----------
    data
        A dict that maps each document to its group, a list of groups, or `{group: weight}`; a data
        frame with columns `doc`, `group` and optionally `weight`; or a file with these columns, in
        the formats of :func:`read_lengths`.

    Raises
    ------
    InputError
        For unreadable input, a weight below 0, a document that occurs twice in one group, or groups
        of a document that differ by topic.

    Examples
    --------
    >>> read_groups({"d1": "press", "d2": ["press", "blog"]})
    DocumentTable(3 rows, 2 groups)
    """
    if isinstance(data, DocumentTable):
        return data
    columns = read_columns(data, _GROUPS)
    table = columns.make_table(_GROUPS)
    frame = table.frame
    for k in TOPIC.find_in(columns.names):
        name, topics = quote(columns.names[k]), pl.Series("topic", map(str, columns.cells(k)))
        n_groups = pl.col("group").n_unique()
        differs = frame.select(n_groups.over("doc") != n_groups.over("doc", topics)).to_series()
        reason = (
            f"groups of a document must be the same for all topics, got different groups by {name}"
        )
        for row in differs.arg_true()[:1]:
            raise table.make_row_error(int(row), reason, doc=frame["doc"][int(row)])
        if topics.n_unique() > 1:
            warn(f"{table.source}: columns not used: {name}")
    names, codes = number_sorted_values(frame["group"])
    weights = frame["weight"].fill_null(1.0).to_numpy()
    return DocumentTable(frame["doc"].rechunk(), weights, codes, names, table.source)
