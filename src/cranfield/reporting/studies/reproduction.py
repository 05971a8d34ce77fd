"""Reproductions and replications, as tables."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from cranfield.meta.reproduction.result import Reproduction
from cranfield.reporting.studies.as_text import StudyText, Table, by_column, number


def table_names(*, orders: bool, effects: bool) -> tuple[str, ...]:
    """Return the names of the tables that there are, with orders of documents, and with effects."""
    return (
        "scores",
        *(("order means", "orders") if orders else ()),
        *(("effects",) if effects else ()),
    )


def shown(found: Reproduction) -> StudyText:
    """Show how close an experiment came to the original one, level by level.

    Parameters
    ----------
    found
        What :func:`reproduce`, :func:`replicate`, or their versions for scores found.

    Returns
    -------
    StudyText
        With the frames `scores` and, where there are any, `effects`, `orders` (by topic) and
        `order means`.

    Examples
    --------
    >>> from cranfield.meta.reproduction.of_scores import reproduce_scores
    >>> first = {"baseline": [0.2, 0.4, 0.3], "advanced": [0.3, 0.6, 0.3]}
    >>> again = {"baseline": [0.2, 0.3, 0.3], "advanced": [0.3, 0.5, 0.4]}
    >>> list(shown(reproduce_scores(first, again)).frames)
    ['scores', 'effects']
    """
    same = found.kind == "reproduction"
    frames: dict[str, tuple[pl.DataFrame, Sequence[str]]] = {
        "scores": (found.scores, ("measure", "role"))
    }
    tables: list[Table] = []
    if found.orders is not None:
        means = found.order_means()
        frames["order means"] = (means, ("role",))
        frames["orders"] = (found.orders, ("role", "topic"))
        tables.append(
            by_column(
                means,
                "Order of documents, means over topics: Kendall's tau of the union of both"
                " rankings (tau) and of documents by rank (KTU), rank-biased overlap"
                f" (RBO, p = {found.persistence:g})",
                left=["role"],
            )
        )
    hidden = ["other topics"] if same else ["RMSE", "nRMSE"]
    tables.append(
        by_column(
            found.scores.drop(hidden).with_columns(
                p=pl.col("p").map_elements(_p_value, return_dtype=pl.String)
            ),
            f"Scores by topic, the test {found.test} of no difference"
            + (", and the root mean square error" if same else ""),
            left=["measure", "role"],
            places={"statistic": 3},
        )
    )
    if found.pairs:
        frames["effects"] = (found.effects, ("measure",))
        tables.append(
            by_column(
                found.effects.drop(["other topics"] if same else []),
                "Effect of the advanced system: mean improvement, ratio (ER, 1 is best), relative"
                " improvement (RI), and difference of these (DRI, 0 is best)",
                left=["measure"],
            )
        )
    about = {
        "study": found.kind,
        "measures": list(found.measures),
        "roles": list(found.roles),
        "systems": {role: list(names) for role, names in found.systems.items()},
        "test": found.test,
        "seed": found.seed,
        "persistence": found.persistence,
        "policies": dict(found.settings),
        "notes": list(found.notes),
    }
    heading = [*found.heading(), *(f"note: {note}" for note in found.notes)]
    return StudyText(heading, tables, frames, about)


def _p_value(p: float) -> str:
    return "<0.0001" if p < 0.0001 else number(p)
