"""File names of tags: on every disk, without collisions, and the same in any order."""

from __future__ import annotations

import random
from urllib.parse import unquote

from hypothesis import given
from hypothesis import strategies as st

from cranfield.campaign.pages import format_link
from cranfield.campaign.publishing.site import make_file_names
from cranfield.campaign.rules.task_rules import is_safe_name

HOSTILE = [
    *("<img src=x onerror=alert(1)>", "../x", "..", ".", "", "CON", "con", "nul.txt", "a\u202eb"),
    *("x" * 300, "\x1b[31mred", "\"'&", "javascript:alert(1)", "Run1", "run1", "index", "Topics"),
    *("a b%2e%2e/c?d#e", "ünïcode", "trailing.", "-o"),
]


def test_hostile_tags() -> None:
    names = make_file_names(HOSTILE, reserved=["index", "topics"])
    assert set(names) == set(HOSTILE)
    assert len({name.casefold() for name in names.values()}) == len(HOSTILE)
    assert all(is_safe_name(name) and len(name) < 80 for name in names.values())
    assert not {"index", "topics"} & {name.casefold() for name in names.values()}


def test_usual_tags_stay_as_they_are() -> None:
    tags = ["bm25", "0", "01", "padua.v2", "a_b-c"]
    assert make_file_names(tags) == {tag: tag for tag in tags}


@given(st.lists(st.text(max_size=70), unique=True, max_size=12), st.randoms())
def test_no_order_and_no_collision(tags: list[str], mixed: random.Random) -> None:
    names = make_file_names(tags, reserved=["index"])
    other = mixed.sample(tags, len(tags))
    assert make_file_names(other, reserved=["index"]) == names
    assert len({*(name.casefold() for name in names.values()), "index"}) == len(tags) + 1
    assert all(is_safe_name(name) for name in names.values())


def test_a_tag_that_is_the_name_of_anothers_page() -> None:
    first = make_file_names(["Run", "run"])
    tags = ["Run", "run", first["Run"]]
    names = make_file_names(tags)
    assert len({name.casefold() for name in names.values()}) == 3


@given(st.text(), st.text(min_size=1))
def test_links_lead_back(folder: str, name: str) -> None:
    made = format_link(folder, name, prefix="../")
    assert [unquote(part) for part in made.removeprefix("../").split("/")] == [folder, name]
    assert not set(made) & set("<>\"' #?:\\")
