"""Draw the picture of the README: what `cranfield evaluate` shows of the bundled collection.

python -m studies.picture [-o docs/images/demo.svg]
"""

from __future__ import annotations

import argparse
import re
from io import StringIO
from pathlib import Path

from rich.console import Console

import cranfield as cf
from cranfield.reporting.text.terminal import rich_table, systems_table

SYSTEMS = 14


def main() -> None:
    """Score the first systems of the bundled collection and export the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("-o", "--output", type=Path, default=Path("docs/images/demo.svg"))
    given = parser.parse_args()
    covid = cf.bundled.trec_covid()
    measures = ["nDCG@20", "P@20", "AP@100", "RR", "RBP", "Judged@20"]
    evaluation = cf.evaluate(covid.runs[:SYSTEMS], covid.qrels, measures)
    console = Console(record=True, width=84, file=StringIO())
    console.print(rich_table(systems_table(evaluation)))
    given.output.parent.mkdir(parents=True, exist_ok=True)
    # An id of its own, so that the same table gives the same file.
    svg = console.export_svg(title="cranfield demo", unique_id="cranfield")
    # No font is fetched from anywhere; the reader's own monospaced one does.
    given.output.write_text(re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL))


if __name__ == "__main__":
    main()
