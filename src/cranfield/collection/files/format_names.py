"""Names of the formats of runs and judgments; what reads them is loaded when something is read."""

FORMATS = ("auto", "trec", "ntcir", "prels", "xqrels", "csv", "tsv", "json", "jsonl", "parquet")
"""Formats that can be read; `auto` looks at the file's suffix, archive suffixes removed."""

OF_QRELS = frozenset({"prels", "xqrels"})
"""Formats of judgments only."""

OF_LINES = frozenset({"text", "trec", "ntcir"})
"""Formats of runs that may have a header."""
