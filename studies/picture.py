"""Draw the picture of the first page: means of some systems of the bundled collection, compared.

python -m studies.picture [-o docs/images/intervals.svg]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import cranfield as cf

EVERY = 3
"""One of so many systems: their names can be read where the picture is small."""


def main() -> None:
    """Compare the systems, and draw their intervals."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("-o", "--output", type=Path, default=Path("docs/images/intervals.svg"))
    given = parser.parse_args()
    covid = cf.bundled.trec_covid()
    found = cf.compare(cf.evaluate(covid.runs[::EVERY], covid.qrels, "nDCG@20")["nDCG@20"])
    print(found)
    cf.charts.save(found.plot.intervals(), given.output)


if __name__ == "__main__":
    main()
