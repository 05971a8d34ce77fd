"""The whole log of the TREC 2013 Session track, read and scored by brute force beside it."""

from __future__ import annotations

import gzip
import time
import xml.etree.ElementTree as ET
from math import log
from pathlib import Path

import pytest

import cranfield as cf
from cranfield import evaluate_sessions
from cranfield.sessions import read_sessions


@pytest.fixture
def track(shared: Path) -> Path:
    folder = shared / "trec-session-2013"
    if not folder.is_dir():
        pytest.skip("the data of the TREC 2013 Session track are not here (set CRANFIELD_DATA)")
    return folder


def test_whole_log(track: Path) -> None:
    path, judgments = track / "sessiontrack2013.xml.gz", track / "qrels.txt.gz"
    sessions = read_sessions(path, topics=track / "sessiontopicmap.txt.gz")
    counts = sessions.counts
    assert (counts.sessions, counts.queries, counts.clicks) == (133, 401, 586)
    assert (counts.results, counts.repeated, counts.empty_lists) == (4449, 1171, 2)
    assert sum(text is not None for text in sessions.current) == 87
    qrels = cf.read_qrels(judgments)
    measures = ["sDCG", "nsDCG", "sDCG(variant='jarvelin')", "ClickU(length=8000)", "AP"]
    evaluate_sessions(sessions, qrels, measures)
    start = time.perf_counter()
    ev = evaluate_sessions(sessions, qrels, measures)
    assert time.perf_counter() - start < 1
    assert len(ev["sDCG"].topics) == 116

    grades: dict[str, dict[str, int]] = {}
    for line in gzip.decompress(judgments.read_bytes()).decode().splitlines():
        topic, _, doc, grade = line.split()
        grades.setdefault(topic, {})[doc] = int(grade)
    for session in ET.fromstring(gzip.decompress(path.read_bytes())).iter("session"):
        topic, name = session.find("topic").attrib["num"], session.attrib["num"]  # type: ignore[union-attr]
        if topic not in grades:
            assert name not in ev["sDCG"].topics
            continue
        seen: set[str] = set()
        sdcg = original = u = pos = 0.0
        r = 0
        for q, shown in enumerate(session.iter("interaction"), 1):
            j = 0
            for result in shown.iter("result"):
                doc = result.findtext("clueweb12id") or ""
                if doc in seen:
                    continue
                seen.add(doc)
                r, j = r + 1, j + 1
                gain = max(grades[topic].get(doc, 0), 0)
                sdcg += gain / (log(q + 3, 4) * log(r + 1, 2))
                original += gain / ((1 + log(q, 4)) * (1 + log(j, 2)))
            done = 0
            for click in shown.iter("click"):
                rank = int(click.findtext("rank") or 0)
                pos += 200 * max(0, rank - done) + 0.2 * 8000
                done = max(done, rank)
                u += 0.5 * max(0.0, 1 - pos / 132_000)
        best = sorted((g for g in grades[topic].values() if g > 0), reverse=True)
        ideal = sum(gain / log(i + 2, 2) for i, gain in enumerate(best))
        here = ev["sDCG"].topics.index(name)
        wanted = [sdcg, sdcg / ideal, original, u]
        for measure, value in zip(measures, wanted, strict=False):
            assert ev[measure].values[here, 0] == pytest.approx(value), (name, measure)
