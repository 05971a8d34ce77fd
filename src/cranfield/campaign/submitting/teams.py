"""Teams of participants: names, contacts and anonymity."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from cranfield.base.errors import PolicyError, quote
from cranfield.base.text import list_some, suggest_names
from cranfield.campaign.opened_campaign import OpenedCampaign
from cranfield.campaign.rules.task_rules import SAFE_NAME_RULE, format_utc, is_safe_name
from cranfield.campaign.store.records import Team
from cranfield.campaign.store.registry import RegistryReader, Transaction

MAX_FIELD_LENGTH = 200
"""Maximum number of characters of a name or a contact."""


def add_team(
    campaign: OpenedCampaign,
    id: str,
    name: str = "",
    *,
    contact: str = "",
    anonymous_until: str | None = None,
) -> Team:
    """Add a team.

    Parameters
    ----------
    campaign
        The campaign.
    id
        Short name of the team in commands, tables and files; a valid file name on all systems,
        unique regardless of case.
    name
        Full name of the team; by default its id.
    contact
        Contact address for the organisers; it is never published.
    anonymous_until
        Date, such as `2027-01-31`; releases before it (UTC) do not name the team.

    Raises
    ------
    PolicyError
        For an invalid or existing id, and for an invalid name, contact or date.
    """
    team = make_team(campaign, id, name, contact, anonymous_until)
    with campaign.registry.change("add team", team.id) as tx:
        insert_teams(tx, [team])
    return team


def insert_teams(tx: Transaction, teams: Iterable[Team]) -> None:
    """Add teams, after checking that their ids are new, regardless of case."""
    ids = {team.id.casefold(): team.id for team in tx.list_teams()}
    for team in teams:
        if known_id := ids.get(team.id.casefold()):
            is_same = known_id == team.id
            hint = "" if is_same else f"; {quote(team.id)} differs from it only in case"
            raise PolicyError(f"team {quote(known_id)} already exists{hint}")
        ids[team.id.casefold()] = team.id
        tx.insert(team)


def make_team(
    campaign: OpenedCampaign,
    id: str,
    name: str = "",
    contact: str = "",
    anonymous_until: str | None = None,
) -> Team:
    """Return a new team, after checking its fields."""
    if not is_safe_name(id):
        raise PolicyError(f"the team's id must be {SAFE_NAME_RULE}, got {quote(id)}")
    created = format_utc(campaign.clock())
    fields = _check_fields(id, name=name, contact=contact, anonymous_until=anonymous_until or "")
    return Team(id=id, created=created, **fields)


def _check_fields(id: str, **texts: str | None) -> dict[str, Any]:
    """Check texts about a team, and return them as fields; None is skipped."""
    fields: dict[str, Any] = {}
    for field, text in texts.items():
        if text is None:
            continue
        if field == "anonymous_until":
            try:
                fields[field] = date.fromisoformat(text).isoformat() if text else None
            except ValueError:
                expected = "anonymous_until must be a date such as 2027-01-31"
                raise PolicyError(f"{expected}, got {quote(text)}") from None
        elif len(text) > MAX_FIELD_LENGTH or not text.isprintable():
            expected = f"one line of at most {MAX_FIELD_LENGTH} printable characters"
            raise PolicyError(f"the team's {field} must be {expected}, got {quote(text)}")
        else:
            fields[field] = text.strip() or (id if field == "name" else "")
    return fields


def change_team(
    campaign: OpenedCampaign,
    id: str,
    *,
    name: str | None = None,
    contact: str | None = None,
    anonymous_until: str | None = None,
) -> Team:
    """Change values of a team; an empty contact or date is removed, an empty name becomes the id.

    Parameters
    ----------
    campaign, id, name, contact, anonymous_until
        As for :func:`~cranfield.campaign.submitting.teams.add_team`; None leaves a value unchanged.

    Raises
    ------
    PolicyError
        For an unknown team, an invalid value, or if no value is set.
    """
    changes = _check_fields(id, name=name, contact=contact, anonymous_until=anonymous_until)
    if not changes:
        raise PolicyError("expected a name, a contact or anonymous_until, got none")
    # Only names of fields are logged, because contacts must not be in the log.
    with campaign.registry.change("change team", id, {"changed": ", ".join(changes)}) as tx:
        return tx.update(replace(require_team(tx, id), **changes))


def require_team(registry: RegistryReader, id: str) -> Team:
    """Return a team; the error for an unknown team has the command that adds it."""
    team = registry.find_team(id)
    if team is None:
        raise make_unknown_teams_error([id], [team.id for team in registry.list_teams()])
    return team


def make_unknown_teams_error(
    ids: Sequence[str], known_ids: Collection[str], option: str = ""
) -> PolicyError:
    """Return the error for unknown teams: the command or option that adds them, similar ids."""
    hint = suggest_names(ids[0], known_ids, 1, show=quote)
    teams = f"team {quote(ids[0])}; add it"
    if len(ids) > 1:
        teams = f"teams {list_some(map(quote, ids), 10)}; add them"
    return PolicyError(f"unknown {teams} with: cranfield campaign team add FOLDER ID{option}{hint}")
