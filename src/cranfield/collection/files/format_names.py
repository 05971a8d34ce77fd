"""Names of the formats of runs and judgments; what reads them is loaded when something is read."""

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
