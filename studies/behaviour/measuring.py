"""Measures: what they declare, how they are named, and their scores, to the bit."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from functools import cache, partial
from typing import Any

import numpy as np

import cranfield as cf
from cranfield import measures
from cranfield.collection.policies import PRESETS
from cranfield.measures.aliases import CUTOFF_FORMS, NICKNAMES, SINGLE_MEASURES
from docs.measure_properties.battery_judged import scores as battery_scores
from docs.measure_properties.properties import catalogue, properties
from studies.behaviour.recording import Item
from studies.behaviour.samples import bad_files, few
from studies.behaviour.showing import numbers

VARIANTS = ("", "lengths", "groups", "intents", "aspects", "queries", "topics", "every")

PAPER_NAMES = (
    *("D#-nDCG@10", "D♯-Q", "DIN-nDCG@3", "DIN#-nDCG@3", "EC-AP", "EC-nDCG@5", "P+Q", "P+Q@5"),
    *("P+Q#@3", "alpha-nDCG@10", "α-DCG", "ERR-IA@20", "nERR-IA", "AP-IA", "MAP-IA", "nDCG-IA@20"),
    *("IA-nDCG@3", "I-rec@10", "strec", "Q-measure", "Q-measure@10", "U-measure", "R-measure"),
    *("O-measure", "P-measure", "P+", "P-plus", "P-plus@10", "bpref_R", "Bpref_N", "MAP", "MRR"),
    *("NDCG@10", "ndcg", "precision@5", "Prec@5", "recall", "mrr", "p@10", "ap", "F1", "E@10"),
    *("RBP.8", "RBP@0.8", "INST-T=2", "NDCG-k@10", "MSnDCG@1000", "nERR", "hit@5", "D#-", "#", "-"),
)

ODD_NAMES = (
    *("", " ", "P", "P@", "P@0", "P@-1", "P@1.5", "P@10@5", "P@10()", "P(10)", "nDGC@10", "é"),
    *("AP(real=2)", "AP(rel='x')", "AP(rel=True)", "AP(rel=1, rel=2)", "AP(**{})", "AP(*[1])"),
    *("RBP(p=0)", "RBP(p=1)", "RBP(p=2)", "RBP(p=nan)", "RBP(p=1e400)", "RBP@10", "NumRet@5"),
    *(
        "nDCG(gains='cubic')",
        "nDCG(gains={1: 1, 2: 3})@5",
        "nDCG(gains={1: -1})",
        "ERR(max_grade=0)",
    ),
    *(
        "nDCG(discount='log1(rank)')",
        "nDCG(discount='log2(rank + 1)')",
        "DCG(discount='log10(rank)')",
    ),
    *("IPrec", "IPrec(recall=2)", "IPrec@0.1", "IPrec(recall=0.5)", "Success", "success_5", "P_10"),
    *("P_x", "P_0", "map_cut_10,20", "P.5,10", "ndcg.1=3.5", "ndcg_cut.5", "iprec_at_recall.0.3"),
    *("set_F.0.5", "utility.1,-1,0,0", "Rprec_mult.0.2", "rbp.0.8", "__import__('os')", "1", "P+1"),
    *("interval(RR@5)", "interval(nDCG)", "interval(P@3, ties='mean')", "interval(interval(P@3))"),
    *("IA(IA(P@3))", "D(AP)", "Sharp(nDCG)", "Classes(ERR)", "CAM(AP)", "MM(AP, mean='x')"),
    *("URisk(AP)", "URisk(AP, baseline='x', alpha=5)", "TRisk(nDCG@3, baseline='x')", "EU(AP)"),
    *("ETU(RBP)", "EC(ERR)", "ETC(TBG)", "Depth(RBP)", "Residual(RBP)", "Residual(AP)", "EU(P@5)"),
    *(
        "P@10 ",
        " P@10",
        "P @ 10",
        "P(rel=2)@10",
        "P(cutoff=10)",
        "P@10(rel=2)",
        "n" * 600,
        "P\n@10",
    ),
)


def items() -> Iterator[Item]:
    """Yield declarations, names, and scores of the battery and of runs."""
    ranked = measures.REGISTRY.select(kind="measure")
    for name, kind in ranked.items():
        yield f"declared/{name}", partial(_declared, kind)
    yield "declared/registry", lambda: (list(ranked), sorted(measures.ALIASES.items()))
    yield "declared/names", lambda: sorted(measures.__all__)
    yield "named/registry", lambda: _named([*ranked, *sorted(measures.ALIASES)])
    yield "named/at 7", lambda: _named([f"{one}@7" for one in ranked])
    for compat in (None, *PRESETS):
        yield f"named/trec_eval as {compat}", partial(_named, _trec_names(), compat)
        more = ["ndeval", "gdeval", "ntcireval", "cwl", *PAPER_NAMES]
        yield f"named/programs as {compat}", partial(_named, more, compat)
    yield "named/odd", partial(_named, list(ODD_NAMES))
    for name, measure in catalogue().items():
        if measure is None:
            yield f"battery/{name}", lambda: None
            continue
        for variant in VARIANTS:
            yield f"battery/{name} {variant}".strip(), partial(_battery, measure, variant)
        yield f"properties/{name}", partial(_properties, measure)
        for parameter in measure.parameters:
            yield f"parameters/{name} {parameter}", partial(_parameter, measure, parameter)
        yield f"scored/{name}", partial(_scored, measure)
    yield from _users()
    yield from _presets()
    yield from _defined()


def _declared(kind: Any) -> Any:
    about = {name: repr(one.default) + " " + one.doc for name, one in kind.parameters.items()}
    return vars(kind.info), about, kind.__name__, kind.__doc__


def _named(names: list[str], compat: str | None = None) -> str:
    lines = []
    for name in names:
        for reader in (cf.parse_measure, partial(cf.parse_measures, compat=compat)):
            try:
                said = str(reader(name))
            except cf.CranfieldError as error:
                said = f"{type(error).__name__}: {error}"
            lines.append(f"{name!r:40} {said}")
    return "\n".join(lines)


def _trec_names() -> list[str]:
    """List the names of trec_eval, with the cutoffs that they have when none is given."""
    families = [f"{name}_{at}" for name, (given, *_) in CUTOFF_FORMS.items() for at in given]
    return [*SINGLE_MEASURES, *CUTOFF_FORMS, *families, *NICKNAMES]


def _battery(measure: Any, variant: str) -> str:
    return f"{measure}\n{numbers(battery_scores(measure, variant).tolist())}"


def _properties(measure: Any) -> Any:
    found = properties(measure)
    return repr(found), {name: (str(one), one.compared) for name, one in found.findings.items()}


def _parameter(measure: Any, name: str) -> str:
    """Score the battery with other values of a parameter; the values that its text quotes, too."""
    quoted = re.findall(r"'([^']+)'", measure.parameters[name].doc)
    tried = [True, False, None, 0, 1, 2, 5, 0.5, 0.3, 0.9, -1, 1500, *quoted]
    tried += ["linear", "exponential", "binary", "graded", "log2(rank)", "log10(rank)", "x"]
    tried += ["group", "relevant", "equal", "R", "min", "up", "cascade", "geometric", "mean"]
    tried += [{"x": 4, "y": 1}, [0.5, 0.25], 100, 0.01, "own", "y"]
    tried += [{1: 0.5, 2: 1.0, 3: 2.5}, [1]]
    lines = []
    for value in tried:
        try:
            changed = measure(**{name: value})
        except Exception as error:
            lines.append(f"{value!r}: {type(error).__name__}: {error}")
            continue
        try:
            found = battery_scores(changed, "every")
        except Exception as error:
            lines.append(f"{value!r}: {changed}: {type(error).__name__}: {error}")
            continue
        digest = hashlib.sha256(np.ascontiguousarray(found).tobytes()).hexdigest()[:16]
        lines.append(f"{value!r}: {changed}: {digest} {found[40:43].tolist()}")
    return "\n".join(lines)


@cache
def judged() -> Any:
    """Judge the runs of the documentation, with all that is known of documents and topics."""
    return cf.judge(
        ["bm25.run", "dense.run"],
        "subtopics.txt",
        lengths="lengths.txt",
        groups="groups.txt",
        intents="intents.txt",
        aspects={"understandability": "understandable.txt", "credibility": "understandable.txt"},
    )


def _scored(measure: Any) -> Any:
    """Score runs of the documentation, and a few of the bundled collection."""
    if "baseline" in measure.parameters:
        measure = measure(baseline="bm25")
    found: list[Any] = []
    for one in (judged(), _real(), _classes()):
        for part in (measure, f"{measure}(judged_only=True)"):
            try:
                scores = next(iter(cf.score(one, part).values()))
                found.append((str(part), scores.values, scores.overall(), scores.aggregate))
            except cf.CranfieldError as error:
                found.append(f"{type(error).__name__}: {error}")
    return found


@cache
def _real() -> Any:
    return cf.judge(few()[:3], cf.bundled.trec_covid().qrels)


@cache
def _classes() -> Any:
    return cf.judge(["bm25.run", "dense.run"], "classes.txt", topics="run")


def _users() -> Iterator[Item]:
    """Yield what users of each model gain, spend and see."""
    models = (
        *("RBP", "ERR", "AP", "P@3", "R@3", "RR", "INST", "INSQ", "SDCG@5", "nDCG@3", "DCG@4"),
        *("NERR8@4", "NERR9@4", "NERR10@4", "NERR11@4", "BPM", "BPMDynamic", "TBG", "U", "MP"),
        *("INST(T=2)", "RBP(p=0.5)@3", "RBP(gains='graded')", "BPM(K=3)", "Success@2", "Q", "gP@3"),
    )
    for model in models:
        for kind in ("EU", "ETU", "EC", "ETC", "Depth", "Residual"):
            for variant in ("", "lengths"):
                yield (
                    f"users/{kind} of {model} {variant}".strip(),
                    lambda: _battery(cf.parse_measure(f"{kind}({model})"), variant),
                )
            yield (
                f"users/scored {kind} of {model}",
                lambda: _scored(cf.parse_measure(f"{kind}({model})")),
            )
        if hasattr(cf.parse_measure(model), "read"):
            yield f"users/read by {model}", partial(_read_by, model)


def _read_by(model: str) -> Any:
    measure: Any = cf.parse_measure(model)
    return [measure.read(page) for page in ([1, 0, 1], [0, 0.5, 0, 1], [0])]


def _presets() -> Iterator[Item]:
    both, asked = ["bm25.run", "dense.run"], ["AP", "nDCG@3", "map", "P"]
    compat: Any
    for compat in PRESETS:
        yield (
            f"judged/compat {compat}",
            lambda: cf.evaluate(both, "qrels.txt", asked, compat=compat),
        )
    options: tuple[Mapping[str, Any], ...] = (
        *(
            {"ties": one}
            for one in ("trec", "trec_eval-9", "id-ascending", "input", "rank", "file")
        ),
        *({"topics": one} for one in ("qrels", "intersection", "run")),
        *({"unjudged": "condensed"}, {"negative": "unjudged"}, {"depth": 2}, {"depth": 0}),
        *({"ties": "nope"}, {"topics": "nope"}, {"compat": "nope"}, {"depth": "2"}, {"nope": 1}),
    )
    runs = {"t": {"1": {"d01": 1.0, "d02": 1.0, "d03": 1.0, "x": 0.5}, "77": {"d01": 1.0}}}
    for one in options:
        yield f"judged/{dict(one)}", lambda: cf.judge(runs, "qrels.txt", **one)
        yield (
            f"judged/scores {dict(one)}",
            lambda: cf.evaluate(runs, "qrels.txt", ["AP", "nDCG@2", "Judged@2"], **one),
        )
    documents = {f"d{k:02}": k % 2 for k in range(1, 20)}
    for shards in (2, "odd/shards.csv", documents, cf.random_shards(3, 5, 1), 0, "nope"):
        for more in ({}, {"unmapped": "drop"}, {"unmapped": "nope"}, {"rel": 2}):
            given = {"shards": shards, **more}
            yield (
                f"judged/shards {given if shards != documents else more}",
                partial(_sharded, given),
            )
    yield "judged/everything", judged
    yield "judged/summary", lambda: cf.score(judged(), ["AP", "RR", "NumRet", "GMAP"])
    yield "judged/policies", lambda: [cf.Policies(), cf.Policies(ties="input").describe()]


def _sharded(options: dict[str, Any]) -> Any:
    bad_files()
    return cf.evaluate(
        ["bm25.run", "dense.run"], "qrels.txt", ["AP", "P@2"], **{"shards": 3, **options}
    )


def _defined() -> Iterator[Item]:
    def first(judged: Any) -> Any:
        return np.minimum(judged.n_retrieved, 1.0)

    def sized(judged: Any) -> Any:
        return judged.n_retrieved.astype(float)

    yield "defined/sized", partial(_of_own, "Sized", sized, summary="How many")
    yield "defined/first", partial(_of_own, "First", first, range=(0, 9), aggregate="sum")
    yield "defined/bad name", partial(_of_own, "a b", sized)
    yield "defined/taken", partial(cf.define, "AP", sized)
    yield "defined/bad shape", partial(_of_own, "Flat", lambda _: 1.0)
    yield "defined/bad range", partial(_of_own, "Range", sized, range=(1, 0))


def _of_own(name: str, function: Any, **about: Any) -> Any:
    """Score with a measure of one's own, and forget it: the next items are of the library."""
    try:
        measure = cf.define(name, function, **about)
        return cf.score(judged(), measure), measure.info, cf.parse_measure(name)
    finally:
        measures.REGISTRY.pop(name, None)
