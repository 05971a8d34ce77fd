"""Whole evaluations of small random runs, checked number by number by plain loops."""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable
from math import fsum, inf, isclose, isnan, log
from pathlib import Path
from typing import Any

from cranfield.errors import CranfieldError, InputError
from cranfield.evaluation import evaluate
from studies.fuzz_base import Failure, guarded, pick

ref: Any = importlib.import_module("tests.reference")

Ranking = list[int | None]
Formula = Callable[[Ranking, list[int], int], float]
"""From the ranking, the grades of the topic, and the highest grade of all judgments."""
Ranked = list[tuple[str, str, str, float]]
"""The lines of a run: topic, document, rank and score, the score as its text says it."""

FIXED = ("0.5", "1", "1.0", "2", "1e0", "-3", "0", "-0.0", "1.00000001", "1.00000002", "1e300", "2e300")
EASY = "SetP SetR SetRelP SetAP NumRelRet NumNonrelRet infAP binG RR Success".split()
EASY_OF = {"SetP": "set_precision", "SetR": "set_recall", "SetRelP": "set_rel_precision"}
EASY_OF |= {"SetAP": "set_ap", "NumRelRet": "num_rel_ret", "NumNonrelRet": "num_nonrel_judged_ret"}
EASY_OF |= {"infAP": "inf_ap", "binG": "bin_g", "RR": "rr", "Success": "success"}


def some_measure(rng: random.Random) -> tuple[str, Formula, bool]:
    """Choose a measure: its text, its formula, whether on condensed lists."""
    k: int | None = rng.choice((1, 2, 3, 5, 10, 100))
    rel = rng.choice((1, 1, 1, 0, 2, 3))
    name = rng.choice((*EASY, *"P R RelP AP Rprec IPrec AP11 Bpref nDCG DCG nDCGrel".split(),
                       *"RnDCG G RBP RBPResidual ERR nERR SetF SetE Utility NumRet NumRel".split(),
                       *"NumQ Judged Unjudged GMAP GMBpref".split()))  # fmt: skip
    required = {"P", "R", "RelP", "IPrec", "Unjudged", "Success"}
    if name in {"IPrec", "Rprec", "NumQ", "NumRel"} or (name not in required and rng.random() < 0.5):
        k = None
    params: dict[str, Any] = {} if rel == 1 else {"rel": rel}
    make = _MAKERS.get(name, _easy)
    formula, at = make(rng, name, k, rel, params)
    condensed = rng.random() < 0.2
    if condensed:
        params["judged_only"] = True
    inside = ", ".join(f"{key}={value!r}" for key, value in params.items())
    text = name + (f"({inside})" if inside else "") + ("" if at is None else f"@{at}")

    def cut(ranking: Ranking, grades: list[int], highest: int) -> float:
        return float(formula(ref.top(ranking, k), grades, highest))

    return text, cut, condensed


def _easy(rng: random.Random, name: str, k: int | None, rel: int, params: dict[str, Any]) -> Any:
    function = getattr(ref, EASY_OF[name])
    return (lambda r, g, h: function(r, g, rel=rel)), k


def _cutoff(rng: random.Random, name: str, k: int | None, rel: int, params: dict[str, Any]) -> Any:
    function = getattr(ref, {"P": "precision", "R": "recall", "RelP": "rel_precision"}[name])
    return (lambda r, g, h: function(r, g, k=k, rel=rel)), k


def _ap(rng: random.Random, name: str, k: int | None, rel: int, params: dict[str, Any]) -> Any:
    params["denominator"] = rng.choice(("R", "min"))
    return (lambda r, g, h: ref.ap(r, g, k=k, rel=rel, denominator=params["denominator"])), k


def _rprec(rng: random.Random, name: str, k: int | None, rel: int, params: dict[str, Any]) -> Any:
    multiple = rng.choice((1.0, 0.2, 0.6, 1.4, 2.0, rng.random() * 3 + 1e-3))
    params["multiple"] = multiple
    return (lambda r, g, h: ref.rprec(r, g, multiple=multiple, rel=rel)), None


