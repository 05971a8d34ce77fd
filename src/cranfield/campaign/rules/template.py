"""The rules that a new campaign starts with: every key, explained."""

from __future__ import annotations

from pathlib import Path

import cranfield


def template() -> str:
    """Return a campaign.toml with comments; it can be used as it is, and asks little of runs.

    Examples
    --------
    >>> template().splitlines()[3]
    '[campaign]'
    """
    path = Path(cranfield.__file__).parent / "data" / "campaign.toml"
    return path.read_text(encoding="utf-8")
