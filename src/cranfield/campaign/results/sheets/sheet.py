"""The sheet of a run: all that a participant is told of it, as TREC's sheets of old tell it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import Any

from cranfield.base.errors import InputError
from cranfield.campaign.results.sheets.content import Category, Certainty, Content, OfTopic
from cranfield.reporting.text.json_values import json_of

FORM = "cranfield sheet 1"
"""What a sheet's JSON calls itself."""


@dataclass(frozen=True, repr=False)
class Sheet(Content):
    """All that is told of one run; :func:`sheets_of` makes those of a task.

    What it holds are the attributes of
    :class:`~cranfield.campaign.results.sheets.content.Content`.
    """

    def to_json(self) -> str:
        """Return it as JSON, from which :meth:`from_json` makes an equal one."""
        return json_of({"form": FORM, **asdict(self)})

    @classmethod
    def from_json(cls, text: str, source: str = "the sheet") -> Sheet:
        """Read what :meth:`to_json` wrote; `source` is what messages call it.

        Raises
        ------
        InputError
            For anything else.
        """
        try:
            content = json.loads(text)
            if content.pop("form") != FORM:
                raise InputError(f"is not of the form {FORM!r}", source=source)
            return cls(**_read(content))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise InputError(f"is no sheet as cranfield writes them: {error}", source=source) from (
                error
            )

    def to_text(self) -> str:
        """Return it as text, in the manner of TREC's sheets."""
        from cranfield.campaign.results.sheets.sheet_text import text_of

        return text_of(self)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        place = f"{self.sure.place} of {self.sure.runs} by {self.measure}"
        return f"Sheet({self.tag!r}, task {self.task}: place {place})"


def _read(content: dict[str, Any]) -> dict[str, Any]:
    """Turn values of JSON into those of a sheet."""
    made = dict(content)
    for one in fields(Sheet):
        value = made.get(one.name)
        if one.name in {"precision_at", "unjudged"}:
            made[one.name] = {int(key): share for key, share in made[one.name].items()}
        elif isinstance(value, list) and one.name != "by_topic":
            made[one.name] = tuple(value)
    made["by_topic"] = tuple(OfTopic(**one) for one in made["by_topic"])
    sure = made["sure"]
    names = None if sure["names"] is None else tuple(sure["names"])
    made["sure"] = Certainty(**{**sure, "names": names, "verdict": tuple(sure["verdict"])})
    made["category"] = None if made["category"] is None else Category(**made["category"])
    return made
