"""The rules of stopping, by name."""

from __future__ import annotations

import polars as pl

from cranfield.assess.stops.rule import Rule
from cranfield.measures.kinds import Kinds

RULES = Kinds(
    Rule,
    "rule",
    "cranfield.assess.stops",
    """
    recall_test: RecallTest=CMH
    cormack_grossman: Knee Target Line=2399 Budget
    """,
)


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
            "parameters": RULES.parameters(),
            "what it does": RULES.summaries(),
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
    return RULES.parse(text)
