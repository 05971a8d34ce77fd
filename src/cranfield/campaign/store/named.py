"""What the registry names of a campaign's folder, and what there is besides."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from cranfield.base.errors import quoted
from cranfield.campaign.store import objects
from cranfield.campaign.store.layout import (
    JOURNAL,
    OBJECTS,
    REGISTRY,
    RELEASES,
    RULES,
    SCORES,
    SEAL,
)
from cranfield.campaign.store.reading import Reading
from cranfield.campaign.store.records import ReleaseRecord, ScoreFile
from cranfield.campaign.store.verification import LEFT_OVER, NOTE, Finding

OWN = (RULES, REGISTRY, SEAL, OBJECTS, SCORES, RELEASES)

_UNNAMED = re.compile(
    rf"{OBJECTS}/(\.[^/]*|([0-9a-f]{{2}})/(\2[0-9a-f]{{62}}|\.[^/]*))"
    rf"|{SCORES}/(\..*|[^/]+\.parquet)"
    rf"|{RELEASES}/(\.[^/]*|[^/]+\.retracted\.json)"
    rf"|\.campaign\.[^/]*|{re.escape(JOURNAL)}"
)
"""How what a campaign writes is called; of these, what nobody names was left by a kill."""


@dataclass(frozen=True)
class Named:
    """What the registry names: files of rules, objects, scores, releases.

    Attributes
    ----------
    rules
        SHA-256 by path, as the rules were last used.
    objects
        What each object is, by its SHA-256.
    """

    rules: Mapping[str, str]
    objects: Mapping[str, str]
    scores: tuple[ScoreFile, ...]
    releases: tuple[ReleaseRecord, ...]

    @classmethod
    def of(cls, registry: Reading) -> Named:
        """Ask a registry, or a change that goes on."""
        runs = (one for one in registry.submissions(None, None) if one.kept)
        named = {one.object: f"run {quoted(one.tag)}" for one in runs}
        named |= {one.object: f"judgments {quoted(one.version)}" for one in registry.judgments()}
        return cls(registry.rules_files(), named, registry.score_files(), registry.releases())

    def paths(self) -> set[str]:
        """Return the files that are named, and the folders of releases."""
        return {
            *(objects.path(Path(), one).as_posix() for one in self.objects),
            *(one.path for one in self.scores),
            *(one.path for one in self.releases),
            *(f"{one.path}.retracted.json" for one in self.releases if one.retraction),
            *self.rules,
        }

    def others(self, folder: Path) -> Iterator[Finding]:
        """Tell what is in a folder besides: left over by a kill, or not the campaign's at all."""
        named = self.paths()
        above = {str(parent) for one in named for parent in PurePosixPath(one).parents}
        for path in _entries(folder, {*OWN, *above}):
            name = path.relative_to(folder).as_posix()
            if name in named or name in above or name in OWN:
                continue
            if _UNNAMED.fullmatch(name) or (path / "bagit.txt").exists():
                yield Finding(name, "no record names it", LEFT_OVER)
            else:
                yield Finding(name, "does not belong to the campaign", NOTE)


def _entries(folder: Path, opened: set[str]) -> Iterator[Path]:
    """Go through a folder, and into those of the campaign, but not into releases."""
    for path in sorted(folder.iterdir()):
        yield path
        name = path.name
        if path.is_symlink() or not path.is_dir():
            continue
        if name == OBJECTS:
            yield from (one for part in sorted(path.iterdir()) for one in _inside(part))
        elif name in (SCORES, RELEASES):
            yield from sorted(path.iterdir())
        elif name in opened:
            yield from (one for one in sorted(path.rglob("*")) if not one.is_dir())


def _inside(part: Path) -> Iterator[Path]:
    if part.is_dir() and not part.is_symlink():
        yield from sorted(part.iterdir())
    else:
        yield part
