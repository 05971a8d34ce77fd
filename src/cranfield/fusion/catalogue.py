"""The methods of fusion, by name."""

from __future__ import annotations

from cranfield.fusion.method import Fusion
from cranfield.fusion.names import LISTED
from cranfield.measures.kinds import Kinds

FUSIONS = Kinds(Fusion, "method of fusion", "cranfield.fusion", LISTED)
