"""Judged runs that know their judgments score as others do, also by measures that look there."""

from __future__ import annotations

import numpy as np
import pytest

import cranfield as cf
from cranfield.evaluation.evaluation import tie_effects
from cranfield.meta.collection_studies.pools import trace_runs


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
    found = trace_runs(runs, qrels)
    fewer = {t: {d: g for d, g in one.items() if int(d[1:]) % 2 == 0} for t, one in qrels.items()}
    kept = found.doc.is_in(sorted(fewer["q"])).to_numpy()
    for judged, anew in ((found.judged, qrels), (found.restrict(kept), fewer)):
        values = cf.score(judged, measure)[measure].values
        assert values.tolist() == cf.evaluate(runs, anew, measure)[measure].values.tolist()


def test_ties_have_grades() -> None:
    """Ties move scores of trace_runs runs as they move those of the same runs judged as usual."""
    docs = [f"d{k}" for k in range(8)]
    runs = {"x": {"q": dict.fromkeys(docs, 1.0), "r": dict.fromkeys(docs[2:], 2.0)}}
    qrels = {"q": {d: k % 4 - 1 for k, d in enumerate(docs)}, "r": dict.fromkeys(docs, 1)}
    usual = cf.evaluate(runs, qrels, ["ERR@3", "AP"])
    judged = trace_runs(runs, qrels).judged
    effects = tie_effects(judged, cf.score(judged, ["ERR@3", "AP"]))
    assert effects == tie_effects(usual.judged, usual.scores)
    # The best order on q begins with grades 2, 2, 1 and the worst with -1, -1, 0; r has one grade.
    best = 3 / 4 + 1 / 4 * 3 / 4 / 2 + 1 / 16 * 1 / 4 / 3
    assert effects[0].effect == pytest.approx(best / 2)
