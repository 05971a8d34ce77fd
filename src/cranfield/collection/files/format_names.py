"""Choices of reading runs and judgments; the readers are loaded when a file is read."""

FORMATS = ("auto", "trec", "ntcir", "prels", "xqrels", "csv", "tsv", "json", "jsonl", "parquet")
"""Formats that can be read; `auto` looks at the file's suffix, archive suffixes removed."""

SEPARATORS = ("auto", "tab", "blank")
"""What may be between the columns of a text file; `auto` decides by line."""

NUMBERS = ("auto", "ranks", "scores")
"""What the number of a run of topic, document and number may be; `auto` decides by file."""

OF_QRELS = frozenset({"prels", "xqrels"})
"""Formats of judgments only."""

OF_LINES = frozenset({"text", "trec", "ntcir"})
"""Formats of runs that may have a header."""

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
