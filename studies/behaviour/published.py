"""Public names: what there is, how it is called, and what it says of itself."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

import cranfield as cf
from cranfield import measures
from cranfield.measures.base import measure
from cranfield.reporting.page.report_page import report
from studies.behaviour.measuring import judged
from studies.behaviour.recording import Item
from studies.behaviour.samples import evaluated, generated, real

HOME = re.compile(r"(?:(?<=from )cranfield[.\w]+(?= import)|cranfield(?:\.\w+)*\.(?=\w))")
"""The module of a name where a text mentions it: it says where things are, not what they do."""

PACKAGES = ("", ".meta", ".scales", ".significance", ".measures", ".sessions", ".texts")


def items() -> Iterator[Item]:
    """Yield the names of each package with their signatures, then methods that need arguments."""
    for package in (*PACKAGES, ".correlation", ".bundled"):
        module = import_module(f"cranfield{package}")
        names = getattr(module, "__all__", ["Collection", "trec_covid"])
        yield f"public/names of cranfield{package}", partial(sorted, names)
        for name in names:
            yield f"public/cranfield{package}.{name}", partial(_about, getattr(module, name))
    yield "public/report", lambda: _about(report)
    yield from _of_measures()
    yield from _of_judged()
    yield from _of_comparisons()


def _about(thing: Any) -> str:
    """Tell how something is called: names and defaults, for types may be written otherwise."""
    lines = [type(thing).__name__ if not inspect.isclass(thing) else "class", str(thing.__doc__)]
    if inspect.ismodule(thing):
        return HOME.sub("", "\n".join(lines))
    if inspect.isclass(thing) or inspect.isfunction(thing):
        lines.append(_signature(thing))
    if inspect.isclass(thing):
        for name in sorted(one for one in dir(thing) if not one.startswith("_")):
            member = inspect.getattr_static(thing, name)
            doc = (
                inspect.getdoc(member)
                if callable(member) or inspect.isdatadescriptor(member)
                else ""
            )
            lines.append(
                f".{name}{_signature(member) if inspect.isfunction(member) else ''}\n  {doc}"
            )
    return "\n".join(lines)


def _signature(thing: Any) -> str:
    try:
        given = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        return "()"
    plain = [one.replace(annotation=inspect.Parameter.empty) for one in given]
    return f"({', '.join(map(str, plain))})"


def _of_measures() -> Iterator[Item]:
    nDCG, AP = measures.nDCG, measures.AP  # noqa: N806 (names of the library)
    yield (
        "measures/forms",
        lambda: [
            str(one)
            for one in (nDCG @ 10, AP(rel=2) @ 100, AP(cutoff=100, rel=2), nDCG(judged_only=True))
        ],
    )
    yield (
        "measures/equality",
        lambda: (
            AP(rel=2) @ 5 == AP(cutoff=5, rel=2),
            len({AP, AP @ 5, AP(cutoff=5)}),
            AP == "AP",
            pickle.loads(pickle.dumps(nDCG @ 10)) == nDCG @ 10,
            copy.deepcopy(nDCG @ 3) == nDCG @ 3,
        ),
    )
    wrong = {
        "set": lambda: setattr(AP, "rel", 2),
        "at": lambda: AP @ 1.5,
        "at text": lambda: AP @ "5",
        "twice": lambda: (AP @ 5) @ 10,
        "unknown": lambda: AP(nope=1),
        "deleted": lambda: delattr(AP, "rel"),
        "wrapped": lambda: measures.IA(measures.nDCG @ 5),
        "wrapped wrong": lambda: measures.IA("x"),
        "incomplete": lambda: cf.score(judged(), measures.P),
        "of no measure": lambda: cf.score(judged(), 7),  # type: ignore[arg-type]
        "of nothing": lambda: cf.score(judged(), []),
    }
    for name, call in wrong.items():
        yield f"measures/{name}", call
    yield "measures/user model", _own_model


def _own_model() -> Any:
    """Make a user model, look at it and at what is derived of it, and forget it."""

    class Bored(measures.UserModel):
        def continuation(self, page: Any) -> Any:
            return np.where(page.gains > 0, 0.9, 0.5)

    try:
        kind = measure("Bored", family="user-defined")(Bored)
        asked = [f"{one}(Bored)" for one in ("EU", "ETU", "EC", "ETC", "Depth", "Residual")]
        return kind().read([1, 0, 1]), cf.score(judged(), ["Bored", *asked])
    finally:
        measures.REGISTRY.pop("Bored", None)


def _of_judged() -> Iterator[Item]:
    for name, given in {
        "aspect": ("understandability", "x"),
        "column": ("class", "x"),
        "groups": ("x",),
        "intents": ("x",),
        "lengths": ("x",),
        "queries": ("x",),
        "top": (2,),
        "binarise": (2,),
        "relevant": (2,),
        "recall_base": (2,),
        "nonrelevant_base": (2,),
    }.items():
        yield f"judged/{name} {given}", lambda: getattr(judged(), name)(*given)
    yield (
        "judged/errors",
        lambda: [
            cf.InputError("bad", source="a.run", line=3, topic="1", doc="d"),
            cf.InputError("bad", topic="1"),
            cf.PolicyError("bad"),
        ],
    )
    yield (
        "judged/got",
        lambda: (
            evaluated()["AP@100"].values,
            list(evaluated()),
            evaluated().get("x"),
            "x" in evaluated(),
        ),
    )
    yield "judged/got wrong", lambda: evaluated()["nope"]
    yield "judged/runs", lambda: (cf.bundled.trec_covid().runs[:2], cf.Runs([(None, "bm25.run")]))


def _of_comparisons() -> Iterator[Item]:
    for test in ("t", "anova-2", "sign", "anova-1"):
        for name, make in (("real", real), ("generated", generated)):
            yield (
                f"compared/{test} of {name}, methods",
                lambda: _asked(cf.compare(make(), test=test)),
            )


def _asked(found: Any) -> Any:
    return (
        found.to_matrix(found.difference, mirrored=-1.0),
        found.to_matrix(found.raw_pvalues),
        found.compute_interval(0.2),
        [(found.count(alpha), found.is_significant(alpha)) for alpha in (0.01, 0.3)],
        found.tables(places=2)[0].to_latex(caption="A", label="tab:a"),
        found.to_latex(long=True),
        found.tables(places=3)[0].to_markdown(),
        len(found),
        cf.scales.dominance(found.scores, found.first, found.second),
    )
