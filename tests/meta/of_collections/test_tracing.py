"""Judged runs that know their judgments score as others do, also by measures that look there."""

from __future__ import annotations

import numpy as np
import pytest

import cranfield as cf
from cranfield.meta.of_collections.tracing import traced


@pytest.mark.parametrize("measure", ["IAA@5", "EEL@5", "AP"])
def test_rows_know_their_judgments(measure: str) -> None:
    """All judgments, and half of them, against the same judged anew."""
    random = np.random.default_rng(4)
    docs = [f"d{k}" for k in range(20)]
    runs = {
        name: {
            t: {d: float(x) for d, x in zip(random.permutation(docs)[:12], range(12), strict=True)}
            for t in "qr"
        }
        for name in "xy"
    }
    qrels = {t: {d: int(random.choice([0, 1, 2])) for d in docs} for t in "qr"}
    qrels["q"]["d0"] = qrels["r"]["d0"] = 2
    found = traced(runs, qrels)
    fewer = {t: {d: g for d, g in one.items() if int(d[1:]) % 2 == 0} for t, one in qrels.items()}
    kept = found.doc.is_in(sorted(fewer["q"])).to_numpy()
    for judged, anew in ((found.judged, qrels), (found.restricted(kept), fewer)):
        values = cf.score(judged, measure)[measure].values
        assert values.tolist() == cf.evaluate(runs, anew, measure)[measure].values.tolist()
