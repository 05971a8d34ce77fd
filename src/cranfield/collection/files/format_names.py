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
    "error": "a document twice in one topic is refused",
    "first": "the first one in the input is kept",
    "last": "the last one in the input is kept",
    "best": "the one with the highest score or grade is kept, of equal ones the first",
}
"""The policies for a document that stands twice in one topic."""

UNGRADED = {
    "error": "a row without a grade is refused",
    "drop": "a document without a grade is not judged",
}
"""The policies for rows of judgments without a grade."""
