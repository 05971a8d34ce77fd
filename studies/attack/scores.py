"""Whole evaluations of small random runs, checked number by number by plain loops."""

from __future__ import annotations

import random
from math import fsum, inf, isclose, isnan, log
from pathlib import Path
from typing import Any

from cranfield.base.errors import CranfieldError, InputError
from cranfield.evaluation.of_runs import evaluate
from studies.attack.work.cases import FindingError, guarded, pick
from studies.attack.work.formulas import Formula, ref, some_measure
from studies.attack.work.workers import Cases

Ranked = list[tuple[str, str, str, float]]
"""The lines of a run: topic, document, rank and score, the score as its text says it."""

FIXED = (
    "0.5",
    "1",
    "1.0",
    "2",
    "1e0",
    "-3",
    "0",
    "-0.0",
    "1.00000001",
    "1.00000002",
    "1e300",
    "2e300",
)


def some_run(rng: random.Random, topics: list[str]) -> Ranked:
    rows = []
    for topic in rng.sample(topics, rng.randrange(1, len(topics) + 1)):
        docs = rng.sample(range(16), rng.randrange(1, 17))
        for place, doc in enumerate(docs, 1):
            score = rng.choice(FIXED) if rng.random() < 0.5 else repr(rng.gauss(0, 1))
            rank = str(place) if rng.random() < 0.9 else rng.choice(("x", "1", "0", "-3"))
            rows.append((topic, f"d{doc}" if doc % 5 else f"é{doc}", rank, score))
    if rng.random() < 0.3:
        rng.shuffle(rows)
    return [(topic, doc, rank, float(score)) for topic, doc, rank, score in rows]


def ugly(rng: random.Random, lines: list[list[str]]) -> bytes:
    """Write the fields as text that is valid, but never pretty."""
    blank = rng.choice((" ", "\t", "  ", " \t", "\v", "\f "))
    end = rng.choice(("\n", "\r\n", "\n\n", "\r"))
    made = [blank.join(fields) + rng.choice(("", "", blank)) for fields in lines]
    for _ in range(rng.randrange(3)):
        made.insert(rng.randrange(len(made) + 1), rng.choice(("# note", "", "  ", "\t#")))
    text = end.join(made) + rng.choice(("", end))
    return rng.choice((b"", b"", b"\xef\xbb\xbf")) + text.encode()


def order(rows: list[tuple[str, str, float]], ties: str) -> list[str]:
    """Rank the (document, rank, score) of one topic by loops and sorts of its own."""

    def key(row: tuple[str, str, float]) -> float:
        if ties == "rank":
            return int(row[1]) if row[1] != "x" else 0
        return -ref.float32(row[2]) if ties == "trec_eval-9" else -row[2]

    if ties not in {"rank", "input"}:
        rows = sorted(rows, key=lambda row: row[0].encode(), reverse=ties != "id-ascending")
    return [row[0] for row in sorted(rows, key=key)]


def score_case(rng: random.Random, folder: Path) -> bool:
    topics = [
        f"{rng.choice(('', 'q'))}{n}" for n in rng.sample(range(1, 30), rng.choice((1, 3, 6)))
    ]
    names = topics + (["extra"] if rng.random() < 0.4 else [])
    grades = (-2, -1, 0, 0, 1, 1, 2, 3, 4)
    qrels = {
        topic: {
            f"d{d}" if d % 5 else f"é{d}": rng.choice(grades) for d in rng.sample(range(20), size)
        }
        for topic in rng.sample(topics, rng.randrange(1, len(topics) + 1))
        for size in [rng.randrange(1, 15)]
    }
    runs = {f"s{i}": some_run(rng, names) for i in range(rng.choice((1, 1, 2, 3)))}
    chosen: dict[str, Any] = {
        "ties": rng.choice(("trec", "trec_eval-9", "id-ascending", "input", "rank")),
        "topics": rng.choice(("qrels", "intersection", "run")),
        "unjudged": pick(rng, nonrelevant=3, condensed=1),
        "negative": rng.choice(("judged", "unjudged")),
        "depth": rng.choice((None, None, 1, 3, 10)),
    }
    wanted = [some_measure(rng) for _ in range(3)]
    lines = [[t, "0", d, str(g)] for t, docs in qrels.items() for d, g in docs.items()]
    (folder / "qrels").write_bytes(ugly(rng, lines))
    for name, rows in runs.items():
        made = [[t, "Q0", d, rank, repr(score), name] for t, d, rank, score in rows]
        (folder / name).write_bytes(ugly(rng, made))
    paths = [str(folder / name) for name in runs]
    reproducer = {"runs": runs, "qrels": qrels, **chosen, "measures": [text for text, *_ in wanted]}
    if chosen["ties"] == "rank" and any(all(r[2] == "x" for r in rows) for rows in runs.values()):
        return False
    found = guarded(
        lambda: evaluate(paths, str(folder / "qrels"), [m[0] for m in wanted], jobs=1, **chosen),
        reproducer,
    )
    common = any(row[0] in qrels for rows in runs.values() for row in rows)
    if isinstance(found, CranfieldError):
        if isinstance(found, InputError) and not common and chosen["topics"] != "run":
            return False
        raise FindingError(f"refused: {found}", reproducer, "refused")
    for text, formula, condensed in wanted:
        right = expected(runs, qrels, chosen, formula, condensed, text.startswith("infAP"))
        check(found[text], right, text, reproducer)
    return True


