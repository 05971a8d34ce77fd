"""Scales: of every measure on short runs, images, orders, meanings, and what scales admit."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import cranfield as cf
from cranfield import scales, significance
from docs.measure_properties.properties import catalogue
from studies.behaviour.recording import Item
from studies.behaviour.samples import few, generated, real

FORMS = (
    *("RBP(p=0.5)", "RBP(p=0.3)", "RBP(p=0.8)", "AP", "AP(denominator='min')", "nDCG", "DCG", "P"),
    *(
        "R",
        "RR",
        "ERR",
        "Q",
        "nDCG(gains='exponential')",
        "DCG(discount='max(1,log10(rank))')",
        "Success",
    ),
    *("gP", "gR", "Rprec", "Bpref", "SetF", "INST", "INSQ", "GAP", "nERR", "interval(RR@3)"),
)

SHAPES = ((3, 1), (4, 1), (5, 1), (3, 2), (4, 3))


def items() -> Iterator[Item]:
    """Yield the scale of every measure, then what is said of orders and of statements."""
    for name, measure in catalogue().items():
        if measure is None:
            continue
        for length, grades in ((3, 1), (4, 1), (3, 2)):
            of = f"{name} {length} {grades}"
            # A cutoff that the measure came with is what its scale is asked at.
            given = measure @ length if measure.cutoff is not None else measure
            yield f"scale/of {of}", partial(scales.scale_of, given, length, grades)
            yield f"scale/image {of}", partial(scales.image, given, length, grades)
        yield f"scale/interval {name}", partial(_interval, measure)
    for text in FORMS:
        for length, grades in SHAPES:
            yield f"scale/form {text} {length} {grades}", partial(_form, text, length, grades)
        yield f"scale/few relevant {text}", partial(scales.scale_of, text, 4, 1, judgments=2)
        yield f"scale/over topics {text}", partial(scales.scale_over_topics, text, 4, 2)
        for judgments in (2, [2, 1], [1, 1, 1]):
            yield (
                f"scale/image {text} {judgments}",
                partial(scales.image, text, 4, 2, judgments=judgments),
            )
        yield f"scale/at most {text}", partial(scales.image, text, 4, 1, at_most=2)
        for ties in ("unique", "mid", "max", "min", "nope"):
            for raw in (False, True):
                yield f"interval/{text} {ties} {raw}", partial(_mapped, text, ties, raw)
        yield f"interval/{text} feasible", partial(_mapped, text, "unique", False, feasible=True)
    yield from _long()
    yield from _refused()
    yield from _orders()
    yield from _admitted()
    yield from _meanings()


def _form(text: str, length: int, grades: int) -> Any:
    runs = scales.all_runs(length, grades)
    return (
        scales.image(text, length, grades).values(),
        scales.score_runs(text, runs, grades=grades),
        scales.induced_order(text, runs, grades),
        repr(scales.scale_of(text, length, grades)),
        str(scales.scale_of(text, length, grades)),
    )


def _interval(measure: Any) -> Any:
    given = measure @ 3 if measure.cutoff is None and measure.takes_cutoff() else measure
    mapped = cf.interval(given)
    return str(mapped), mapped.info.summary, scales.score_runs(mapped, scales.all_runs(3, 1))


def _mapped(text: str, ties: str, raw: bool, *, feasible: bool = False) -> Any:
    measure = cf.parse_measures(f"{text}@3" if "@" not in text else text)[0]
    mapped = cf.interval(measure, ties=ties, raw=raw, feasible=feasible)
    scores = cf.evaluate(["bm25.run", "dense.run"], "qrels.txt", mapped)
    return str(mapped), [(one.values, one.scale) for one in scores.values()]


def _long() -> Iterator[Item]:
    """Yield images of runs so long that their values are counted in other ways than one by one."""
    for text, length, grades in (
        *(("RBP(p=0.8)", 14, 1), ("RBP(p=0.8)", 24, 1), ("RBP(p=0.8)", 40, 1), ("DCG", 14, 1)),
        *(("DCG", 22, 1), ("DCG", 30, 1), ("DCG", 60, 1), ("nDCG", 100, 1), ("nDCG", 12, 2)),
        *(("AP", 10, 1), ("AP", 13, 1), ("RR", 100, 1), ("P", 100, 1), ("P", 1000, 1)),
        *(
            ("ERR", 8, 1),
            ("ERR", 6, 2),
            ("R", 50, 1),
            ("Q", 9, 1),
            ("nDCG(gains='exponential')", 9, 3),
        ),
        *(("RBP(p=0.5)", 50, 1), ("INST", 8, 1), ("SDCG", 20, 1), ("Bpref", 5, 1)),
    ):
        of = f"{text} {length} {grades}"
        yield f"long/image {of}", partial(_summary, text, length, grades)
        yield f"long/scale {of}", partial(_verdict, text, length, grades)
        if grades == 1:
            yield f"long/interval {of}", partial(_mapped_real, f"{text}@{length}")


def _summary(text: str, length: int, grades: int) -> Any:
    """Ask an image for what it knows without listing all its values."""
    found = scales.image(text, length, grades)
    runs = np.random.default_rng(3).integers(0, grades + 1, (9, length))
    scores = scales.score_runs(text, runs, grades=grades)
    told: list[Any] = [repr(found), found.find_gaps(), scores]
    for name in ("size", "error", "is_exact", "is_approximate"):
        told.append(getattr(found, name, None))
    for ask in (lambda: found.rank(scores), lambda: found.values()[:50]):
        try:
            told.append(ask())
        except cf.CranfieldError as error:
            told.append(str(error))
    return told


def _verdict(text: str, length: int, grades: int) -> Any:
    found = scales.scale_of(text, length, grades)
    return repr(found), str(found), found.own, found.set_based, found.rank_based


def _mapped_real(text: str) -> Any:
    """Map the scores of real runs, of which the first two are enough."""
    covid = cf.bundled.trec_covid()
    mapped = cf.interval(text)
    found = cf.evaluate(few()[:2], covid.qrels, mapped)
    return str(mapped), [one.values for one in found.values()]


def _refused() -> Iterator[Item]:
    for name, call in {
        "no length": lambda: scales.scale_of("AP"),
        "length 0": lambda: scales.scale_of("P@3", 0),
        "grades 0": lambda: scales.scale_of("P@3", 3, 0),
        "cutoff": lambda: scales.scale_of("P@5", 3),
        "name": lambda: scales.scale_of("nope", 3),
        "long": lambda: scales.scale_of("AP", 100),
        "image long": lambda: scales.image("AP", 60),
        "memory": lambda: scales.image("AP", 12, memory=10),
        "count": lambda: scales.scale_of("NumQ", 3),
        "interval of interval": lambda: cf.interval(cf.interval("RR@3")),
        "interval without cutoff": lambda: cf.interval("AP"),
        "judgments": lambda: scales.image("P@3", 3, 1, judgments=[-1]),
        "runs": lambda: scales.score_runs("P@3", [[0, 1], [1]]),
        "grade of a run": lambda: scales.sbto([[0, 5]], 1),
        "ranks": lambda: scales.sbto_runs([99], 2, 1),
    }.items():
        yield f"scale/refused {name}", call


def _orders() -> Iterator[Item]:
    for length, grades in ((1, 1), (3, 1), (4, 1), (3, 2), (2, 3), (0, 1), (2, 0)):
        of = f"{length} {grades}"
        yield f"orders/runs {of}", partial(scales.all_runs, length, grades)
        yield f"orders/levels {of}", partial(scales.levels, length, grades)
        yield f"orders/covers {of}", partial(scales.covers, length, grades)
        yield (
            f"orders/ranks {of}",
            lambda: [
                (
                    order(scales.all_runs(length, grades), grades),
                    back(np.arange(4), length, grades),
                )
                for order, back in (
                    (scales.sbto, scales.sbto_runs),
                    (scales.rbto, scales.rbto_runs),
                )
            ],
        )
        yield (
            f"orders/matrix {of}",
            lambda: scales.order_matrix(scales.all_runs(length, grades), grades),
        )
    yield "orders/below", lambda: scales.is_at_or_below([[0, 0, 1]], [[1, 0, 0]])
    yield "orders/long", lambda: scales.rbto([[1] * 70, [0] * 69 + [1]], 1)
    yield "orders/distance", lambda: scales.natural_distance(scales.sbto(scales.all_runs(3, 1)))
    for given in ([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 1.5, 4.0], [1.0, 1.0], [], "x"):
        yield f"orders/differences {given}", partial(scales.difference_axioms, given)
    distances = [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    yield "orders/difference table", partial(scales.difference_axioms, distances)


def _admitted() -> Iterator[Item]:
    for scale in (*cf.Scale, "interval", "Ordinal", "nope", 3):
        yield (
            f"admitted/{scale!r}",
            lambda: (
                scales.admitted_statistics(scale),
                scales.admitted_tests(scale),
            ),
        )
    statistics = scales.admitted_statistics(cf.Scale.RATIO)
    for what in (*statistics, *significance.TESTS, "nope", "MEAN", "std", ""):
        yield (
            f"admitted/of {what}",
            lambda: (
                scales.required_scale(what),
                [scales.admits(scale, what) for scale in cf.Scale],
            ),
        )


def _meanings() -> Iterator[Item]:
    for name, make in (("real", real), ("generated", generated)):
        for test in ("t", "sign", "anova-2", "friedman"):
            yield f"meaning/{name} {test}", lambda: cf.meaningfulness(cf.compare(make(), test=test))
        yield f"meaning/dominance {name}", lambda: scales.dominance(make(), [0, 1, 2], [1, 2, 0])
    for measure in ("P@10", "interval(RR@5)", "NumRelRet", "RBP(p=0.5)@5", "AP", "RBPResidual"):
        yield (
            f"meaning/of {measure}",
            lambda: [
                cf.meaningfulness(cf.compare(one, test="t"))
                for one in cf.evaluate(["bm25.run", "dense.run"], "qrels.txt", measure).values()
            ],
        )
    yield "meaning/refused", lambda: cf.meaningfulness(real())
