"""What holds for every result, whatever it is about."""

from __future__ import annotations

import csv
import io
import json

from cranfield.result import Result


def check_forms(result: Result) -> None:
    """Every form is written, and data frames, CSV and JSON have the same columns and rows."""
    assert result.to_html() and result.to_latex() and result.to_markdown()
    written = json.loads(result.to_json())
    assert not [name for name in written if name.startswith("_")]
    for table, frame in result.frames().items():
        assert result.to_polars(table).equals(frame)
        assert [[*row] for row in written[table]] == [frame.columns] * frame.height
        head, *rows = csv.reader(io.StringIO(result.to_csv(table)))
        assert head == frame.columns and len(rows) == frame.height
