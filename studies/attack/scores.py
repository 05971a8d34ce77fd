"""Whole evaluations of small random runs, checked number by number by plain loops."""

from __future__ import annotations

import random
from math import fsum, inf, isclose, isnan, log, nan
from pathlib import Path
from typing import Any

import polars as pl

from cranfield.base.errors import CranfieldError, InputError
from cranfield.evaluation.of_runs import evaluate
from studies.attack.work.cases import FindingError, guarded, pick, words
from studies.attack.work.formulas import Formula, ref, some_measure
from studies.attack.work.workers import Cases

Ranked = list[tuple[str, str, str, float]]
"""The lines of a run: topic, document, rank and score, the score as its text says it."""

FIXED = words("0.5 1 1.0 2 1e0 -3 0 -0.0 1.00000001 1.00000002 1e300 2e300 16777217 16777216")
EXTREME = words(
    "1e308 1.7976931348623157e308 -1.7976931348623157e308 5e-324 -5e-324 2.2250738585072014e-308"
    " 1e-320 1e39 3.4028235677973366e38 1e-46 0.0 -0.0 9007199254740993 9007199254740992"
)
NO_SCORES = (inf, -inf, nan)


def some_run(rng: random.Random, topics: list[str]) -> Ranked:
    rows = []
    how = pick(rng, tied=3, any=5, extreme=2)
    for topic in rng.sample(topics, rng.randrange(1, len(topics) + 1)):
        docs = rng.sample(range(16), rng.randrange(1, 17))
        for place, doc in enumerate(docs, 1):
            tied = rng.random() < (0.5 if how == "any" else 0.9)
            pool = EXTREME if how == "extreme" else FIXED
            score = rng.choice(pool) if tied else repr(rng.gauss(0, 1))
            rank = str(place) if rng.random() < 0.9 else rng.choice(("x", "1", "0", "-3"))
            rows.append((topic, f"d{doc}" if doc % 5 else f"é{doc}", rank, score))
    if rng.random() < 0.3:
        rng.shuffle(rows)
    if rng.random() < 0.1:
        rows += [(t, d, r, rng.choice(FIXED)) for t, d, r, _ in rng.choices(rows, k=2)]
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

    if ties == "file":
        return [row[0] for row in rows]
    if ties not in {"rank", "input"}:
        rows = sorted(rows, key=lambda row: row[0].encode(), reverse=ties != "id-ascending")
    return [row[0] for row in sorted(rows, key=key)]


def score_case(rng: random.Random, folder: Path) -> bool:
    """Evaluate runs with some policies, and compare each number with that of plain loops."""
    topics = [
        f"{rng.choice(('', 'q'))}{n}" for n in rng.sample(range(1, 40), rng.choice((1, 3, 6, 25)))
    ]
    names = topics + (["extra"] if rng.random() < 0.4 else [])
    grades = (-2, -1, 0, 0, 1, 1, 2, 3, 4)
    judged = [
        (topic, f"d{d}" if d % 5 else f"é{d}", rng.choice(grades))
        for topic in rng.sample(topics, rng.randrange(1, len(topics) + 1))
        for d in rng.sample(range(20), rng.randrange(1, 15))
    ]
    if rng.random() < 0.05:
        judged += [(t, d, rng.choice(grades)) for t, d, _ in rng.choices(judged, k=2)]
    runs = {f"s{i}": some_run(rng, names) for i in range(rng.choice((1, 1, 2, 3)))}
    odd = rng.random() < 0.02
    if odd:
        rows = rng.choice([*runs.values()])
        at = rng.randrange(len(rows))
        rows[at] = (*rows[at][:3], rng.choice(NO_SCORES))
    chosen: dict[str, Any] = {
        "ties": rng.choice(("trec", "trec_eval-9", "id-ascending", "input", "rank", "file")),
        "topics": rng.choice(("qrels", "intersection", "run")),
        "unjudged": pick(rng, nonrelevant=3, condensed=1),
        "negative": rng.choice(("judged", "unjudged")),
        "depth": rng.choice((None, None, 1, 3, 10)),
        "duplicates": rng.choice(("error", "first", "last", "best")),
    }
    wanted = [some_measure(rng) for _ in range(3)]
    form = pick(rng, dicts=6, tuples=1, frames=1, text=1)
    given = _given(rng, folder, form, runs, judged)
    reproducer = {
        "runs": runs,
        "qrels": judged,
        "form": form,
        **chosen,
        "measures": [text for text, *_ in wanted],
    }
    found = guarded(lambda: evaluate(*given, [m[0] for m in wanted], jobs=1, **chosen), reproducer)
    kept = {name: _kept(rows, chosen["duplicates"]) for name, rows in runs.items()}
    qrels: dict[str, dict[str, int]] = {}
    for topic, doc, _, grade in _kept([(t, d, "", g) for t, d, g in judged], chosen["duplicates"]):
        qrels.setdefault(topic, {})[doc] = int(grade)
    twice = len({row[:2] for row in judged}) < len(judged)
    twice |= any(len({row[:2] for row in rows}) < len(rows) for rows in runs.values())
    common = any(row[0] in qrels for rows in runs.values() for row in rows)
    must = odd or (twice and chosen["duplicates"] == "error")
    no_ranks = form != "text" or any(all(r[2] == "x" for r in rows) for rows in kept.values())
    must |= chosen["ties"] == "rank" and no_ranks
    must |= not common and chosen["topics"] == "intersection"
    if isinstance(found, CranfieldError):
        if must or (isinstance(found, InputError) and not common and chosen["topics"] != "run"):
            return False
        raise FindingError(f"refused: {found}", reproducer, "refused")
    if must:
        raise FindingError("accepted what has no answer", reproducer, "accepted")
    for text, formula, condensed in wanted:
        right = expected(kept, qrels, chosen, formula, condensed, text.startswith("infAP"))
        check(found[text], right, text, reproducer)
    return True


