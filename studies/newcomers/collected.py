"""All cases, in the order of the tables."""

from __future__ import annotations

from studies.newcomers.habits import HABITS
from studies.newcomers.inputs import INPUTS
from studies.newcomers.mistakes import MISTAKES
from studies.newcomers.tasks import TASKS

TABLES = {"mistakes": MISTAKES, "habits": HABITS, "inputs": INPUTS, "tasks": TASKS}
CASES = [case for table in TABLES.values() for case in table]
