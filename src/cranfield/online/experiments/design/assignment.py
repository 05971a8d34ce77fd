"""Assignment of units to the variants of an experiment, by hash: the same one at every call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import chi2_contingency, chisquare

from cranfield.base.arrays import Bools, Floats
from cranfield.base.checks import check_choice
from cranfield.base.errors import CranfieldError, PolicyError, quoted
from cranfield.online.experiments.design.hashing import HASHES
from cranfield.sources.values import ID

BINS = 20
"""Parts of the line in which units are counted, to see whether a hash is uniform."""


@dataclass(frozen=True)
class Experiment:
    r"""An experiment: its variants, and who is in which.

    A unit, such as a user, has a number from 0 to 1 for each salt,

    .. math:: u = \text{MD5}(\text{salt}, \texttt{0x1f}, \text{unit}) / 2^{64}

    of the first 8 bytes, with salt and unit in UTF-8. The number for the salt of the layer decides
    whether a unit is in the experiment; the number for its name decides the variant. So experiments
    of other names are independent, and experiments in one layer whose shares of the traffic do not
    overlap have no unit in common (Kohavi, Tang and Xu, 2020).

    Parameters
    ----------
    name
        The salt of the variants.
    weights
        Share of each variant; they sum to 1. Or names of variants, which share equally.
    layer
        The salt of the traffic; by default one of this experiment alone.
    traffic
        Share of the units that are in the experiment, or the part of the layer that it takes, such
        as `(0.5, 1)`.
    hash
        `md5`, or `growthbook-1` or `growthbook-2`, which give the variants that GrowthBook's kits
        give: there traffic is their coverage, or with a layer the part of their namespace.

    Raises
    ------
    PolicyError
        For weights that do not sum to 1 or are not above 0, one variant, a part of the traffic that
        is none, an unknown hash, or a layer with the experiment's own name.

    Examples
    --------
    >>> found = Experiment("exp", ["control", "treatment"]).assign(["u1", "u2"])
    >>> found.to_list()
    ['control', 'control']
    >>> Experiment("exp").chances(["u1", "u2"]).round(6).tolist()
    [0.443771, 0.22146]
    """

    name: str
    weights: Mapping[str, float] | Sequence[str] = ("control", "treatment")
    layer: str | None = None
    traffic: float | tuple[float, float] = 1.0
    hash: str = "md5"

    def __post_init__(self) -> None:
        if not self.name:
            raise PolicyError("an experiment has a name")
        if self.layer == self.name:
            raise PolicyError(
                f"a layer named {quoted(self.name)} as the experiment would decide its variants too"
            )
        check_choice("hash", self.hash, HASHES)
        object.__setattr__(self, "weights", checked_weights(self.weights))
        start, stop = self.part
        if not 0 <= start < stop <= 1:
            raise PolicyError(f"traffic is a part of 0 to 1, not {start:g} to {stop:g}")

    @property
    def variants(self) -> tuple[str, ...]:
        """The variants, in order."""
        return tuple(self.weights)

    @property
    def part(self) -> tuple[float, float]:
        """Where the experiment's part of its layer starts and stops."""
        try:
            start, stop = self.traffic if isinstance(self.traffic, tuple) else (0.0, self.traffic)
            return float(start), float(stop)
        except (TypeError, ValueError):
            raise PolicyError(f"traffic is a share, or two, not {quoted(self.traffic)}") from None

    def chances(self, units: Any) -> Floats:
        """Return the number from 0 to 1 that decides the variant of each unit."""
        return HASHES[self.hash](self.name, unit_ids(units))

    def assign(self, units: Any) -> pl.Series:
        """Return the variant of each unit; null where it is not in the experiment.

        Parameters
        ----------
        units
            Ids, as a list, an array or a series; whole numbers are their digits.

        Returns
        -------
        polars.Series
            Called `variant`, in the order of the units.

        Raises
        ------
        CranfieldError
            For a unit that has no id.
        """
        ids = unit_ids(units)
        u = HASHES[self.hash](self.name, ids)
        shares = np.fromiter(self.weights.values(), dtype=np.float64)  # type: ignore[union-attr]
        ends = np.cumsum(shares)
        # The last part has what rounding leaves.
        arm = np.searchsorted(ends[:-1], u, side="right")
        start, stop = self.part
        if (start, stop) != (0.0, 1.0):
            if self.hash != "md5" and self.layer is None:
                inside = (start == 0) & (u < (ends - shares)[arm] + stop * shares[arm])
            else:
                inside = self._inside(ids, start, stop)
            arm = np.where(inside, arm, -1)
        names = pl.Series([*self.variants, None], dtype=pl.String)
        return names.gather(np.where(arm < 0, len(self.variants), arm)).alias("variant")

    def _inside(self, ids: pl.Series, start: float, stop: float) -> Bools:
        if self.hash == "md5":
            salt = f"{self.name}/traffic" if self.layer is None else self.layer
            u = HASHES["md5"](salt, ids)
        else:
            u = HASHES["growthbook-1"](f"__{self.layer}", ids)
        return np.asarray((u >= start) & ((u < stop) | (stop == 1)))


