"""A case: what somebody writes, and what a good answer to it is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """Something that a newcomer writes.

    Attributes
    ----------
    title
        What it is, in a few words.
    code
        Commands that begin with `cranfield`, one a line, or lines of Python; the value of the last
        expression is printed.
    says
        A regular expression that is found in what is printed. Numbers in it were found by hand.
    told
        Whether a clear refusal is the right answer; otherwise it must work.
    then
        What the refusal advises, as code that has to work.
    """

    title: str
    code: str
    says: str
    told: bool = False
    then: str = ""


def refused(title: str, code: str, says: str, then: str = "") -> Case:
    """Make a case in which a refusal is right."""
    return Case(title, code, says, told=True, then=then)
