"""Which tags, tasks and ids can be the name of a file on every disk."""

from __future__ import annotations

import re

LONGEST = 100
"""Characters: suffixes are added to names, and no disk takes more than 255 bytes."""

_PLAIN = re.compile(rf"[A-Za-z0-9_][A-Za-z0-9_.+=@,~-]{{0,{LONGEST - 1}}}")

_RESERVED = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|com\d|lpt\d)(\..*)?", re.IGNORECASE)
"""Devices on Windows, whatever suffix follows."""


def safe_name(name: str) -> bool:
    """Tell whether a name can be that of a file on every disk, and is plain ASCII.

    Examples
    --------
    >>> [safe_name(name) for name in ("bm25.v2", "0", ".hidden", "-o", "CON", "nul.txt", "a.")]
    [True, True, False, False, False, False, False]
    """
    fits = _PLAIN.fullmatch(name) is not None and not name.endswith(".")
    return fits and _RESERVED.fullmatch(name) is None
