"""References of measures, tests and studies, as BibTeX and text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from cranfield.base.errors import CranfieldError, MeasureError, PolicyError, quote, warn
from cranfield.base.text import escape_bibtex, escape_html, suggest_names
from cranfield.base.version import __version__
from cranfield.evaluation.evaluation import Evaluation
from cranfield.measures import REGISTRY
from cranfield.measures.base import Measure
from cranfield.measures.grammar import parse_measure
from cranfield.meta.study import STUDIES
from cranfield.result import Result
from cranfield.scales.statements import parse_measure_or_none
from cranfield.scores import Scores
from cranfield.significance.comparison.result import RESCALING, PairwiseComparison
from cranfield.significance.effects import KINDS
from cranfield.significance.models.anova_table import AnovaTable
from cranfield.significance.registry import CORRECTIONS, TESTS, find_test
from cranfield.significance.several.joint_measures import JointComparison

PACKAGE = "cranfield"
SOFTWARE = ("trec_eval", "ir_measures", PACKAGE)  # programs that are cited by name

_NAME = r"(?:(?:De|[vV]an|de|Spärck) )?[A-ZÀ-ÖØ-Þ][\w'’-]*"
_CITATION = re.compile(
    rf"({_NAME}(?:, {_NAME})*(?: and (?:others|{_NAME})| et al\.)?) \(?"
    r"((?:\d{4}[a-z]?)(?:, \d{4}[a-z]?)*)\b"
)
_OTHER_AUTHORS = re.compile(r" and others$| et al\.$")
_ENTRY = re.compile(r"(?ms)^@(\w+)\{([^,]+),\n(.*?)^\}")
_FIELD = re.compile(r"(?m)^  (\w+) = \{(.*)\},$")


@dataclass(frozen=True)
class Work:
    """A work: its BibTeX type, its key (first author and year), and its fields."""

    kind: str
    key: str
    fields: Mapping[str, str]

    @property
    def families(self) -> tuple[str, ...]:
        """Family names of the authors."""
        names = _strip_latex(self.fields.get("author", "")).split(" and ")
        return tuple(name.split(",")[0] for name in names)

    @property
    def year(self) -> str:
        """Year, with a letter if an author has several works of the year."""
        letter = self.key[-1] if self.key[-1:].isalpha() and self.key[-2:-1].isdigit() else ""
        return self.fields.get("year", "") + letter

    @property
    def is_software(self) -> bool:
        return self.fields.get("keywords") == "software"

    def to_bibtex(self, used_for: str = "") -> str:
        """Return BibTeX; the field `annote` names the uses of the work."""
        fields = {**self.fields, **({"annote": used_for} if used_for else {})}
        lines = [f"  {name} = {{{value}}}," for name, value in fields.items()]
        return "\n".join([f"@{self.kind}{{{self.key},", *lines, "}"]) + "\n"

    def to_text(self, *, is_markdown: bool = False) -> str:
        """Return the reference in plain text or Markdown."""
        fields = {name: _strip_latex(value) for name, value in self.fields.items()}
        emphasis = "*" if is_markdown else ""
        *first_authors, last_author = fields.get("author", "").split(" and ")
        authors = f"{', '.join(first_authors)} and {last_author}" if first_authors else last_author
        parts = [f"{authors} ({self.year})"] if self.year else [authors] if authors else []
        title = fields["title"]
        if self.kind == "book":
            title = f"{emphasis}{title}{emphasis}"
        parts.append(f"{title}, {fields['edition']} edition" if "edition" in fields else title)
        if venue := fields.get("journal", fields.get("booktitle")):
            issue = f"({fields['number']})" if "number" in fields else ""
            volume = f" {fields['volume']}{issue}" if "volume" in fields else ""
            details = [fields[name] for name in ("series", "pages") if name in fields]
            parts.append(", ".join([f"{emphasis}{venue}{emphasis}{volume}", *details]))
        parts += [fields[name] for name in ("publisher", "note", "url") if name in fields]
        if "eprint" in fields:
            parts.append(f"arXiv:{fields['eprint']}")
        if "doi" in fields:
            doi = self.fields["doi"]
            parts.append(f"[doi:{doi}](<https://doi.org/{doi}>)" if is_markdown else f"doi:{doi}")
        return " ".join(part if part[-1] in ".?" else f"{part}." for part in parts)


@cache
def read_works() -> dict[str, Work]:
    """Return all works by key, ordered by authors and year; programs are last."""
    text = (files("cranfield") / "data" / "references.bib").read_text(encoding="utf-8")
    works = {}
    for kind, key, lines in _ENTRY.findall(text):
        fields = dict(_FIELD.findall(lines))
        if key == PACKAGE:
            fields["note"] = f"Version {__version__}"
        works[key] = Work(kind, key, fields)
    return works


def find_cited_works(source: str) -> tuple[list[Work], list[str]]:
    """Return the works that a text cites, and the citations of unknown works."""
    works: dict[str, Work] = {}
    unknown_citations = []
    for names, years in _CITATION.findall(source):
        authors = [*map(_remove_accents, re.split(r", | and ", _OTHER_AUTHORS.sub("", names)))]
        is_abridged = bool(_OTHER_AUTHORS.search(names))
        for year in years.split(", "):
            matches = [
                work
                for work in read_works().values()
                if _matches_citation(work, authors, is_abridged, year)
            ]
            if len(matches) > 1 and is_abridged:
                # "and others" rarely stands for a single author, who would be named.
                several_author_works = [m for m in matches if len(m.families) > len(authors) + 1]
                matches = several_author_works or matches
            works |= {work.key: work for work in matches}
            if not matches:
                unknown_citations.append(f"{names} ({year})")
    works |= {name: read_works()[name] for name in SOFTWARE if name in source}
    return list(works.values()), unknown_citations


def _matches_citation(work: Work, authors: Sequence[str], is_abridged: bool, year: str) -> bool:
    families = [_remove_accents(name) for name in work.families]
    return (
        year in {work.year, work.fields.get("year")}
        and (len(families) > len(authors)) == is_abridged
        and families[: len(authors)] == authors
    )


def _remove_accents(text: str) -> str:
    """Remove accents, which some citations omit."""
    decomposed = unicodedata.normalize("NFKD", text.replace("’", "'"))
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def _strip_latex(text: str) -> str:
    text = text.replace("``", "“").replace("''", "”").replace("--", "–")
    return re.sub(r"\\([&_%#$])", r"\1", re.sub(r"(?<!\\)[{}]", "", text))


SCALE_SOURCE = ("measurement scales", "Ferrante, Ferro and Fuhr (2021)")
KEY_PREFIX = "key "  # prefix of a source that is the key of a work

RESULT_SOURCES = {
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
"""Name and source of results other than studies, by the name of their class."""


@dataclass(frozen=True)
class References:
    """Works to cite; `print` writes them as BibTeX.

    Attributes
    ----------
    entries
        The works, ordered by authors and year; programs are last.
    used_for
        Names for which each work is cited, by key.
    missing
        Names without a known source, and citations of unknown works.
    """

    entries: tuple[Work, ...]
    used_for: Mapping[str, tuple[str, ...]]
    missing: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys of the entries, as LaTeX cites them."""
        return tuple(work.key for work in self.entries)

    def to_bibtex(self) -> str:
        """Return BibTeX; the field `annote`, which most styles ignore, names the uses of a work."""
        return "\n".join(
            work.to_bibtex(escape_bibtex(", ".join(self.used_for.get(work.key, ()))))
            for work in self.entries
        )

    def to_text(self) -> str:
        """Return a list of references, one per line."""
        return "".join(f"{work.to_text()}\n" for work in self.entries)

    def _repr_html_(self) -> str:
        items = (f"<li>{escape_html(work.to_text())}</li>" for work in self.entries)
        return f"<ul>{''.join(items)}</ul>"

    def __str__(self) -> str:
        return self.to_bibtex()

    def __repr__(self) -> str:
        return f"References({', '.join(self.keys)})"