def expected(
    runs: dict[str, Ranked],
    qrels: dict[str, dict[str, int]],
    chosen: dict[str, Any],
    formula: Formula,
    condensed: bool,
    pooled: bool,
) -> dict[tuple[str, str], float]:
    """Score each (topic, system) that counts."""
    highest = max(0, *(grade for docs in qrels.values() for grade in docs.values()))
    low = 0 if chosen["negative"] == "unjudged" else -inf
    out = {}
    for name, rows in runs.items():
        by_topic: dict[str, list[tuple[str, str, float]]] = {}
        for topic, doc, rank, score in rows:
            by_topic.setdefault(topic, []).append((doc, rank, score))
        topics = {"qrels": set(qrels), "run": set(by_topic)}.get(
            chosen["topics"], set(qrels) & set(by_topic)
        )
        for topic in topics:
            docs = order(by_topic.get(topic, []), chosen["ties"])[: chosen["depth"]]
            marks = [qrels.get(topic, {}).get(doc) for doc in docs]
            if condensed or chosen["unjudged"] == "condensed":
                marks = [mark for mark in marks if mark is not None and mark >= low]
            if not pooled:
                # Only infAP looks at what is in the pool and has no judgment.
                marks = [mark if mark is not None and mark >= low else None for mark in marks]
            known = [grade for grade in qrels.get(topic, {}).values() if grade >= low]
            out[topic, name] = formula(marks, known, highest)
    return out


def check(scores: Any, right: dict[tuple[str, str], float], text: str, reproducer: object) -> None:
    name = text.partition("(")[0].partition("@")[0]
    for s, system in enumerate(scores.systems):
        for t, topic in enumerate(scores.topics):
            value, wanted = float(scores.values[t, s]), right.get((topic, system))
            if wanted is None:
                if not isnan(value):
                    raise FindingError(
                        f"{text} {topic} {system}: {value}, not NaN", reproducer, "not NaN"
                    )
            elif not isclose(value, wanted, rel_tol=1e-12, abs_tol=1e-12):
                raise FindingError(
                    f"{text} of topic {topic}, system {system}: {value!r}, not {wanted!r}",
                    reproducer,
                    f"wrong number: {name}",
                )
        values = [value for (_, one), value in right.items() if one == system]
        if {topic for topic, one in right if one == system} - set(scores.topics):
            raise FindingError(f"{text}: a topic of {system} is lost", reproducer, "lost topic")
        total = float(scores.overall()[s])
        if values and scores.aggregate == "geometric":
            logs = [log(max(value, 1e-5)) for value in values]
            good = isclose(log(total), fsum(logs) / len(logs), rel_tol=1e-9, abs_tol=1e-9)
        else:
            divisor = len(values) if scores.aggregate == "mean" else 1
            good = (
                isclose(total, fsum(values) / divisor, rel_tol=1e-9, abs_tol=1e-9)
                if values
                else isnan(total)
            )
        if not good:
            raise FindingError(
                f"{text} of {system} is {total} overall", reproducer, f"overall: {name}"
            )


attack = Cases("scores", score_case)
