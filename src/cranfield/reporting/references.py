"""The works that definitions come from, cited with what was used."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from cranfield.base.errors import CranfieldError, PolicyError, quoted, warn
from cranfield.base.text import bibtex, html
from cranfield.base.version import __version__
from cranfield.evaluation.evaluation import Evaluation
from cranfield.measures import REGISTRY
from cranfield.measures.base import Measure
from cranfield.measures.grammar import parse_measure
from cranfield.meta.study import STUDIES
from cranfield.result import Result
from cranfield.scores import Scores
from cranfield.significance.comparison.result import PairwiseComparison
from cranfield.significance.corrections.catalogue import CORRECTIONS, find_correction
from cranfield.significance.models.anova_table import AnovaTable
from cranfield.significance.pairwise.catalogue import find_test

SOFTWARE = ("trec_eval", "ir_measures")
"""Programs that are a source by their name."""

_NAME = r"(?:(?:De|[vV]an|de|Spärck) )?[A-ZÀ-ÖØ-Þ][\w'’-]*"
_CITED = re.compile(
    rf"({_NAME}(?:, {_NAME})*(?: and (?:others|{_NAME})| et al\.)?) \(?"
    r"((?:\d{4}[a-z]?)(?:, \d{4}[a-z]?)*)\b"
)
_OTHERS = re.compile(r" and others$| et al\.$")
_ENTRY = re.compile(r"(?ms)^@(\w+)\{([^,]+),\n(.*?)^\}")
_FIELD = re.compile(r"(?m)^  (\w+) = \{(.*)\},$")


@dataclass(frozen=True)
class Entry:
    """A work: its BibTeX type, its key, which is the first author and the year, and its fields."""

    kind: str
    key: str
    fields: Mapping[str, str]

    @property
    def families(self) -> tuple[str, ...]:
        names = _plain(self.fields.get("author", "")).split(" and ")
        return tuple(name.split(",")[0] for name in names)

    @property
    def year(self) -> str:
        """Year with the letter that tells works of one author and year apart."""
        letter = self.key[-1] if self.key[-1:].isalpha() and self.key[-2:-1].isdigit() else ""
        return self.fields.get("year", "") + letter

    @property
    def is_software(self) -> bool:
        return self.fields.get("keywords") == "software"

    def to_bibtex(self, used_for: str = "") -> str:
        """Write it in BibTeX; what it is used for stands in the field `annote`."""
        fields = {**self.fields, **({"annote": used_for} if used_for else {})}
        lines = [f"  {name} = {{{value}}}," for name, value in fields.items()]
        return "\n".join([f"@{self.kind}{{{self.key},", *lines, "}"]) + "\n"

    def to_text(self, *, markdown: bool = False) -> str:
        """Write it as a reference, in Markdown with what is set in italics."""
        has = {name: _plain(value) for name, value in self.fields.items()}
        star = "*" if markdown else ""
        title = has["title"]
        if self.kind == "book":
            title = f"{star}{title}{star}"
        parts = [f"{title}, {has['edition']} edition" if "edition" in has else title]
        if place := has.get("journal", has.get("booktitle")):
            number = f"({has['number']})" if "number" in has else ""
            where = f"{star}{place}{star}"
            where += f" {has['volume']}{number}" if "volume" in has else ""
            later = [has[name] for name in ("series", "pages") if name in has]
            parts.append(", ".join([where, *later]))
        parts += [has[name] for name in ("publisher", "note", "url") if name in has]
        if "eprint" in has:
            parts.append(f"arXiv:{has['eprint']}")
        if "doi" in has:
            doi = self.fields["doi"]
            parts.append(f"[doi:{doi}](<https://doi.org/{doi}>)" if markdown else f"doi:{doi}")
        ended = [one if one[-1] in ".?" else f"{one}." for one in parts]
        start = f"{self._authors()} ({self.year}). " if self.year else self._authors()
        return start + " ".join(ended)

    def _authors(self) -> str:
        names = _plain(self.fields.get("author", "")).split(" and ")
        many = ", ".join(names[:-1])
        shown = f"{many} and {names[-1]}" if many else names[0]
        return shown if self.year or not shown else f"{shown}. "


@cache
def entries() -> dict[str, Entry]:
    """Return all works by key, in the order in which a list shows them, programs last."""
    text = (files("cranfield") / "data" / "references.bib").read_text(encoding="utf-8")
    found = {}
    for kind, key, inside in _ENTRY.findall(text):
        fields = dict(_FIELD.findall(inside))
        if len(fields) != inside.count("\n"):
            raise CranfieldError(f"references.bib: {key} has a line that is no field")
        if key == "cranfield":
            fields["note"] = f"Version {__version__}"
        found[key] = Entry(kind, key, fields)
    return found


def cited_in(source: str) -> tuple[list[Entry], list[str]]:
    """Find the works and programs that a text names, and the names and years without one."""
    found: dict[str, Entry] = {}
    missing = []
    for names, years in _CITED.findall(source):
        for year in years.split(", "):
            some = [one for one in entries().values() if _is(one, names, year)]
            if len(some) > 1 and _OTHERS.search(names):
                # Where one author is left out, he is rather named.
                left = len(re.split(r", | and ", _OTHERS.sub("", names))) + 1
                some = [one for one in some if len(one.families) > left] or some
            found |= {one.key: one for one in some}
            missing += [] if some else [f"{names} ({year})"]
    found |= {name: entries()[name] for name in SOFTWARE if name in source}
    return list(found.values()), missing


def _is(entry: Entry, names: str, year: str) -> bool:
    if year not in {entry.year, entry.fields.get("year")}:
        return False
    asked = re.split(r", | and ", _OTHERS.sub("", names))
    have = entry.families
    if (len(have) > len(asked)) != bool(_OTHERS.search(names)):
        return False
    return [_ascii(one) for one in asked] == [_ascii(one) for one in have[: len(asked)]]


def _ascii(text: str) -> str:
    """Leave accents out: not all who cite write them."""
    apart = unicodedata.normalize("NFKD", text.replace("’", "'"))
    return "".join(char for char in apart if not unicodedata.combining(char))


def _plain(text: str) -> str:
    text = text.replace("``", "“").replace("''", "”").replace("--", "–")
    return re.sub(r"\\([&_%#$])", r"\1", re.sub(r"(?<!\\)[{}]", "", text))


KEY = "key "
"""Stands before the key of a work that was named by it."""

RESULTS = {
    "BayesianComparison": (
        "Bayesian comparison",
        "Benavoli, Corani, Demšar and Zaffalon (2017); Carterette (2015); Lecoutre (1999)",
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
    if isinstance(thing, Result) and thing.reference:
        return f"study {thing.name}", thing.reference
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
    study = STUDIES.find(name)
    yield f"study {study}", STUDIES[study].reference