def checked_weights(weights: Any) -> dict[str, float]:
    """Return the share of each variant, or refuse what is none."""
    if isinstance(weights, Mapping):
        given = {_named(name): share for name, share in weights.items()}
    elif isinstance(weights, Sequence) and not isinstance(weights, str):
        given = dict.fromkeys(map(_named, weights), 1 / len(weights) if weights else 0.0)
        if len(given) < len(weights):
            raise PolicyError("a variant is named twice")
    else:
        raise PolicyError(f"weights are shares by variant, not {quoted(weights)}")
    for name, share in given.items():
        number = isinstance(share, (int, float, np.number)) and not isinstance(share, bool)
        if not (isinstance(name, str) and name and number and 0 < share <= 1):
            raise PolicyError(f"weight {quoted(share)} of {quoted(name)} is no share above 0")
    if len(given) < 2:
        raise PolicyError(f"an experiment has two variants or more, not {len(given)}")
    if abs(sum(given.values()) - 1) > 1e-9:
        raise PolicyError(f"weights sum to 1, not {sum(given.values()):.6g}")
    return {name: float(share) for name, share in given.items()}


def _named(variant: Any) -> Any:
    """Return the name of a variant, which may be a number, as it is in tables."""
    if isinstance(variant, (list, dict, set)):
        raise PolicyError(f"a variant is a name, not {quoted(variant)}")
    return str(variant) if isinstance(variant, (int, np.integer)) else variant


def unit_ids(units: Any) -> pl.Series:
    """Return ids of units as text."""
    if isinstance(units, str) or not hasattr(units, "__iter__"):
        raise PolicyError(f"units are a list of ids, not {quoted(units)}")
    given = units if isinstance(units, pl.Series) else list(units)
    if not len(given):
        return pl.Series("unit", [], dtype=pl.String)
    ids, bad = ID.column("unit", given)
    if bad is not None:
        raise CranfieldError(f"unit {bad + 1}: {ID.reason('unit', given[bad])}")
    return ids


def check_assignment(experiments: Sequence[Experiment], units: Any) -> pl.DataFrame:
    """Test whether units are spread as they should, and experiments independently of each other.

    Of each experiment, the numbers of its units are counted in 20 equal parts, and its variants
    against their weights; of each two, the variants of one within those of the other, among units
    that are in both. All by chi-square: p-values are uniform if the hash is as good as random.

    Parameters
    ----------
    experiments
        One or more.
    units
        Ids, each once; some thousand at least.

    Returns
    -------
    polars.DataFrame
        What was tested, the statistic, its degrees of freedom and `p`; NaN where too few units are
        in both.

    Examples
    --------
    >>> two = [Experiment("one"), Experiment("two")]
    >>> check_assignment(two, range(10_000)).select("check", "df").rows()[:2]
    [('one: uniform', 19), ('one: weights', 1)]
    """
    ids = unit_ids(units)
    rows: list[tuple[str, float, int, float]] = []
    assigned = []
    for one in experiments:
        counts = np.bincount((one.chances(ids) * BINS).astype(np.intp).clip(0, BINS - 1))
        padded = np.pad(counts, (0, BINS - counts.size))
        rows.append((f"{one.name}: uniform", *_tested(padded, np.full(BINS, 1 / BINS))))
        arms = one.assign(ids)
        assigned.append(arms)
        within = np.array([(arms == name).sum() for name in one.variants])
        shares = np.fromiter(one.weights.values(), dtype=np.float64)  # type: ignore[union-attr]
        rows.append((f"{one.name}: weights", *_tested(within, shares)))
    for i, j in combinations(range(len(experiments)), 2):
        first, second = experiments[i], experiments[j]
        table = np.array(
            [
                [((assigned[i] == a) & (assigned[j] == b)).sum() for b in second.variants]
                for a in first.variants
            ]
        )
        df = (len(first.variants) - 1) * (len(second.variants) - 1)
        found = (np.nan, np.nan)
        if table.sum(axis=0).all() and table.sum(axis=1).all():
            tested = chi2_contingency(table, correction=False)
            found = (float(tested.statistic), float(tested.pvalue))
        rows.append((f"{first.name} and {second.name}: independent", found[0], df, found[1]))
    return pl.DataFrame(rows, schema=["check", "statistic", "df", "p"], orient="row")


def _tested(counts: NDArray[Any], shares: Floats) -> tuple[float, int, float]:
    total = counts.sum()
    if not total:
        return np.nan, counts.size - 1, np.nan
    found = chisquare(counts, shares / shares.sum() * total)
    return float(found.statistic), counts.size - 1, float(found.pvalue)