def _kept(rows: Ranked, duplicates: str) -> Ranked:
    """Keep one of the lines of a document in a topic, where it stands."""
    chosen: dict[tuple[str, str], int] = {}
    for place, row in enumerate(rows):
        before = chosen.get(row[:2])
        better = before is None or duplicates == "last"
        if better or (duplicates == "best" and row[3] > rows[before or 0][3]):
            chosen[row[:2]] = place
    return [rows[place] for place in sorted(chosen.values())]


def _given(rng: random.Random, folder: Path, form: str, runs: Any, judged: Any) -> tuple[Any, Any]:
    """Give runs and judgments as data in memory, or as text."""
    if form == "text":
        (folder / "qrels").write_bytes(ugly(rng, [[t, "0", d, str(g)] for t, d, g in judged]))
        for name, rows in runs.items():
            made = [[t, "Q0", d, rank, repr(score), name] for t, d, rank, score in rows]
            (folder / name).write_bytes(ugly(rng, made))
        return [str(folder / name) for name in runs], str(folder / "qrels")
    if form == "frames":
        columns = {"topic": pl.String, "doc": pl.String, "rank": pl.String, "score": pl.Float64}
        frames = {
            name: pl.DataFrame(rows, schema=columns, orient="row").drop("rank")
            for name, rows in runs.items()
        }
        return frames, pl.DataFrame(judged, schema=["topic", "doc", "grade"], orient="row")
    lists = {name: [(t, d, score) for t, d, _, score in rows] for name, rows in runs.items()}
    if form == "dicts" and len({row[:2] for row in judged}) == len(judged):
        dicts = {name: _nested(rows) for name, rows in lists.items()}
        if all(len(rows) == sum(map(len, dicts[name].values())) for name, rows in lists.items()):
            return dicts, _nested(judged)
    return lists, judged


def _nested(rows: list[tuple[str, str, Any]]) -> dict[str, dict[str, Any]]:
    made: dict[str, dict[str, Any]] = {}
    for topic, doc, value in rows:
        made.setdefault(topic, {})[doc] = value
    return made


def expected(
    runs: dict[str, Ranked],
    qrels: dict[str, dict[str, int]],
    chosen: dict[str, Any],
    formula: Formula,
    condensed: bool,
    pooled: bool,
) -> dict[tuple[str, str], float]:
    """Score each (topic, system) that counts."""
    highest = max(0, 0, *(grade for docs in qrels.values() for grade in docs.values()))
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
