"""Files and data of every kind that is read, most of them nearly right."""

from __future__ import annotations

import random
from pathlib import Path

from studies.attack.reading.archives import archive_case
from studies.attack.reading.formats import format_case
from studies.attack.reading.judges import judge_case
from studies.attack.reading.labels import label_case
from studies.attack.reading.logs import log_case
from studies.attack.reading.memory import memory_case
from studies.attack.reading.named import named_case
from studies.attack.reading.text import text_case
from studies.attack.work.workers import Cases, Make

SHARES: dict[Make, float] = {
    text_case: 0.4,
    named_case: 0.2,
    format_case: 0.15,
    archive_case: 0.05,
    memory_case: 0.1,
    label_case: 0.04,
    judge_case: 0.02,
    log_case: 0.04,
}


def case(rng: random.Random, folder: Path) -> bool:
    """Read one of them, and compare with what a plain reading of the documentation says."""
    [make] = rng.choices([*SHARES], [*SHARES.values()])
    return make(rng, folder)


attack = Cases("readers", case)
