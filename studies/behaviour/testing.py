"""Significance: every test with every correction that goes with it, and what surrounds tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import cranfield as cf
from cranfield import significance
from studies.behaviour.recording import Item
from studies.behaviour.samples import evaluated, generated, given, real, sharded, sharded_with_gaps

MATRICES: dict[str, Callable[[], Any]] = {
    "real": real,
    "generated": generated,
    "missing": partial(generated, 3),
    "two": partial(generated, 0, 2),
    "shards": lambda: sharded()["nDCG@20"],
    "gaps": sharded_with_gaps,
}

FAST: dict[str, Any] = {"resamples": 100, "seed": 7}


def items() -> Iterator[Item]:
    """Yield tests, their options and refusals, and the functions around them."""
    for name, test in significance.TESTS.items():
        yield f"tests/declared {name}", partial(vars, test.info)
        yield from _of_test(name, test.info)
    yield "tests/corrections", lambda: list(map(vars, significance.CORRECTIONS.values()))
    yield "tests/order", lambda: list(significance.TESTS)
    for text in ("T", "md2", "anova", "Wilcoxon", "paired t", "", 7, "nope", "welch_", "friedmann"):
        yield f"tests/named {text!r}", lambda: significance.find_test(text).info.name
    yield from _refusals()
    yield from _scores()
    yield from _around()
    yield from _bayes()
    yield from _power()
    yield from _risk()


def _of_test(name: str, info: Any) -> Iterator[Item]:
    for matrix, make in MATRICES.items():
        policies = ("error", "drop", "zero", "available") if matrix == "missing" else (None,)
        for missing in policies:
            for correction in (None, *significance.CORRECTIONS):
                # What does not go together is refused with the same words for all matrices.
                if correction not in {None, *info.corrections} and matrix != "real":
                    continue
                options = {"correction": correction, "missing": missing}
                label = " ".join(str(one) for one in (matrix, correction, missing) if one)
                yield f"compared/{name} {label}", partial(_compared, make, name, **options)
    for alternative in ("greater", "less"):
        for correction in (None, "none", "bonferroni"):
            yield (
                f"compared/{name} {alternative} {correction}",
                partial(_compared, generated, name, alternative=alternative, correction=correction),
            )
    for baseline in ("s0", ["s0", "s2"]):
        for correction in dict.fromkeys((None, *info.corrections, "dunnett")):
            yield (
                f"compared/{name} baseline {baseline} {correction}",
                partial(_compared, generated, name, baseline=baseline, correction=correction),
            )
    for exact in (True, False):
        yield (
            f"compared/{name} exact {exact}",
            partial(_compared, partial(generated, 0, 3, 8), name, exact=exact),
        )
    yield f"compared/{name} alpha", partial(_compared, real, name, alpha=0.4)
    yield f"compared/{name} seed", partial(_compared, real, name, seed=11)
    yield f"compared/{name} jobs", partial(_compared, real, name, jobs=2)
    constant = cf.Scores(np.full((5, 3), 0.5), tuple("12345"), tuple("abc"), measure="flat")
    yield f"compared/{name} constant", partial(_compared, lambda: constant, name)
    short = given([[0.1, 0.5, 0.2]], ("1",), tuple("abc"))
    yield f"compared/{name} one topic", partial(_compared, lambda: short, name)


def _compared(make: Callable[[], Any], test: str, **options: Any) -> Any:
    found = cf.compare(make(), test=test, **(FAST | options))
    return found, cf.meaningfulness(found), found.to_latex()


def _refusals() -> Iterator[Item]:
    wrong: tuple[dict[str, Any], ...] = (
        *({"test": "nope"}, {"test": 7}, {"correction": "nope"}, {"alternative": "up"}),
        *({"alpha": 0}, {"alpha": 1}, {"alpha": "x"}, {"baseline": "nope"}, {"baseline": []}),
        *({"missing": "nope"}, {"resamples": 0}, {"resamples": 1.5}, {"seed": -1}, {"seed": "x"}),
        *({"exact": "x"}, {"exact_n": 0}, {"jobs": 0}, {"baseline": 3}, {"baseline": ["s0", "s0"]}),
        *({"test": "t", "exact": True}, {"test": "sign", "resamples": 10}),
    )
    for options in wrong:
        yield f"refused/{options}", lambda: cf.compare(generated(), **options)
    inputs: dict[str, Any] = {
        "nothing": {},
        "none": None,
        "text": "scores",
        "missing file": "missing.csv",
        "one system": given([[0.5], [0.2]], ("1", "2"), ("a",)),
        "all missing": cf.Scores(np.full((3, 2), np.nan), ("1", "2", "3"), ("a", "b")),
        "mapping": {"a": {"1": 0.5, "2": 0.2, "3": 0.1}, "b": {"1": 0.6, "2": 0.1, "3": 0.7}},
        "array": np.array([[0.1, 0.2], [0.3, 0.1]]),
    }
    for name, one in inputs.items():
        yield f"refused/{name}", partial(cf.compare, one)
    yield "refused/evaluation", lambda: cf.compare(evaluated())


def _scores() -> Iterator[Item]:
    for name, make in MATRICES.items():
        yield f"scores/{name}", make
    yield "scores/evaluation", evaluated
    yield "scores/sharded", sharded
    yield (
        "scores/samplings",
        lambda: cf.score_samplings(
            ["bm25.run", "dense.run"], "qrels.txt", "AP", shards=2, samplings=2
        ),
    )
    wrong: tuple[tuple[Any, ...], ...] = (
        *(([[0.1]], ("1", "2"), ("a",)), ([[0.1, 0.2]], ("1",), ("a", "a")), ([], (), ())),
        *(([["x"]], ("1",), ("a",)), ([[np.inf]], ("1",), ("a",)), ([0.1], ("1",), ("a",))),
    )
    for bad in wrong:
        yield f"scores/bad {bad}", partial(given, *bad)


def _around() -> Iterator[Item]:
    for name, make in MATRICES.items():
        yield f"around/arcsine {name}", lambda: significance.arcsine(make())
        for method in ("z", "normal", "linear", "empirical", "nope"):
            yield (
                f"around/standardised {name} {method}",
                lambda: significance.standardise(make(), method=method),
            )
        for test in ("anova-1", "anova-2", "anova-3", "t"):
            yield f"around/assumptions {name} {test}", lambda: _assumed(make(), test)
    yield (
        "around/reference",
        lambda: significance.standardise(
            generated(), partial(generated, 1)(), slope=0.2, centre=0.4
        ),
    )
    for groups, df in ((2, 5), (4, 30), (40, 1911.0)):
        yield (
            f"around/range {groups} {df}",
            lambda: (
                significance.studentised_range_sf(np.array([0.0, 1.5, 3.7, 20.0]), groups, df),
                [significance.studentised_range_isf(p, groups, df) for p in (0.5, 0.05, 1e-4)],
            ),
        )
    yield "around/range refused", lambda: significance.studentised_range_isf(2.0, 3, 5)


def _assumed(scores: Any, test: str) -> Any:
    table = cf.compare(scores, test=test, missing=None, **FAST).anova
    if table is None:
        values = np.asarray(scores.values)
        return significance.check_assumptions(values - values.mean(axis=0))
    return table


def _bayes() -> Iterator[Item]:
    for matrix in ("real", "generated", "missing"):
        for rope in (0.0, 0.01, -1):
            yield (
                f"bayes/{matrix} t {rope}",
                lambda: significance.compare_bayes(
                    MATRICES[matrix](),
                    *MATRICES[matrix]().systems[:2],
                    rope=rope,
                    missing="drop" if matrix == "missing" else "error",
                ),
            )
    yield "bayes/unknown", lambda: significance.compare_bayes(real(), "x", "y")


def _power() -> Iterator[Item]:
    topics = np.array([2, 5, 10, 50, 200])
    for alternative in ("two-sided", "greater", "less", "nope"):
        yield (
            f"power/t {alternative}",
            lambda: significance.power_t(
                topics, difference=0.1, variance=0.05, alternative=alternative
            ),
        )
    one: dict[str, Any] = {"difference": 0.1}
    sizes: tuple[dict[str, Any], ...] = (one, {"width": 0.1}, one | {"systems": 5}, {})
    for design in ("t", "anova-1", "anova-2", "width", "welch", "nope"):
        yield (
            f"power/anova {design}",
            lambda: significance.power_anova(
                topics, systems=4, difference=0.1, variance=0.05, model=design
            ),
        )
        for more in sizes:
            yield (
                f"power/needed {design} {more}",
                lambda: significance.topics_needed(design, variance=0.05, **more),
            )
    yield "power/width", lambda: significance.expected_width(topics, variance=0.05)
    for model in ("anova-1", "anova-2", "nope"):
        yield (
            f"power/variance {model}",
            lambda: (
                significance.variance(real(), model=model),
                significance.variance([real(), generated()], model=model),
            ),
        )
    for bad in ({"variance": 0}, {"variance": 0.1, "difference": 0}, {"variance": 0.1, "power": 2}):
        yield (
            f"power/refused {bad}",
            lambda: significance.topics_needed("t", **({"difference": 0.1} | bad)),
        )


def _risk() -> Iterator[Item]:
    for name, make in MATRICES.items():
        for baseline in (None, 0, "nope"):
            for alpha in (0.0, 1.0, 5.0):
                yield (
                    f"risk/{name} {baseline} {alpha}",
                    lambda: cf.risk(
                        make(),
                        baseline=make().systems[0] if baseline == 0 else baseline,
                        alpha=alpha,
                    ),
                )
    yield "risk/refused", lambda: cf.risk(real(), alpha=-1)
