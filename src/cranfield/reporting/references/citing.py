"""Cite what was used: measures, tests, corrections, studies, and the library."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cranfield.base.errors import CranfieldError, PolicyError, quoted, warn
from cranfield.base.escape import bibtex, html
from cranfield.evaluation.evaluation import Evaluation
from cranfield.measures import REGISTRY, Measure
from cranfield.measures.grammar import parse_measure
from cranfield.meta.study import STUDIES, Study, result_of
from cranfield.reporting.references.works import Entry, cited_in, entries
from cranfield.scores import Scores
from cranfield.significance.comparison.result import PairwiseComparison
from cranfield.significance.corrections.catalogue import CORRECTIONS, find_correction
from cranfield.significance.models.anova_table import AnovaTable
from cranfield.significance.tests.catalogue import find_test

KEY = "key "
"""Stands before the key of a work that was named by it."""

RESULTS = {
    "AnytimeComparison": (
        "comparison at any time",
        "Waudby-Smith and Ramdas (2024); Wang and Ramdas (2022)",
    ),
    "BayesianComparison": (
        "Bayesian comparison",
        "Benavoli, Corani, Demšar and Zaffalon (2017); Carterette (2015)",
    ),
    "SystemsPosterior": (
        "Bayesian hierarchical model",
        "Carterette (2015); Albert and Chib (1993); Gelman, Hill and Yajima (2012)",
    ),
    "TopicsNeeded": ("topic set size", "Sakai (2016b); Sakai (2018)"),
    "Image": ("images of measures", "Ferrante, Ferro and Fuhr (2021)"),
    "Meaning": ("meaningfulness", "Ferrante, Ferro and Fuhr (2021)"),
    "ScaleReport": (
        "scales",
        "Ferrante, Ferro and Pontarollo (2019); Ferrante, Ferro and Fuhr (2021)",
    ),
}
"""Other results by their class: what they are called, and where they come from."""


@dataclass(frozen=True)
class References:
    """Works to cite; printed, they are BibTeX.

    Attributes
    ----------
    entries
        The works, in order of authors and year; programs last.
    used_for
        What each is cited for, by key.
    missing
        What has no source that is known.
    """

    entries: tuple[Entry, ...]
    used_for: Mapping[str, tuple[str, ...]]
    missing: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys of the entries, as LaTeX cites them."""
        return tuple(one.key for one in self.entries)

    def to_bibtex(self) -> str:
        """Return BibTeX; the field `annote`, which most styles leave out, has what it is for."""
        return "\n".join(
            one.to_bibtex(bibtex(", ".join(self.used_for.get(one.key, ())))) for one in self.entries
        )

    def to_text(self) -> str:
        """Return a list of references, a line each."""
        return "".join(f"{one.to_text()}\n" for one in self.entries)

    def _repr_html_(self) -> str:
        return f"<ul>{''.join(f'<li>{html(one.to_text())}</li>' for one in self.entries)}</ul>"

    def __str__(self) -> str:
        return self.to_bibtex()

    def __repr__(self) -> str:
        return f"References({', '.join(self.keys)})"


def cite(*things: Any) -> References:
    r"""Collect the works behind what was used, and the library itself.

    Parameters
    ----------
    things
        Evaluations, scores, measures, comparisons, analyses of variance, results of studies; or
        their names: of measures, tests, corrections, and studies such as `discriminative-power`; or
        keys such as `ferrante2021`. Lists of them too.

    Raises
    ------
    PolicyError
        For what cannot be cited, and names that are not known.

    Warns
    -----
    CranfieldWarning
        For what has no source that is known, such as measures of your own.

    Examples
    --------
    >>> import cranfield as cf
    >>> cf.cite("RBP(p=0.8)", "t", "holm")
    References(ferro2024, holm1979, moffat2008, student1908, cranfield)
    >>> print(cf.cite("holm"))
    @article{holm1979,
      author = {Holm, S.},
      title = {A simple sequentially rejective multiple test procedure},
      journal = {Scandinavian Journal of Statistics},
      volume = {6},
      number = {2},
      pages = {65--70},
      year = {1979},
      annote = {holm},
    }
    <BLANKLINE>
    @misc{cranfield,
      author = {{The cranfield developers}},
      title = {cranfield: evaluating information retrieval systems, from runs to ...},
      keywords = {software},
      note = {Version ...},
    }
    """
    used: dict[str, dict[str, None]] = {"cranfield": {}}
    missing = []
    for what, source in _sources(things):
        by_key = source.startswith(KEY)
        found, unknown = ([entries()[source.removeprefix(KEY)]], []) if by_key else cited_in(source)
        for one in found:
            used.setdefault(one.key, {}).update({what: None} if what else {})
        missing += [f"{one}, for {what}" for one in unknown] if found or unknown else [what]
    if missing:
        told = ", ".join(quoted(one) for one in dict.fromkeys(missing))
        warn(f"no source is known of {told}", stacklevel=2)
    listed = tuple(one for key, one in entries().items() if key in used)
    return References(
        listed,
        {key: tuple(names) for key, names in used.items() if names},
        tuple(dict.fromkeys(missing)),
    )