def _iprec(rng: random.Random, name: str, k: int | None, rel: int, params: dict[str, Any]) -> Any:
    params["rounding"] = how = rng.choice(("up", "trec_eval-9", "trec_eval-10"))
    if name == "AP11":
        return (lambda r, g, h: ref.ap11(r, g, rounding=how, rel=rel)), k
    level = rng.choice((rng.randrange(11) / 10, rng.randrange(101) / 100, rng.random(), 0.5000000001))
    return (lambda r, g, h: ref.iprec(r, g, recall=level, rounding=how, rel=rel)), level


def _bpref(rng: random.Random, name: str, k: int | None, rel: int, params: dict[str, Any]) -> Any:
    params["form"] = form = rng.choice(("trec_eval", "R", "N"))
    return (lambda r, g, h: ref.bpref(r, g, form=form, rel=rel)), k


def _gains(rng: random.Random, params: dict[str, Any]) -> Callable[[int], float]:
    how = rng.choice(("linear", "exponential", "mapping"))
    if how == "mapping":
        table = {grade: rng.choice((0, 0.5, 1, 2.25, 7)) for grade in rng.sample(range(5), 3)}
        params["gains"] = table
        return lambda grade: float(table.get(grade, grade))
    params["gains"] = how
    return float if how == "linear" else lambda grade: 2.0**grade - 1


def _dcg(rng: random.Random, name: str, k: int | None, rel: int, params: dict[str, Any]) -> Any:
    params.pop("rel", None)
    gain = _gains(rng, params)
    base = rng.choice((2, 10, 3, 2.5))
    form = rng.choice(("log{}(rank+1)", "max(1,log{}(rank))", "1+log{}(rank)"))
    params["discount"] = form.format(base)
    discount: Callable[[int], float] = {
        "log{}(rank+1)": lambda rank: log(rank + 1) / log(base),
        "max(1,log{}(rank))": ref.max_log_discount(base),
        "1+log{}(rank)": ref.one_plus_log_discount(base),
    }[form]
    if name == "DCG":
        return (lambda r, g, h: ref.dcg(r, g, gain=gain, discount=discount)), k
    params["ideal"] = ideal = rng.choice(("cut", "full"))
    return (lambda r, g, h: ref.ndcg(r, g, k=k, gain=gain, discount=discount, ideal=ideal)), k


def _gained(rng: random.Random, name: str, k: int | None, rel: int, params: dict[str, Any]) -> Any:
    params.pop("rel", None)
    gain = _gains(rng, params)
    function = {"nDCGrel": ref.ndcg_rel, "RnDCG": ref.rndcg, "G": ref.big_g}[name]
    return (lambda r, g, h: function(r, g, gain=gain)), k


def _rbp(rng: random.Random, name: str, k: int | None, rel: int, params: dict[str, Any]) -> Any:
    params["p"] = p = rng.choice((0.5, 0.8, 0.95, rng.uniform(0.01, 0.99)))
    if name == "RBPResidual":
        params.pop("rel", None)
        params["part"] = part = rng.choice(("tail", "unjudged", "total"))
        return (lambda r, g, h: ref.rbp_residual(r, g, p=p, part=part)), k
    if rng.random() < 0.5:
        return (lambda r, g, h: ref.rbp(r, g, p=p, gain=lambda x: float(x >= rel))), k
    params["gains"] = "graded"
    return (lambda r, g, h: ref.rbp(r, g, p=p, gain=lambda x: x / max(h, 1))), k


def _err(rng: random.Random, name: str, k: int | None, rel: int, params: dict[str, Any]) -> Any:
    params.pop("rel", None)
    fixed = rng.choice((None, None, 5, 12))
    if fixed:
        params["max_grade"] = fixed
    function = ref.err if name == "ERR" else ref.nerr
    return (lambda r, g, h: function(r, g, max_grade=fixed or max(h, 1), k=k)), k


