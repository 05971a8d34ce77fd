"""The works that definitions come from: read from BibTeX, found by authors and year."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from cranfield.base.errors import CranfieldError
from cranfield.base.version import __version__

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
