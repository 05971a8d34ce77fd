"""Retracting a release: it stays as it is, and a note beside it says that it does not stand."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING

from cranfield.base.errors import PolicyError, quoted
from cranfield.base.whole_files import whole_file
from cranfield.campaign.opened import Opened
from cranfield.campaign.rules.times import utc_text
from cranfield.campaign.store.layout import RELEASES

if TYPE_CHECKING:
    pass

RETRACTED = "retracted"
"""The state of a release that was taken back."""


def retract(opened: Opened, release: str, reason: str) -> None:
    """Retract a release: it stays as it is, and a note beside it says that it does not stand.

    Parameters
    ----------
    opened
        The campaign.
    release
        Its id, such as `adhoc-1`.
    reason
        Why; everybody can read it.

    Raises
    ------
    PolicyError
        For a release that is not there or is retracted already, or when no reason is given.
    """
    if not reason.strip():
        raise PolicyError("a release is retracted for a reason, and none is given")
    with opened.registry.change("retract", release, {"reason": reason}) as tx:
        found = {one.id: one for one in tx.releases()}
        if release not in found:
            there = ", ".join(found) or "none"
            raise PolicyError(f"there is no release {quoted(release)}; there are {there}")
        if found[release].state == RETRACTED:
            raise PolicyError(f"{release} is retracted already")
        note = {"release": release, "retracted": utc_text(opened.clock()), "reason": reason}
        text = (json.dumps(note, indent=1, ensure_ascii=False) + "\n").encode()
        # A kill before the transaction ends leaves the note: it is written over the next time.
        path = opened.folder / RELEASES / f"{release}.retracted.json"
        with whole_file(path, private=True, synced=True) as out:
            out.write(text)
        tx.update(
            replace(
                found[release],
                state=RETRACTED,
                reason=reason,
                retraction=sha256(text).hexdigest(),
            )
        )
