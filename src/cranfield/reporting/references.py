"""References of measures, tests and studies, as BibTeX and text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from cranfield.significance.models.anova_table import AnovaTable
from cranfield.significance.registry import CORRECTIONS, find_test

SOFTWARE = ("trec_eval", "ir_measures")
"""Programs that are cited by their name."""

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
    """A work: its BibTeX type, its key (first author and year), and its fields."""

    kind: str
    key: str
    fields: Mapping[str, str]

    @property
    def families(self) -> tuple[str, ...]:
        names = _plain(self.fields.get("author", "")).split(" and ")
        return tuple(name.split(",")[0] for name in names)

    @property
    def year(self) -> str:
        """Year, with a letter where an author has several works of one year."""
        letter = self.key[-1] if self.key[-1:].isalpha() and self.key[-2:-1].isdigit() else ""
        return self.fields.get("year", "") + letter

    @property
    def is_software(self) -> bool:
        return self.fields.get("keywords") == "software"

    def to_bibtex(self, used_for: str = "") -> str:
        """Return BibTeX; the field `annote` says what the work is used for."""
        fields = {**self.fields, **({"annote": used_for} if used_for else {})}
        lines = [f"  {name} = {{{value}}}," for name, value in fields.items()]
        return "\n".join([f"@{self.kind}{{{self.key},", *lines, "}"]) + "\n"

    def to_text(self, *, markdown: bool = False) -> str:
        """Return one reference of a list, in plain text or Markdown."""
        fields = {name: _plain(value) for name, value in self.fields.items()}
        star = "*" if markdown else ""
        *others, last = fields.get("author", "").split(" and ")
        authors = f"{', '.join(others)} and {last}" if others else last
        parts = [f"{authors} ({self.year})"] if self.year else [authors] if authors else []
        title = fields["title"]
        if self.kind == "book":
            title = f"{star}{title}{star}"
        parts.append(f"{title}, {fields['edition']} edition" if "edition" in fields else title)
        if venue := fields.get("journal", fields.get("booktitle")):
            number = f"({fields['number']})" if "number" in fields else ""
            volume = f" {fields['volume']}{number}" if "volume" in fields else ""
            details = [fields[name] for name in ("series", "pages") if name in fields]
            parts.append(", ".join([f"{star}{venue}{star}{volume}", *details]))
        parts += [fields[name] for name in ("publisher", "note", "url") if name in fields]
        if "eprint" in fields:
            parts.append(f"arXiv:{fields['eprint']}")
        if "doi" in fields:
            doi = self.fields["doi"]
            parts.append(f"[doi:{doi}](<https://doi.org/{doi}>)" if markdown else f"doi:{doi}")
        return " ".join(part if part[-1] in ".?" else f"{part}." for part in parts)


@cache
def entries() -> dict[str, Entry]:
    """Return all works by key, ordered by authors and year; programs are last."""
    text = (files("cranfield") / "data" / "references.bib").read_text(encoding="utf-8")
    works = {}
    for kind, key, lines in _ENTRY.findall(text):
        fields = dict(_FIELD.findall(lines))
        if key == "cranfield":
            fields["note"] = f"Version {__version__}"
        works[key] = Entry(kind, key, fields)
    return works


def cited_in(source: str) -> tuple[list[Entry], list[str]]:
    """Return the works that a text cites, and the citations of unknown works."""
    works: dict[str, Entry] = {}
    missing = []
    for names, years in _CITED.findall(source):
        authors = [_ascii(name) for name in re.split(r", | and ", _OTHERS.sub("", names))]
        abridged = bool(_OTHERS.search(names))
        for year in years.split(", "):
            matches = [one for one in entries().values() if _is(one, authors, abridged, year)]
            if len(matches) > 1 and abridged:
                # "and others" rarely stands for a single author, who would be named.
                several = [one for one in matches if len(one.families) > len(authors) + 1]
                matches = several or matches
            works |= {one.key: one for one in matches}
            if not matches:
                missing.append(f"{names} ({year})")
    works |= {name: entries()[name] for name in SOFTWARE if name in source}
    return list(works.values()), missing


def _is(entry: Entry, authors: Sequence[str], abridged: bool, year: str) -> bool:
    families = [_ascii(name) for name in entry.families]
    return (
        year in {entry.year, entry.fields.get("year")}
        and (len(families) > len(authors)) == abridged
        and families[: len(authors)] == authors
    )


def _ascii(text: str) -> str:
    """Remove accents, which not every citation has."""
    apart = unicodedata.normalize("NFKD", text.replace("’", "'"))
    return "".join(char for char in apart if not unicodedata.combining(char))


def _plain(text: str) -> str:
    text = text.replace("``", "“").replace("''", "”").replace("--", "–")
    return re.sub(r"\\([&_%#$])", r"\1", re.sub(r"(?<!\\)[{}]", "", text))


KEY = "key "
"""Prefix of a source that is the key of a work."""

RESULTS = {
    "BayesianComparison": (
        "Bayesian comparison",
        "Benavoli, Corani, Demšar and Zaffalon (2017); Carterette (2015); Lecoutre (1999)",
    ),
    "TopicsNeeded": ("topic set size", "Sakai (2016b); Sakai (2018)"),
    "Image": ("images of measures", "Ferrante, Ferro and Fuhr (2021)"),
    "Meaningfulness": ("meaningfulness", "Ferrante, Ferro and Fuhr (2021)"),
    "ScaleReport": (
        "scales",
        "Ferrante, Ferro and Pontarollo (2019); Ferrante, Ferro and Fuhr (2021)",
    ),
}
"""Name and source of results that are not of a study, by class."""


@dataclass(frozen=True)
class References:
    """Works to cite; printed, they are BibTeX.

    Attributes
    ----------
    entries
        The works, ordered by authors and year; programs are last.
    used_for
        What each work is cited for, by key.
    missing
        Names without a known source.
    """

    entries: tuple[Entry, ...]
    used_for: Mapping[str, tuple[str, ...]]
    missing: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys of the entries, as LaTeX cites them."""
        return tuple(one.key for one in self.entries)

    def to_bibtex(self) -> str:
        """Return BibTeX; the field `annote`, which most styles ignore, says what a work is for."""
        return "\n".join(
            one.to_bibtex(bibtex(", ".join(self.used_for.get(one.key, ())))) for one in self.entries
        )

    def to_text(self) -> str:
        """Return a list of references, one per line."""
        return "".join(f"{one.to_text()}\n" for one in self.entries)

    def _repr_html_(self) -> str:
        return f"<ul>{''.join(f'<li>{html(one.to_text())}</li>' for one in self.entries)}</ul>"

    def __str__(self) -> str:
        return self.to_bibtex()

    def __repr__(self) -> str:
        return f"References({', '.join(self.keys)})"