def find_study(name: str) -> str:
    asked = name.lower().replace("_", "-").replace(" ", "-")
    if asked not in STUDIES:
        raise PolicyError(f"there is no study {quoted(name)}; there are {', '.join(STUDIES)}")
    return asked


def _sources(things: Iterable[Any]) -> Iterator[tuple[str, str]]:
    for thing in things:
        if isinstance(thing, str):
            yield from _named(thing)
        elif isinstance(thing, Measure):
            yield from _measure(thing)
        elif isinstance(thing, Evaluation):
            yield from _sources(thing.measures)
            if thing.compat:
                yield thing.compat, "trec_eval"
        elif isinstance(thing, Scores):
            yield from _measured(thing.measure)
        elif isinstance(thing, PairwiseComparison):
            yield from _measured(thing.measure)
            yield from _tested(thing.test, thing.correction)
        elif isinstance(thing, AnovaTable):
            yield "size of effects", "Rutherford (2011)"
        elif (result := _result(thing)) is not None:
            yield result
            yield from _parts(thing)
        elif isinstance(thing, Mapping):
            yield from _sources(thing.values())
        elif isinstance(thing, Iterable):
            yield from _sources(thing)
        else:
            raise PolicyError(f"{type(thing).__name__} has no sources to cite")


def _result(thing: Any) -> tuple[str, str] | None:
    if isinstance(thing, Study):
        return f"study {thing.name}", thing.source
    own = type(thing).__module__.startswith("cranfield.")
    return RESULTS.get(type(thing).__name__) if own else None


def _parts(study: Any) -> Iterator[tuple[str, str]]:
    """Yield what the result of a study names: its measures, tests and corrections."""
    for name in (getattr(study, "measure", None), *getattr(study, "measures", ())):
        yield from _measured("" if name is None else str(name))
    for one in getattr(study, "tests", ()):
        test, _, correction = str(one).partition("+")
        # A test that names no correction takes its own.
        yield from _tested(test, correction or find_test(test).info.corrections[0])
    if isinstance(getattr(study, "test", None), str):
        yield from _tested(study.test, getattr(study, "correction", None))


def _tested(test: str, correction: str | None = None) -> Iterator[tuple[str, str]]:
    info = find_test(test).info
    yield info.name, info.source
    if correction is not None:
        yield from _corrected(correction)


def _corrected(correction: str) -> Iterator[tuple[str, str]]:
    name = find_correction(correction)
    if source := CORRECTIONS[name].source:
        yield name, source


def _measure(measure: Measure) -> Iterator[tuple[str, str]]:
    yield str(measure), measure.source


def _measured(name: str) -> Iterator[tuple[str, str]]:
    """Yield the source of a measure by the name that scores have; they may come from anywhere."""
    if not name:
        return
    try:
        yield from _measure(parse_measure(name))
    except CranfieldError:
        # A study has measures without the cutoff that they need.
        kind = REGISTRY.get(name)
        if kind is None:
            yield name, ""
        else:
            yield name, kind.info.source if kind.inside else kind().source


def _named(name: str) -> list[tuple[str, str]]:
    """Yield the source of what has that name; tests, corrections and studies come first."""
    if name in entries():
        return [("", f"{KEY}{name}")]
    for kind in (_studied, _tested, _corrected):
        try:
            return list(kind(name))
        except PolicyError:
            pass
    return list(_measure(parse_measure(name)))


def _studied(name: str) -> Iterator[tuple[str, str]]:
    study = find_study(name)
    yield f"study {study}", result_of(study).source
