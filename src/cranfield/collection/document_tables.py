"""What is known of documents besides judgments: their lengths and groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import InputError
from cranfield.base.words import counted
from cranfield.collection.files.small_tables import small_table
from cranfield.collection.keys import KeyIndex
from cranfield.collection.qrels import topic_order


@dataclass(frozen=True, eq=False, repr=False)
class DocumentTable:
    """Something known of documents whatever the topic; made by :func:`read_lengths` and the like.

    Attributes
    ----------
    docs
        Document of each row.
    values
        Length of the document, or how much it belongs to the group.
    codes
        Group of each row, as an index into `names`; 0 where there are no groups.
    names
        The groups, in order.
    name
        Where the table came from.
    """

    docs: pl.Series
    values: Floats
    codes: Ints
    names: tuple[str, ...]
    name: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "_index", KeyIndex(self.docs.hash().to_numpy()))

    def found(self, docs: pl.Series) -> tuple[Ints, Ints]:
        """Return pairs (row of `docs`, row of this table) of the same document, in no order."""
        index: KeyIndex = vars(self)["_index"]
        asked, found = index.candidates(docs.hash().to_numpy())
        # Equal keys are only a claim; the documents decide.
        true = (docs.gather(asked) == self.docs.gather(found)).to_numpy()
        return asked[true], found[true]

    def __repr__(self) -> str:
        groups = f", {counted(len(self.names), 'group')}" if self.names else ""
        return f"DocumentTable({counted(len(self.docs), 'row')}{groups})"


def read_lengths(data: Any) -> DocumentTable:
    """Read the length of each document, in any unit that the measures are told.

    Parameters
    ----------
    data
        A dict `{document: length}`, a data frame with columns `doc` and `length` (or `words`,
        `characters`), or a file: CSV, TSV, JSON or Parquet by its suffix, else lines of a document
        and a length.

    Returns
    -------
    DocumentTable

    Raises
    ------
    InputError
        For what cannot be read, a length below 0, or a document that stands twice.

    Examples
    --------
    >>> read_lengths({"d1": 812, "d2": 40})
    DocumentTable(2 rows)
    """
    if isinstance(data, DocumentTable):
        return data
    if isinstance(data, Mapping):
        data = {"doc": list(data.keys()), "length": list(data.values())}
    frame, name = small_table(data, "table of lengths")
    docs, values = frame["doc"], frame["length"].to_numpy()
    _refuse_twice(docs, frame.select("doc"), name, "document twice in the lengths")
    if (values < 0).any():
        worst = int(np.argmax(values < 0))
        raise InputError(f"length {values[worst]:g} is below 0", source=name, doc=docs[worst])
    return DocumentTable(docs.rechunk(), values, np.zeros(values.size, np.int64), (), name)


def read_groups(data: Any) -> DocumentTable:
    """Read the groups that documents belong to, for measures of fairness.

    Parameters
    ----------
    data
        A dict of a document's group, list of groups, or `{group: weight}`; a data frame with
        columns `doc`, `group` and perhaps `weight`; or a file, as for :func:`read_lengths`, whose
        lines are a document, a group and perhaps a weight.

    Returns
    -------
    DocumentTable

    Raises
    ------
    InputError
        For what cannot be read, a weight below 0, or a document twice in one group.

    Examples
    --------
    >>> read_groups({"d1": "press", "d2": ["press", "blog"]})
    DocumentTable(3 rows, 2 groups)
    """
    if isinstance(data, DocumentTable):
        return data
    if isinstance(data, Mapping):
        data = _memberships(data)
    frame, name = small_table(data, "table of groups")
    _refuse_twice(frame["doc"], frame.select("doc", "group"), name, "document twice in one group")
    weights = frame["weight"].to_numpy() if "weight" in frame.columns else np.ones(frame.height)
    if (weights < 0).any():
        worst = int(np.argmax(weights < 0))
        raise InputError(
            f"weight {weights[worst]:g} is below 0", source=name, doc=frame["doc"][worst]
        )
    names = topic_order(frame["group"].unique().to_list())
    codes = frame["group"].replace_strict(names, range(len(names)), return_dtype=pl.Int64)
    return DocumentTable(frame["doc"].rechunk(), weights, codes.to_numpy(), tuple(names), name)


def _memberships(data: Mapping[Any, Any]) -> dict[str, list[Any]]:
    rows: list[tuple[Any, Any, Any]] = []
    for doc, groups in data.items():
        if isinstance(groups, Mapping):
            rows.extend((doc, group, weight) for group, weight in groups.items())
        elif isinstance(groups, Iterable) and not isinstance(groups, (str, bytes)):
            rows.extend((doc, group, 1.0) for group in groups)
        else:
            rows.append((doc, groups, 1.0))
    return {name: [row[i] for row in rows] for i, name in enumerate(("doc", "group", "weight"))}


def _refuse_twice(docs: pl.Series, keys: pl.DataFrame, name: str, reason: str) -> None:
    twice = keys.is_duplicated().arg_true()
    if len(twice):
        raise InputError(reason, source=name, doc=docs[int(twice[0])])
