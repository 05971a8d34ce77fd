"""Teams: their ids are safe names, and their contacts are nobody's business."""

from __future__ import annotations

import pytest

from cranfield.base.errors import PolicyError
from tests.campaign.submitting.conftest import News


def test_a_team_is_added_and_changed(news: News) -> None:
    opened = news()
    made = opened.add_team("ghent", "Ghent <b>&", contact="x@example.org")
    assert "x@example.org" not in repr(made)
    assert (made.name, made.created) == ("Ghent <b>&", "2026-08-15T12:00:00Z")
    assert [one.id for one in opened.teams()] == ["delft", "ghent", "padua"]
    changed = opened.change_team("ghent", name="Ghent", anonymous_until="2027-01-31")
    assert (changed.name, changed.anonymous_until) == ("Ghent", "2027-01-31")
    assert changed.contact == "x@example.org"
    changed = opened.change_team("ghent", contact="", anonymous_until="", name="")
    assert (changed.name, changed.contact, changed.anonymous_until) == ("ghent", "", None)
    assert opened.registry.find_team("ghent") == changed
    # The log holds no contact, not even one that was taken away.
    assert "x@example.org" not in "".join(one.details for one in opened.registry.list_events())


@pytest.mark.parametrize(
    "id",
    ["", "../x", "CON", "nul.txt", ".hidden", "-o", "a b", "a/b", "a.", "<img onerror>", "a\u202eb"]
    + ["\x1b[31m", "é", "x" * 300, "a\nb"],
)
def test_ids_are_safe_names(news: News, id: str) -> None:
    with pytest.raises(PolicyError, match="must be a valid file name") as error:
        news().add_team(id)
    assert str(error.value).isprintable()


def test_what_cannot_be(news: News) -> None:
    opened = news()
    with pytest.raises(
        PolicyError, match="'padua' already exists; 'Padua' differs from it only in case"
    ):
        opened.add_team("Padua")
    with pytest.raises(PolicyError, match="unknown team 'ghent'"):
        opened.change_team("ghent", name="x")
    with pytest.raises(PolicyError, match="team add FOLDER ID; did you mean 'padua'?"):
        opened.change_team("Padua", name="x")
    with pytest.raises(PolicyError, match="expected a name"):
        opened.change_team("ghent")
    for name in ("a\x1b[31mb", "a\nb", "a\u202eb", "x" * 201):
        with pytest.raises(PolicyError, match="the team's name must be one line"):
            opened.add_team("ghent", name)
        with pytest.raises(PolicyError, match="the team's contact must be one line"):
            opened.add_team("ghent", contact=name)
    for day in ("2027-02-30", "31.1.2027", "tomorrow", "2027-01-31T00:00:00Z"):
        with pytest.raises(PolicyError, match="must be a date such as 2027-01-31"):
            opened.add_team("ghent", anonymous_until=day)
    assert [one.id for one in opened.teams()] == ["delft", "padua"]
