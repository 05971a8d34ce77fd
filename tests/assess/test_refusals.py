"""Wrong arguments of this room end in one line that names the argument and what was expected."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import cranfield as cf
from cranfield import CranfieldError
from cranfield.assess import (
    LeadRule,
    allocation,
    aware,
    dawid_skene,
    next_documents,
    order,
    parse_method,
    parse_rule,
    pool,
    ppi_mean,
    ppi_scores,
    read_labels,
    sample,
    sheets,
    stopping,
    stratified_mean,
)

NONE = np.nan
RANKED = {"s": {"q": {doc: -float(rank) for rank, doc in enumerate("abcdefgh")}}}
POOL = pool(RANKED, 8)
RUN = {"a": {"1": {"x": 2.0}}}
TWO = pl.DataFrame({"topic": ["q", "q"], "doc": ["d1", "d2"]})
CROWD = read_labels([("q", "d", "ann", 1), ("q", "d", "bob", 0), ("q", "e", "ann", 0)])
HUMAN = [0.1, 0.9, 0.4, *[NONE] * 3]
JUDGE = [0.0, 1.0, 0.0, 1.0, 1.0, 0.0]
LONE = {"q": {"a": 1}}

Case = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any], str]


def cases(function: Callable[..., Any], *wrong: tuple[Any, ...]) -> list[Case]:
    """Positional arguments, named ones and words of the message; named ones may be missing."""
    return [
        (function, args[0], args[1], args[-1])
        if isinstance(args[0], tuple)
        else (function, (), args[0], args[-1])
        for args in wrong
    ]


REFUSED: list[Case] = [
    *cases(
        partial(sheets, TWO),
        ({"arranged": "x"}, "unknown arranged 'x'; expected one of: judging, id, shuffled"),
        ({"by": "x"}, "unknown by 'x'; expected one of: document, topic"),
        ({"assessors": 0}, "assessors must be an integer from 1"),
        ({"assessors": 10**20}, "assessors must be an integer from 1 to 10,000"),
        ({"assessors": ["a", "a"]}, "distinct names"),
        ({"assessors": "ab"}, "distinct names"),
        ({"assessors": ["../a"]}, "must be non-empty text without / and"),
        ({"overlap": 1.5}, "overlap must be a number from 0 to 1"),
        ({"overlap": NONE}, "overlap must be a finite number from 0 to 1"),
        ({"n_each": 2}, "n_each must be an integer from 1 to 1"),
    ),
    *cases(
        sheets,
        ((pl.concat([TWO, TWO]),), {}, "got 'd1' of topic 'q' twice"),
        ((pl.concat([TWO, TWO[:1].with_columns(doc=None)]),), {}, "got null in row 3"),
        ((pl.DataFrame({"a": [1]}),), {}, "topic and doc, got ['a']"),
        ((3,), {}, "topic and doc, got int"),
    ),
    *cases(
        partial(sample, POOL),
        (("bad",), {}, "unknown sampling design 'bad'; expected one of: uniform, strata, stat"),
        (("stat",), {}, "'stat' requires size"),
        (("stat",), {"size": 2, "strata": {8: 1}}, "'stat' does not use strata"),
        (("strata",), {"size": 2}, "'strata' does not use size"),
        (("stat",), {"size": 0.5}, "size must be an integer from 1"),
        (("stat",), {"size": 10**30}, "size must be an integer from 1 to 1,000,000,000"),
        (("strata",), {"strata": {10**30: 1}}, "the last rank of a stratum must be an integer"),
        (("strata",), {"strata": {"8": 1}}, "the last rank of a stratum must be an integer"),
        (("uniform",), {"size": 1.5}, "a positive integer, or a proportion"),
        (("uniform",), {"size": True}, "a positive integer, or a proportion"),
        (("strata",), {"strata": {}}, "strata must map last ranks"),
        (("strata",), {"strata": {8: 0}}, "the sample size of the stratum to rank 8"),
        (("strata",), {"strata": {4: 1}}, "got 4 with 4 documents below it"),
        (("uniform",), {"size": 2, "seed": -1}, "seed must be an integer >= 0"),
    ),
    *cases(
        stopping,
        (([1, 0, 1], "Knee"), {"total": 2}, "at most 2 judged documents, got 3"),
        (([1, NONE], "Knee"), {"total": 2}, "got NaN"),
        (([[1], [0]], "Knee"), {"total": 2}, "one-dimensional"),
        ((["x"], "Knee"), {"total": 2}, "labels must be numbers"),
        (([1], "Knee"), {"total": 2, "every": 0}, "every must be an integer from 1"),
        (([1], "Knee"), {"total": 2, "every": 10**30}, "every must be an integer from 1"),
        (([1], "Knee"), {"total": 10**30}, "total must be an integer from 1 to 1,000,000,000"),
        (
            ([1], "Knee"),
            {"total": 2, "targets": [1, 0]},
            "targets must have the shape of labels, (1,), got (2,)",
        ),
        (([1], "target"), {"total": 9}, "Target requires targets"),
    ),
    *cases(
        parse_rule,
        (("Kne",), {}, "unknown stopping rule 'Kne'; did you mean Knee?"),
        (("zzz",), {}, "expected one of: RecallTest, Knee"),
        (("Knee(50)",), {}, "expected parameters as name=value"),
        (("Knee(min_judgments=-1)",), {}, "Knee: min_judgments must be an integer >= 0"),
        (("Knee(most=1)",), {}, "Knee: unknown parameter 'most'"),
        (("Knee(",), {}, "is not a valid stopping rule; expected Name"),
        (("RecallTest(recall=1)",), {}, "recall must be a number > 0 and < 1, got 1"),
        ((3,), {}, "expected a stopping rule or its text form, got int"),
    ),
    *cases(
        parse_method,
        (("nothing",), {}, "unknown pooling method 'nothing'"),
        (("hegde",), {}, "did you mean Hedge"),
        (("RRF(60)",), {}, "expected parameters as name=value"),
        (("RRF(k=60)(k=1)",), {}, "expected Name"),
        (("RRF(k=-1)",), {}, "RRF: k must be an integer >= 0"),
        (("RRF(k=__import__('os'))",), {}, "expected a number, a fraction"),
        (("RRF(c=1)",), {}, "RRF: unknown parameter 'c'; expected one of: k"),
        (("Thompson(ties='random')",), {}, "Thompson: unknown parameter 'ties'"),
        (("MaxMean(rate=2)",), {}, "rate must be a number >= 0 and <= 1, got 2"),
        (("(",), {}, "is not a valid pooling method"),
        (("",), {}, "unknown pooling method ''"),
        ((3,), {}, "expected a pooling method or its text form, got int"),
        (("x" * 1000,), {}, "is not a valid pooling method"),
    ),
    *cases(
        partial(pool, RUN),
        ({"depth": 0}, "depth must be an integer from 1 to 1,000,000,000, got 0"),
        ({"depth": 10**20}, "depth must be an integer from 1 to 1,000,000,000"),
        ({"depth": 1, "ties": "x"}, "unknown ties 'x'; expected one of:"),
        ({"depth": 1, "contributors": "a"}, "contributors: expected a list, got 'a'"),
        ({"depth": 1, "contributors": ["z"]}, "unknown system 'z'; expected one of"),
        ({"depth": 1, "contributors": []}, "at least one system"),
    ),
    (order, (RUN, "MaxMean"), {}, "MaxMean requires judgments to learn from, got none"),
    (next_documents, (RUN, None, "MaxMean", 10**30), {}, "n must be an integer from 1 to"),
    (
        order(RUN, "depth", LONE).select_judgments,
        (0,),
        {},
        "documents within a budget of 0, got none",
    ),
    *cases(
        partial(dawid_skene, CROWD),
        ({"smoothing": -1}, "smoothing must be a number from 0 to 1e+100, got -1"),
        ({"smoothing": NONE}, "smoothing must be a finite number from 0 to 1e+100, got nan"),
        ({"prior": "flat"}, "unknown prior 'flat'"),
        ({"unmet": "zero"}, "unknown unmet 'zero'"),
        ({"prior": [0.5, 0.6]}, "sum to 1"),
        ({"prior": [[0.5], [0.5]]}, "prior"),
        ({"prior": [1.0]}, "must be 2 numbers"),
        ({"tolerance": "x"}, "tolerance must be a number >= 0, got 'x'"),
        ({"iterations": 0}, "iterations must be an integer >= 1"),
        ({"tie": "first"}, "unknown tie 'first'"),
        ({"seed": -1}, "seed must be an integer >= 0"),
    ),
    *cases(
        partial(aware, RANKED["s"], CROWD),
        (("AP",), {"weights": "best"}, "unknown weights 'best'; expected one of:"),
        (("AP",), {"weights": "kappa"}, "require gold"),
        (("AP",), {"gold": LONE}, "do not use gold"),
        (("AP",), {"weights": [1, 2, 3]}, "one per assessor"),
        (("AP",), {"weights": [1, -1]}, ">= 0"),
        (("AP",), {"by": "system"}, "unknown by 'system'; expected one of:"),
        (("AP",), {"weights": "rmse", "draws": 0}, "draws must be an integer from 1"),
        ((["AP", "RR"],), {}, "expects one measure"),
    ),
    *cases(
        LeadRule,
        ({"c": 0}, "c must be a number above 0, got 0"),
        ({"c": "x"}, "c must be a number above 0, got 'x'"),
        ({"c": np.inf}, "c must be a finite number above 0, got inf"),
        ({"epsilon": -1}, "epsilon must be a number >= 0, got -1"),
    ),
    (LeadRule().replay, (CROWD, [1, 2, 3]), {}, "one per worker"),
    (LeadRule().stops, ([[3.0]], [-1.0]), {}, "must be >= 0"),
    (LeadRule().stops, ([[3.0], [1.0]], [9.0, 1.0, 1.0]), {}, "each pair, shape (2,), got (3,)"),
    *((LeadRule().stops, (votes,), {}, "must be finite") for votes in ([np.inf, 1], [NONE, 1])),
    (LeadRule().stops, ([1e308, 1e308],), {}, "must be finite"),
    *cases(
        ppi_mean,
        (([1, NONE, NONE], [1, 2, 3]), {}, "at least 3 independent items"),
        (([1, 2, NONE], [1, 2, 3]), {}, "at least 3 independent items, such as topics, got 2"),
        (([[1, 2, 3], [NONE] * 3], [1, 2, 3]), {}, "got 0"),
        (([1, 2, 3], [1, NONE, 3]), {}, "labels of the judge must be finite"),
        (([1, 2, 3], [1, 3]), {}, "the shape of the judge's labels, (2,)"),
        (([1, 2, np.inf], [1, 2, 3]), {}, "human labels must be finite"),
        ((["a", "b", "c"], [1, 2, 3]), {}, "human labels must be numbers"),
        (([[[1]]], [1]), {}, "shape of the judge's labels"),
        ((HUMAN, JUDGE), {"lambda_": 1.5}, "lambda_ must be a number from 0 to 1, got 1.5"),
        ((HUMAN, JUDGE), {"folds": 0}, "folds must be an integer >= 1"),
        ((HUMAN, JUDGE), {"alpha": 2}, "alpha must be a number between 0 and 1"),
        ((HUMAN, JUDGE), {"clusters": ["a"]}, "expected 6 clusters"),
        ((HUMAN, JUDGE), {"clusters": ["a"] * 6}, "such as topics, got 1"),
    ),
    (ppi_scores, (RUN, LONE, LONE, ["AP", "RR"]), {}, "expected one measure, got 2"),
    (stratified_mean, ([1, 2, NONE, 3], list("aabb")), {}, "got 1 of 2 items in stratum 'b'"),
    *cases(
        allocation,
        (([5, 5], [1, 1], 3), {}, "labels must be an integer from 4 to 10, got 3"),
        (([5, 5], [1], 4), {}, "must be nonempty sequences of the same length"),
        (([], [], 0), {}, "must be nonempty sequences of the same length"),
        (([5, 0.5], [1, 1], 4), {}, "sizes of strata must be integers from 1"),
        (([5, 1e308], [1, 2], 4), {}, "sizes of strata must be integers from 1 to"),
        (([5, 2], [1, 1e308], 4), {}, "finite numbers from 0 to 1e+100"),
        (([5, 5], [1, NONE], 4), {}, "finite numbers from 0"),
    ),
]


@pytest.mark.parametrize(("function", "args", "options", "words"), REFUSED)
def test_refused_in_one_line(
    function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any], words: str
) -> None:
    with pytest.raises(CranfieldError) as caught:
        function(*args, **options)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_sheets_that_cannot_be_written(tmp_path: Path) -> None:
    blank = pl.DataFrame({"topic": ["q"], "doc": ["a b"]})
    for dealt, name, words in (
        (sheets(TWO, assessors=2), "a.tsv", "in the file name for 2 assessors"),
        (sheets(blank), "a", "doc 'a b' is empty or contains a blank"),
    ):
        with pytest.raises(CranfieldError, match=words):
            dealt.write(tmp_path / name)
    with pytest.raises(cf.PolicyError, match="unknown assessor 'z'; expected one of: 1"):
        sheets(TWO).select_sheet("z")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("encoding", ["utf-8", "UTF-8", "utf8"])
def test_utf8_in_any_spelling_is_the_encoding_of_data_in_memory(encoding: str) -> None:
    table = pl.DataFrame({"topic": ["q"], "doc": ["d"], "worker": ["ann"], "grade": [1]})
    assert len(read_labels(table, encoding=encoding)) == 1
    [judge] = cf.assess.read_judges({"llm": table.drop("worker")}, encoding=encoding)
    assert len(judge.labels) == 1
    with pytest.raises(CranfieldError, match="encoding applies to text files, got DataFrame"):
        read_labels(table, encoding="latin-1")
