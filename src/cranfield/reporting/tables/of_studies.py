"""The tables of studies."""

from __future__ import annotations

from typing import Any

from cranfield.base.errors import PolicyError
from cranfield.meta.study import Study
from cranfield.tabular import Table


def study_tables(*studies: Any) -> tuple[Table, ...]:
    """Make the tables of studies, as the command `cranfield study` shows them.

    Parameters
    ----------
    studies
        What functions of `cranfield.meta`, and :func:`cranfield.meta.study_scales`, found.

    Returns
    -------
    tuple of Table
        Each with `to_text`, `to_latex`, `to_markdown` and `to_html`; in the order of the studies.

    Raises
    ------
    PolicyError
        For what is no study; :func:`table` makes tables of scores and comparisons.

    Examples
    --------
    >>> import cranfield as cf
    >>> scores = cf.Scores([[0.1, 0.5], [0.3, 0.6], [0.2, 0.3]], ["1", "2", "3"], ["a", "b"])
    >>> for one in study_tables(cf.meta.generalizability(scores))[:1]:
    ...     print(one.title)
    where the variance of scores comes from
    """
    for study in studies:
        if not isinstance(study, Study):
            raise PolicyError(
                f"{type(study).__name__} is no study; cf.table takes scores and tests"
            )
    return tuple(table for study in studies for table in study.tables())
