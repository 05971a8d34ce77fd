"""Draw the pictures of the pages on evaluating the evaluation, with the bundled collection.

python -m studies.pictures_meta [NAME...] [-o docs/images]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cranfield as cf
from cranfield.meta import discriminative_power
from cranfield.reporting.charts.of_studies import asl_chart


def asl() -> Any:
    """Curves of achieved significance levels."""
    covid = cf.bundled.trec_covid()
    measures = ["AP@100", "nDCG@10", "P@10", "RBP(p=0.8)", "ERR@10", "RR@10"]
    return asl_chart(discriminative_power(cf.evaluate(covid.runs, covid.qrels, measures)))


PICTURES: dict[str, Callable[[], Any]] = {"asl": asl}


def main() -> None:
    """Draw the pictures that are named, or all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", choices=[[], *PICTURES], metavar="NAME")
    parser.add_argument("-o", "--output", type=Path, default=Path("docs/images"))
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    for name in given.names or PICTURES:
        PICTURES[name]().save(given.output / f"{name}.svg")


if __name__ == "__main__":
    main()
