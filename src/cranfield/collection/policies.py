"""Policies of reading and judging, and their values; imports no large libraries."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from cranfield.base.errors import PolicyError, check_choice, check_integer

JUDGMENT_FORMATS: dict[str, dict[str, type | None]] = {
    "prels": {"topic": str, "doc": str, "grade": int, "method": None, "inclusion": float},
    "xqrels": {"topic": str, "iteration": None, "doc": str, "stratum": str, "grade": int},
}
"""Formats that only judgments have, with the type of each column; None for unread columns.

`prels` is the format of the Million Query and Web tracks, with the probability that a document is
in the sample. `xqrels` is the format of sample_eval.pl: the stratum precedes the grade; a grade
below 0 means that a document is in the pool, but not in the sample.
"""

SAMPLING_COLUMNS = {"xqrels": "stratum", "prels": "inclusion"}
"""Formats of sampled judgments, and the column that describes the sampling in each."""

FORMATS = ("auto", "trec", "ntcir", *JUDGMENT_FORMATS, "csv", "tsv", "json", "jsonl", "parquet")
"""Formats that can be read; `auto` detects the format by the suffix and, of text, by the lines."""

SEPARATORS = ("auto", "tab", "blank")
"""Separators of the columns of a text file; `auto` detects it for each line."""

NUMBER_MEANINGS = ("auto", "ranks", "scores")
"""Meanings of the number in runs of topic, document and number; `auto` detects it for each file."""

LINE_FORMATS = frozenset({"text", "trec", "ntcir"})
"""Formats of text without names of columns, in which a run may begin with its metadata."""

DUPLICATES = {
    "error": "refuse duplicate documents of a topic",
    "first": "keep the first in the input",
    "last": "keep the last in the input",
    "best": "keep the document with the highest score or grade, the first in the input if tied",
}
"""Policies for duplicate documents of a topic."""

UNGRADED = {
    "error": "refuse rows without a grade",
    "drop": "skip rows without a grade; their documents are not judged",
}
"""Policies for rows of judgments without a grade."""

TieOrder = Literal["trec", "trec_eval-9", "id-ascending", "input", "rank", "file"]
Ties = Literal[TieOrder, "expected"]
Topics = Literal["qrels", "intersection", "run"]
Unjudged = Literal["nonrelevant", "condensed"]
Negative = Literal["judged", "unjudged"]
Compat = Literal["trec_eval", "trec_eval-9", "trec_eval-10", "ndeval", "gdeval", "ntcireval", "cwl"]

TIES = {
    "trec": "score descending, then document id descending by bytes",
    "trec_eval-9": "as trec, on scores rounded to 32-bit floats, as trec_eval 9 reads them",
    "id-ascending": "score descending, then document id ascending by bytes",
    "input": "score descending, then the order of the input",
    "rank": "the rank column of the file; scores are ignored",
    "file": "the order of the input; scores and ranks are ignored",
}
"""Orders of the documents of a topic."""

CHOICES: dict[str, dict[str, str]] = {
    "ties": TIES | {"expected": "the expected score over all orders of tied documents"},
    "topics": {
        "qrels": "every judged topic; a topic without results scores as an empty ranking does",
        "intersection": "for each system, the judged topics for which it has results",
        "run": "for each system, the topics for which it has results, judged or not",
    },
    "unjudged": {
        "nonrelevant": "an unjudged document counts as not relevant",
        "condensed": "unjudged documents are removed, and lower documents move up",
    },
    "negative": {
        "judged": "a grade below 0 means judged, and not relevant",
        "unjudged": "a grade below 0 marks a document as pooled but not judged",
    },
}
"""Values of each policy (the first value is the default), and their effects."""

MAX_DEPTH = 10**9
"""Maximum length of a ranking."""

MAX_VALUES = {"depth": MAX_DEPTH, "max_grade": 2**31 - 1, "topics_with_grade": 2**31 - 1}
"""Policies whose value is None or an integer >= 1, and the largest integer."""

NUMBER_EFFECTS = {
    "depth": "number of top ranks of each ranking that count",
    "max_grade": "highest grade of the scale, for measures that depend on it",
    "topics_with_grade": "only topics with a document of this grade or higher",
}
"""Effects of the policies whose value is a number."""


@dataclass(frozen=True)
class Policies:
    """Policies of judging; the defaults suit a comparison of systems on one collection.

    Examples
    --------
    >>> Policies(ties="input").ties
    'input'
    >>> Policies(ties="random")
    Traceback (most recent call last):
        ...
    cranfield.PolicyError: unknown ties 'random'; expected one of: trec, trec_eval-9, ...
    """

    ties: Ties = "trec"
    topics: Topics = "qrels"
    unjudged: Unjudged = "nonrelevant"
    negative: Negative = "judged"
    depth: int | None = None
    max_grade: int | None = None
    topics_with_grade: int | None = None

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            check_choice(name, getattr(self, name), choices)
        for name, highest in MAX_VALUES.items():
            value = getattr(self, name)
            if value is None:
                continue
            check_integer(name, value, 1, highest)
            # Convert NumPy integers too, as settings are written as JSON.
            object.__setattr__(self, name, int(value))

    @property
    def order(self) -> TieOrder:
        """The order of tied documents; `trec` if scores are expected values over all orders."""
        return "trec" if self.ties == "expected" else self.ties

    def require_order(self, subject: str) -> None:
        """Refuse `expected` ties for a computation that requires one order of the documents."""
        if self.ties == "expected":
            raise PolicyError(
                f"{subject} require one order of tied documents, got ties='expected'; use"
                " ties='trec' or another order"
            )

    def describe(self) -> dict[str, Any]:
        """Return the policies by name, as plain values."""
        return asdict(self)


PRESETS: dict[str, Policies] = {
    "trec_eval": Policies(topics="intersection", negative="unjudged"),
    "trec_eval-9": Policies(ties="trec_eval-9", topics="intersection", negative="unjudged"),
    "trec_eval-10": Policies(topics="intersection", negative="unjudged"),
    "ndeval": Policies(topics="intersection"),
    "gdeval": Policies(topics="intersection"),
    "ntcireval": Policies(ties="file"),
    "cwl": Policies(ties="input", topics="intersection", depth=1000),
}
"""Policies of other programs, by name.

A preset sets the policies and roundings of a program, but not the options of the program. No preset
removes documents whose id is that of the query, as BEIR does; `exclude="self"` does so.

`ndeval` stands for `ndeval -traditional`, which orders documents by score; without this option the
program orders them by the rank column (`ties="rank"`). With the option `-c`, `ndeval` and `gdeval`
include every judged topic (`topics="qrels"`). `ntcireval` orders documents as in the file, and
`cwl` cuts off rankings after rank 1000.

`trec_eval-9` and `trec_eval-10` reproduce these versions: 9 sorts scores as 32-bit floats, 10
rounds levels of recall to the nearest document. `trec_eval` sorts like 10 and rounds like 9.
"""


def make_policies(compat: str | None = None, **choices: Any) -> Policies:
    """Return the policies of a preset, or the defaults; `choices` other than None override them."""
    if compat is not None:
        check_choice("compat", compat, PRESETS)
    preset = Policies() if compat is None else PRESETS[compat]
    return replace(preset, **{name: value for name, value in choices.items() if value is not None})
