"""Draw the pictures of the page on testing a collection, with the bundled one.

python -m studies.pictures_collection [NAME...] [-o docs/images] [--png]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cranfield as cf
from cranfield.meta import leave_one_out, pooling, stability
from cranfield.reporting.charts.of_studies import (
    leave_one_out_chart,
    pooling_chart,
    stability_chart,
)


def stable() -> Any:
    """What samples of topics say by three measures."""
    covid = cf.bundled.trec_covid()
    scores = cf.evaluate(covid.runs, covid.qrels, ["nDCG@20", "AP@100", "RR"])
    sizes = [2, 3, 4, *range(5, 50, 5)]
    return stability_chart([stability(one, sizes=sizes) for one in scores.values()])


def left_out() -> Any:
    """Scores and ranks without the unique documents of each team."""
    covid = cf.bundled.trec_covid()
    found = leave_one_out(covid.runs, covid.qrels, "nDCG@20", teams=covid.teams, depth=5)
    return leave_one_out_chart(found)


def judged() -> Any:
    """What the first judgments of a pool find, and how they order systems."""
    covid = cf.bundled.trec_covid()
    found = pooling(
        covid.runs,
        covid.qrels,
        "nDCG@20",
        methods="depth,RRF,MTF,MaxMean",
        budgets=[5, 10, 15, 20, 25, 30, 40, 50],
        depth=5,
    )
    return pooling_chart(found)


PICTURES: dict[str, Callable[[], Any]] = {
    "stability": stable,
    "leave-one-out": left_out,
    "pooling": judged,
}


def main() -> None:
    """Draw the pictures that are named, or all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", choices=[[], *PICTURES], metavar="NAME")
    parser.add_argument("-o", "--output", type=Path, default=Path("docs/images"))
    parser.add_argument("--png", action="store_true", help="Draw PNG instead of SVG.")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    for name in given.names or PICTURES:
        PICTURES[name]().save(given.output / f"{name}.{'png' if given.png else 'svg'}")


if __name__ == "__main__":
    main()