def cite(*things: Any) -> References:
    r"""Collect the works to cite for results, measures and tests, and the library itself.

    Parameters
    ----------
    things
        Evaluations, scores, measures, comparisons, analyses of variance and results of studies;
        names of measures, tests, corrections and studies, such as `discriminative-power`; keys,
        such as `ferrante2021`; or lists of these.

    Raises
    ------
    PolicyError
        For unknown names and for objects that cannot be cited.

    Warns
    -----
    CranfieldWarning
        For things without a known source, such as your own measures.

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
    for name, source in _sources(things):
        by_key = source.startswith(KEY)
        works, unknown = ([entries()[source.removeprefix(KEY)]], []) if by_key else cited_in(source)
        for work in works:
            used.setdefault(work.key, {}).update({name: None} if name else {})
        missing += [f"{citation}, for {name}" for citation in unknown]
        if not works and not unknown:
            missing.append(name)
    missing = list(dict.fromkeys(missing))
    if missing:
        warn(f"no source known for {', '.join(map(quoted, missing))}", stacklevel=2)
    return References(
        tuple(work for key, work in entries().items() if key in used),
        {key: tuple(names) for key, names in used.items() if names},
        tuple(missing),
    )


def _sources(things: Iterable[Any]) -> Iterator[tuple[str, str]]:
    for thing in things:
        if isinstance(thing, str):
            yield from _named(thing)
        elif isinstance(thing, Measure):
            yield str(thing), thing.source
        elif isinstance(thing, Evaluation):
            yield from _sources(thing.measures)
            if thing.compat:
                yield thing.compat, "trec_eval"
        elif isinstance(thing, Scores):
            yield from _measured(thing.measure)
        elif isinstance(thing, PairwiseComparison):
            yield from _measured(thing.measure)
            yield from _tested(thing.test)
            yield from _corrected(thing.correction)
        elif isinstance(thing, AnovaTable):
            yield "size of effects", "Rutherford (2011)"
        elif isinstance(thing, Result) and thing.reference:
            yield f"study {thing.name}", thing.reference
            yield from _parts(thing)
        elif type(thing).__module__.startswith("cranfield.") and type(thing).__name__ in RESULTS:
            yield RESULTS[type(thing).__name__]
            yield from _parts(thing)
        elif isinstance(thing, Iterable):
            yield from _sources(thing.values() if isinstance(thing, Mapping) else thing)
        else:
            raise PolicyError(f"{type(thing).__name__} has no sources to cite")


def _parts(study: Any) -> Iterator[tuple[str, str]]:
    """Yield name and source of the measures, tests and corrections of a result of a study."""
    for name in (getattr(study, "measure", None), *getattr(study, "measures", ())):
        yield from _measured("" if name is None else str(name))
    for choice in getattr(study, "tests", ()):
        # Text such as "t+holm", or a pair of test and correction.
        test, correction = choice.partition("+")[::2] if isinstance(choice, str) else choice
        yield from _tested(test)
        # A test without a correction has its default.
        yield from _corrected(correction or find_test(test).info.corrections[0])
    if isinstance(getattr(study, "test", None), str):
        yield from _tested(study.test)
        if (own := getattr(study, "correction", None)) is not None:
            yield from _corrected(own)


def _tested(test: str) -> Iterator[tuple[str, str]]:
    info = find_test(test).info
    yield info.name, info.source


def _corrected(correction: str) -> Iterator[tuple[str, str]]:
    name = CORRECTIONS.find(correction)
    if source := CORRECTIONS[name].source:
        yield name, source


def _studied(name: str) -> Iterator[tuple[str, str]]:
    study = STUDIES.find(name)
    yield f"study {study}", STUDIES[study].reference


def _measured(name: str) -> Iterator[tuple[str, str]]:
    """Yield the source of a measure by the name that scores have, which may be unknown."""
    if not name:
        return
    try:
        measure = parse_measure(name)
        yield str(measure), measure.source
    except CranfieldError:
        # Studies name measures without the cutoff that they need.
        kind = REGISTRY.get(name)
        if kind is None:
            yield name, ""
        else:
            yield name, kind.info.source if kind.inside else kind().source


def _named(name: str) -> list[tuple[str, str]]:
    """Return the sources of a name: of a key, a study, a test, a correction, else a measure."""
    if name in entries():
        return [("", f"{KEY}{name}")]
    for sources in (_studied, _tested, _corrected):
        try:
            return list(sources(name))
        except PolicyError:
            pass
    measure = parse_measure(name)
    return [(str(measure), measure.source)]
