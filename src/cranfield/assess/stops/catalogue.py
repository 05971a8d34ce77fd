"""The rules of stopping, by name."""

from __future__ import annotations

from inspect import getdoc

import polars as pl

from cranfield.assess.stops.cormack_grossman import Budget, Knee, Line, Target
from cranfield.assess.stops.recall_test import RecallTest
from cranfield.assess.stops.rule import Rule
from cranfield.measures.declared import parse_declared

RULES: dict[str, type[Rule]] = {
    kind.name: kind for kind in (RecallTest, Knee, Target, Line, Budget)
}
"""Rules by name."""

_ALIASES = {"CMH": "RecallTest", "2399": "Line"}


def rules() -> pl.DataFrame:
    """List the rules: name, parameters, what they do, source.

    Examples
    --------
    >>> rules().filter(pl.col("rule") == "Knee").select("parameters", "source").rows()
    [('least=100', 'Cormack and Grossman (2016)')]
    """
    return pl.DataFrame(
        {
            "rule": list(RULES),
            "parameters": [
                ", ".join(f"{name}={one.default!r}" for name, one in kind.parameters.items())
                for kind in RULES.values()
            ],
            "what it does": [(getdoc(kind) or "").split("\n\n")[0] for kind in RULES.values()],
            "source": [kind.source for kind in RULES.values()],
        }
    )


def parse_rule(text: str | Rule) -> Rule:
    """Read a rule from its text form.

    Raises
    ------
    PolicyError
        For a wrong name, parameter or value.

    Examples
    --------
    >>> parse_rule("knee(least=50)"), parse_rule("2399")
    (Knee(least=50), Line)
    """
    return parse_declared(text, Rule, RULES, _ALIASES, "rule")
