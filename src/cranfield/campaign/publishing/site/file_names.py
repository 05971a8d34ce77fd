"""Names of pages: any tag gets one that every disk takes, and no two get the same."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Collection, Iterable
from urllib.parse import quote

from cranfield.campaign.rules.tags import safe_name

LONGEST = 60
"""Characters of a tag that stay in the name of its page."""


def file_names(tags: Iterable[str], taken: Collection[str] = ()) -> dict[str, str]:
    """Give each tag a file name without suffix: itself, where every disk can take it.

    What had to be changed, what differs from another tag only in case, and what is taken ends in
    a piece of the SHA-256 of the tag, so that the name depends on no order.

    Examples
    --------
    >>> file_names(["bm25", "Run", "run", "../x"], taken=["index"])["bm25"]
    'bm25'
    >>> sorted(file_names(["Run", "run"]).values())
    ['Run-00d60e31', 'run-acba2551']
    """
    wanted = {tag: _on_disk(tag) for tag in tags}
    alike = defaultdict(list)
    for tag, name in wanted.items():
        alike[name.casefold()].append(tag)
    reserved = {name.casefold() for name in taken}
    names: dict[str, str] = {}
    for tag, name in wanted.items():
        alone = len(alike[name.casefold()]) == 1 and name.casefold() not in reserved
        names[tag] = name if name == tag and alone else f"{name}-{_digest(tag)[:8]}"
    if len({name.casefold() for name in names.values()} | reserved) < len(names) + len(reserved):
        # Somebody called a run as another's page would be called.
        names = {tag: f"{wanted[tag][:20]}-{_digest(tag)}" for tag in names}
    return names


def link(*parts: str, start: str = "") -> str:
    """Make a relative link, percent-encoded; `start` is the way up, such as `../`."""
    return start + "/".join(quote(part, safe="") for part in parts)


def _on_disk(tag: str) -> str:
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", tag)[:LONGEST].strip(".-")
    return name if safe_name(name) else f"run-{name}".rstrip(".-")


def _digest(tag: str) -> str:
    return hashlib.sha256(tag.encode("utf-8", "surrogatepass")).hexdigest()
