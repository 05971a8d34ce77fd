"""What the columns of a table are, told by their names in any spelling."""

from __future__ import annotations

import re
from collections.abc import Sequence

from cranfield.base.errors import InputError, quoted

TOPICS = (
    *("topic", "topicid", "topicno", "topicnum", "topicnumber"),
    *("query", "queryid", "queryno", "querynum", "querynumber", "qid", "qno"),
)
SYSTEMS = ("system", "systemid", "systemname", "run", "runid", "runtag", "runname", "tag")
MEASURES = ("measure", "measurename", "metric", "metricname")
SHARDS = ("shard", "shardid", "shardno")
SCORES = ("score", "value", "metricvalue", "measurevalue")

ROLES = {
    **dict.fromkeys(TOPICS, "topic"),
    **dict.fromkeys(SYSTEMS, "system"),
    **dict.fromkeys(MEASURES, "measure"),
    **dict.fromkeys(SHARDS, "shard"),
    **dict.fromkeys(SCORES, "score"),
}
"""What a column is, by its name in lower case without blanks, hyphens and the like."""

NO_NAMES = {"", "unnamed0", "indexlevel0", "index"}
"""Names of what was the index of a data frame without a name, as pandas writes it."""


def spelt(name: str) -> str:
    """Spell a name as in `ROLES`.

    Examples
    --------
    >>> spelt("Topic ID"), spelt("query_id"), spelt("Run-Tag")
    ('topicid', 'queryid', 'runtag')
    """
    return re.sub(r"[\s_.:-]+", "", name).casefold()


def role_of(name: str) -> str | None:
    """Return what a column of this name holds; None where the name does not tell.

    Examples
    --------
    >>> role_of("Topic ID"), role_of("QID"), role_of("metric"), role_of("bm25")
    ('topic', 'topic', 'measure', None)
    """
    return ROLES.get(spelt(name))


def roles(names: Sequence[str], source: str) -> dict[str, int]:
    """Find the column of each role; those that are not there are left out.

    Raises
    ------
    InputError
        Where two columns could have the same role.
    """
    found: dict[str, int] = {}
    for k, name in enumerate(names):
        role = role_of(name)
        if role in found:
            raise InputError(
                f"two columns could be the {role}s: {quoted(names[found[role]])} and"
                f" {quoted(name)}; leave one out, or give it another name",
                source=source,
            )
        if role is not None:
            found[role] = k
    # These words are too common to count beside a proper name, and the letter may be a system.
    if "system" not in found and (loose := _only(names, "name")) is not None:
        found["system"] = loose
    if "topic" not in found and names and spelt(names[0]) == "q":
        found["topic"] = 0
    return found


def _only(names: Sequence[str], wanted: str) -> int | None:
    places = [k for k, name in enumerate(names) if spelt(name) == wanted]
    return places[0] if len(places) == 1 else None