def _set_f(rng: random.Random, name: str, k: int | None, rel: int, params: dict[str, Any]) -> Any:
    params["beta"] = beta = rng.choice((0, 0.5, 1, 2, 3.7))
    function = ref.set_f if name == "SetF" else ref.set_e
    return (lambda r, g, h: function(r, g, beta=beta, rel=rel)), k


def _utility(rng: random.Random, name: str, k: int | None, rel: int, params: dict[str, Any]) -> Any:
    prices = {letter: rng.choice((-2.5, -1, 0, 1, 3)) for letter in "abcd"} | {"docs": 1000}
    params |= prices
    return (lambda r, g, h: ref.utility(r, g, rel=rel, **prices)), k


def _count(rng: random.Random, name: str, k: int | None, rel: int, params: dict[str, Any]) -> Any:
    if name == "NumRel":
        return (lambda r, g, h: ref.num_rel(r, g, rel=rel)), None
    params.pop("rel", None)
    if name == "Unjudged":
        return (lambda r, g, h: ref.unjudged_at(r, g, k=k)), k
    function = {"NumRet": ref.num_ret, "NumQ": lambda r, g: 1, "Judged": ref.judged_at}[name]
    return (lambda r, g, h: function(r, g)), k


_MAKERS: dict[str, Any] = dict.fromkeys(("P", "R", "RelP"), _cutoff)
_MAKERS |= {"AP": _ap, "GMAP": _ap, "Rprec": _rprec, "IPrec": _iprec, "AP11": _iprec}
_MAKERS |= {"Bpref": _bpref, "GMBpref": _bpref, "DCG": _dcg, "nDCG": _dcg, "RBP": _rbp}
_MAKERS |= dict.fromkeys(("nDCGrel", "RnDCG", "G"), _gained)
_MAKERS |= {"RBPResidual": _rbp, "ERR": _err, "nERR": _err, "SetF": _set_f, "SetE": _set_f}
_MAKERS |= {"Utility": _utility} | dict.fromkeys(("NumRet", "NumRel", "NumQ", "Judged", "Unjudged"), _count)


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
    topics = [f"{rng.choice(('', 'q'))}{n}" for n in rng.sample(range(1, 30), rng.choice((1, 3, 6)))]
    names = topics + (["extra"] if rng.random() < 0.4 else [])
    grades = (-2, -1, 0, 0, 1, 1, 2, 3, 4)
    qrels = {
        topic: {f"d{d}" if d % 5 else f"é{d}": rng.choice(grades) for d in rng.sample(range(20), size)}
        for topic in rng.sample(topics, rng.randrange(1, len(topics) + 1))
        for size in [rng.randrange(1, 15)]
    }
    runs = {f"s{i}": some_run(rng, names) for i in range(rng.choice((1, 1, 2, 3)))}
    chosen = {
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
        raise Failure(f"refused: {found}", reproducer, "refused")
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
                    raise Failure(f"{text} {topic} {system}: {value}, not NaN", reproducer, "not NaN")
            elif not isclose(value, wanted, rel_tol=1e-12, abs_tol=1e-12):
                raise Failure(
                    f"{text} of topic {topic}, system {system}: {value!r}, not {wanted!r}",
                    reproducer,
                    f"wrong number: {name}",
                )
        values = [value for (_, one), value in right.items() if one == system]
        if {topic for topic, one in right if one == system} - set(scores.topics):
            raise Failure(f"{text}: a topic of {system} is lost", reproducer, "lost topic")
        total = float(scores.overall()[s])
        if values and scores.aggregate == "geometric":
            logs = [log(max(value, 1e-5)) for value in values]
            good = isclose(log(total), fsum(logs) / len(logs), rel_tol=1e-9, abs_tol=1e-9)
        else:
            divisor = len(values) if scores.aggregate == "mean" else 1
            good = isclose(total, fsum(values) / divisor, rel_tol=1e-9, abs_tol=1e-9) if values else isnan(total)
        if not good:
            raise Failure(f"{text} of {system} is {total} overall", reproducer, f"overall: {name}")
