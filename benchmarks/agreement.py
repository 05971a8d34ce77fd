"""Whether two tools printed the same means: `python -m benchmarks.agreement OURS THEIRS`.

A process of its own, because reading results takes memory, and what the measuring process takes
is a floor under every peak that it can see (see `process.py`).
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.tasks import MEASURES

Means = dict[tuple[str, str], float]
"""The mean of each run and measure, both in lower case."""

_SPELLINGS = {measure.lower(): measure for measure in MEASURES}

_TREC_EVAL_NAMES = {
    "map": "ap",
    "P_10": "p@10",
    "ndcg_cut_10": "ndcg@10",
    "ndcg": "ndcg",
    "recip_rank": "rr",
    "recall_100": "r@100",
    "bpref": "bpref",
}


@dataclass(frozen=True)
class Agreement:
    """How two sets of means compare.

    Attributes
    ----------
    compared
        How many means are in both.
    absent
        How many of theirs are not in ours.
    undefined
        How many of theirs or ours are not numbers.
    difference
        The largest absolute difference among the rest, if there are any.
    where
        The run and measure in which it occurs.
    """

    compared: int
    absent: int
    undefined: list[str]
    difference: float | None
    where: str


def compare(ours: Means, theirs: Means) -> Agreement:
    """Compare the means that they have with the same in ours."""
    shared = sorted(theirs.keys() & ours.keys())
    undefined = [key for key in shared if not math.isfinite(ours[key] - theirs[key])]
    differences = {key: abs(ours[key] - theirs[key]) for key in shared if key not in undefined}
    worst = max(differences, key=lambda key: differences[key], default=("", ""))
    return Agreement(
        compared=len(differences),
        absent=len(theirs.keys() - ours.keys()),
        undefined=[_place(key) for key in undefined],
        difference=differences.get(worst),
        where=_place(worst) if differences else "",
    )


def _place(key: tuple[str, str]) -> str:
    run, measure = key
    return f"{_SPELLINGS.get(measure, measure)} of {run}"


def read(path: Path) -> Means:
    """Read what a tool printed: JSON, lines of run, measure and mean, or those of trec_eval."""
    text = path.read_text(encoding="utf-8")
    if text.lstrip().startswith("{"):
        return {(run.lower(), measure.lower()): mean for run, measure, mean in _json(text)}
    fields = [line.split() for line in text.splitlines()]
    if any(len(line) == 3 and line[0] == "runid" for line in fields):
        return _trec_eval(fields)
    return {(run.lower(), measure.lower()): float(mean) for run, measure, mean in fields}


def _trec_eval(fields: list[list[str]]) -> Means:
    means: Means = {}
    run = ""
    for name, _, value in fields:
        if name == "runid":
            run = value.lower()
        elif name in _TREC_EVAL_NAMES:
            means[run, _TREC_EVAL_NAMES[name]] = float(value)
    return means


def _json(text: str) -> Iterator[tuple[str, str, float]]:
    """Read what `cranfield evaluate --format json` writes; null stands for an undefined mean."""
    for run, scores in json.loads(text)["systems"].items():
        for measure, mean in scores["overall"].items():
            yield run, measure, math.nan if mean is None else float(mean)


if __name__ == "__main__":
    print(json.dumps(asdict(compare(read(Path(sys.argv[1])), read(Path(sys.argv[2]))))))
