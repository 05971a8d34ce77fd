"""What each test declares of itself; the messages, the command line and the pages come from it."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cranfield.base.errors import PolicyError, quoted
from cranfield.base.scale_types import Scale

PLAIN = ("none", "bonferroni", "holm", "bh", "by")
"""Corrections that go with any p-values."""


@dataclass(frozen=True)
class TestInfo:
    """What a test is.

    Attributes
    ----------
    name, aliases
        Its name, and other names that are understood.
    title
        What people call it.
    asks
        The question that it answers.
    null
        What it assumes until shown otherwise: its null hypothesis.
    assumes
        What it takes for granted.
    when
        When to use it, and when not.
    formula
        The statistic, in LaTeX.
    statistic, effect
        What the columns of those names hold.
    source
        Where the definition stands.
    convention
        Where programs differ: what is done here.
    scale
        The scale that scores must be on for its answer to be meaningful.
    paired
        Whether it compares scores of the same topics.
    model
        Whether it looks at all systems together before it looks at pairs.
    random
        Whether it draws random numbers.
    corrections
        Corrections for many comparisons that go with it, the default first.
    baseline_correction
        The default when systems are compared with one baseline.
    """

    __test__ = False  # not for pytest

    name: str
    title: str
    aliases: tuple[str, ...] = ()
    asks: str = ""
    null: str = ""
    assumes: str = ""
    when: str = ""
    formula: str = ""
    statistic: str = ""
    effect: str = ""
    source: str = ""
    convention: str = ""
    scale: Scale = Scale.INTERVAL
    paired: bool = True
    model: bool = False
    random: bool = False
    corrections: tuple[str, ...] = ("holm", *(one for one in PLAIN if one != "holm"))
    baseline_correction: str = "holm"
    elsewhere: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Test:
    """A test: what it is, and the function that does it."""

    __test__ = False  # not for pytest

    info: TestInfo
    run: Callable[..., Any]


TESTS: dict[str, Test] = {}
"""Tests by name, in order of definition."""


def declared(info: TestInfo) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function as the test that `info` describes."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        TESTS[info.name] = Test(info, function)
        return function

    return register


def find_test(name: Any) -> Test:
    """Find a test by its name or one of its other names.

    Raises
    ------
    PolicyError
        If there is none; the nearest names are suggested.
    """
    names = {test.info.name: test for test in TESTS.values()}
    for test in TESTS.values():
        names |= dict.fromkeys(test.info.aliases, test)
    if not isinstance(name, str):
        raise PolicyError(f"a test is named by its text, such as 't', not {name!r}")
    found = names.get(name.lower().replace("_", "-").replace(" ", "-"))
    if found is None:
        near = difflib.get_close_matches(name.lower(), names, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(TESTS)}"
        raise PolicyError(f"there is no test {quoted(name)}; {hint}")
    return found
