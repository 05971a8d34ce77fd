"""Which of the releases in a campaign's folder its registry has, and as it has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from cranfield.base.digests import file_sha256
from cranfield.base.errors import InputError
from cranfield.campaign.publishing.site.releases import Released, read_releases
from cranfield.campaign.store.records import ReleaseRecord


def entered(folder: Path, records: Sequence[ReleaseRecord]) -> tuple[Released, ...]:
    """Read the releases of a folder that a registry has, by task, the newest first.

    A release that a kill left, or that somebody else put there, is none. One that is missing, or
    that is whole by manifests that are not those it was made with, is an error.
    """
    if not records:
        raise InputError("there are no releases", source=str(folder))
    there = {one.id: one for one in read_releases(folder)}
    if missing := [one.id for one in records if one.id not in there]:
        raise InputError("is missing", source=str(folder / missing[0]))
    known = {one.id: one for one in records}
    return tuple(_as_entered(one, known[one.id]) for one in there.values() if one.id in known)


def not_entered(folder: Path, records: Sequence[ReleaseRecord]) -> tuple[str, ...]:
    """Name the releases in a folder that no record names."""
    known = {one.id for one in records}
    return tuple(one.id for one in read_releases(folder) if one.id not in known)


def _as_entered(found: Released, record: ReleaseRecord) -> Released:
    if found.manifest != record.manifest:
        raise InputError("is not the release that was made", source=str(found.folder))
    if record.retraction is None:
        # A note without a record is of a retraction that a kill stopped.
        return replace(found, retracted=None)
    note = found.folder.with_name(f"{found.id}.retracted.json")
    if file_sha256(note) != record.retraction:
        raise InputError("is not the note that was made", source=str(note))
    return found