def cite(*subjects: Any) -> References:
    r"""Collect the works to cite for results, measures and tests, and the library itself.

    Parameters
    ----------
    subjects
        Evaluations, scores, measures, comparisons, analyses of variance, studies, and other results
        with a source; names of measures, tests, corrections, effect sizes and studies, such as
        `discriminative-power`; keys, such as `ferrante2021`; or lists of these.

    Raises
    ------
    MeasureError, PolicyError
        For unknown names, and for objects that cannot be cited, respectively.

    Warns
    -----
    CranfieldWarning
        For subjects without a known source, such as your own measures.

    Examples
    --------
    >>> import cranfield as cf
    >>> cf.cite("RBP(p=0.8)", "t", "holm")
    References(ferrante2021, ferro2024, holm1979, moffat2008, student1908, cranfield)
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
    citations: dict[str, dict[str, None]] = {PACKAGE: {}}
    missing_names = []
    names = [subject for subject in subjects if isinstance(subject, str)]
    for name, source in [*_list_sources(subjects), *_find_scale_source(names)]:
        works, unknown_citations = find_cited_works(source)
        if source.startswith(KEY_PREFIX):
            works, unknown_citations = [read_works()[source.removeprefix(KEY_PREFIX)]], []
        for work in works:
            citations.setdefault(work.key, {}).update({name: None} if name else {})
        missing_names += [f"{citation}, for {name}" for citation in unknown_citations]
        if not works and not unknown_citations:
            missing_names.append(name)
    missing_names = list(dict.fromkeys(missing_names))
    if missing_names:
        warn(f"no reference to cite is known for {', '.join(map(quote, missing_names))}")
    return References(
        tuple(work for key, work in read_works().items() if key in citations),
        {key: tuple(names) for key, names in citations.items() if names},
        tuple(missing_names),
    )


def _list_sources(subjects: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """Yield name and source of each subject and of the measures and tests that it used."""
    for subject in subjects:
        name = type(subject).__name__
        if isinstance(subject, str):
            yield from _find_named_sources(subject)
        elif isinstance(subject, Measure):
            yield str(subject), subject.source
        elif isinstance(subject, Evaluation):
            yield from _list_sources(subject.measures)
            if subject.compat:
                yield subject.compat, "trec_eval"
        elif isinstance(subject, (Scores, PairwiseComparison, JointComparison)):
            yield from _list_result_sources(subject)
        elif isinstance(subject, AnovaTable):
            yield "size of effects", "Rutherford (2011)"
        elif isinstance(subject, Result) and subject.reference:
            yield f"study {subject.name}", subject.reference
            yield from _list_result_sources(subject)
        elif type(subject).__module__.startswith("cranfield.") and name in RESULT_SOURCES:
            yield RESULT_SOURCES[name]
            yield from _list_result_sources(subject)
        elif isinstance(subject, Iterable):
            yield from _list_sources(subject.values() if isinstance(subject, Mapping) else subject)
        else:
            raise PolicyError(
                f"expected results, measures or names to cite, got {name}, which has no sources"
            )


def _list_result_sources(result: Any) -> Iterator[tuple[str, str]]:
    """Yield name and source of the measures, tests and corrections of scores or a result."""
    for name in (getattr(result, "measure", None), *getattr(result, "measures", ())):
        yield from _find_measure_source("" if name is None else str(name))
    for choice in getattr(result, "tests", ()):
        # A choice is text such as "t+holm", or a pair of test and correction.
        test, correction = choice.partition("+")[::2] if isinstance(choice, str) else choice
        yield from _find_test_source(test)
        yield from _find_correction_source(correction or find_test(test).info.corrections[0])
    if isinstance(test := getattr(result, "test", None), str):
        yield from _find_test_source(test)
    correction = getattr(result, "correction", None)
    if correction is not None and (test or isinstance(result, JointComparison)):
        yield from _find_correction_source(correction, bool(getattr(result, "baselines", ())))
    if any(note.endswith(RESCALING) for note in getattr(result, "notes", ())):
        yield SCALE_SOURCE


def _find_test_source(test: str) -> Iterator[tuple[str, str]]:
    info = find_test(test).info
    yield info.name, info.source


def _find_correction_source(
    correction: str, has_baselines: bool | None = None
) -> Iterator[tuple[str, str]]:
    """Yield the source of a correction: without or with baselines, or both for None."""
    name = CORRECTIONS.find(correction)
    info = CORRECTIONS[name]
    if info.source and not (has_baselines and info.baseline_source):
        yield name, info.source
    if info.baseline_source and has_baselines is not False:
        yield f"{name} with a baseline", info.baseline_source


def _find_effect_source(name: str) -> Iterator[tuple[str, str]]:
    kind = KINDS.find(name)
    yield f"effect size {kind}", KINDS[kind].source


def _find_study_source(name: str) -> Iterator[tuple[str, str]]:
    study = STUDIES.find(name)
    yield f"study {study}", STUDIES[study].reference


def _find_measure_source(name: str) -> Iterator[tuple[str, str]]:
    """Yield name and source of the measure of scores, whose name may be unknown."""
    if not name:
        return
    try:
        measure = parse_measure(name)
        yield str(measure), measure.source
    except CranfieldError:
        # Studies name measures without their required cutoff.
        measure_class = REGISTRY.get(name)
        if measure_class is None:
            yield name, ""
        elif measure_class.inner_example:
            yield name, measure_class.info.source
        else:
            yield name, measure_class().source


NAMED_SUBJECTS: Mapping[
    str, tuple[Mapping[str, Any], Callable[[str], Iterator[tuple[str, str]]]]
] = {
    "study": (STUDIES, _find_study_source),
    "test": (TESTS, _find_test_source),
    "correction": (CORRECTIONS, _find_correction_source),
    "effect size": (KINDS, _find_effect_source),
}
"""Registries of subjects that can be cited by name, and functions that find sources, by noun."""


def _find_named_sources(name: str) -> list[tuple[str, str]]:
    """Return name and source for the name of a work, study, test, correction or measure."""
    if name in read_works():
        return [("", f"{KEY_PREFIX}{name}")]
    for _, find_sources in NAMED_SUBJECTS.values():
        try:
            return list(find_sources(name))
        except PolicyError:
            pass
    try:
        measure = parse_measure(name)
    except MeasureError as error:
        if "did you mean" in str(error) or not re.fullmatch(r"[\w-]+", name):
            raise
        registries = {noun: registry for noun, (registry, _) in NAMED_SUBJECTS.items()}
        names = [key for registry in registries.values() for key in registry]
        listing = "; ".join(f"a {noun}: {', '.join(keys)}" for noun, keys in registries.items())
        expected = f"expected a measure; the key of a work, such as holm1979; {listing}"
        hint = suggest_names(name, names, otherwise=expected)
        raise MeasureError(f"unknown name {quote(name)}{hint}") from None
    return [(str(measure), measure.source)]


def _find_scale_source(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the source on scales if a test in `names` requires a higher scale than a measure."""
    required_scales, measure_scales = [], []
    for name in names:
        try:
            required_scales.append(find_test(name).info.scale)
        except PolicyError:
            measure = parse_measure_or_none(name)
            measure_scales += [measure.scale] if measure is not None and measure.scale else []
    if required_scales and measure_scales and min(measure_scales) < max(required_scales):
        yield SCALE_SOURCE
