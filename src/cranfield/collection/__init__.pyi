"""Public names of the package `collection`; the most frequent names are in `cranfield` itself."""

# isort: skip_file
from .document_tables import read_groups as read_groups, read_lengths as read_lengths
from .intents import read_intents as read_intents
from .judged.judged_runs import SideData as SideData
from .judged.coverage import Coverage as Coverage, SystemCoverage as SystemCoverage
from .judged.rows import Judgments as Judgments
from .judged.rows import Rows as Rows
from .judged.coverage import Scorable as Scorable
from .metadata.metadata import Metadata as Metadata
from .metadata.metadata import primad as primad
from .metadata.reading import read_metadata as read_metadata
from .metadata.resources import costs_of_runs as costs_of_runs
from .shards import JudgedShards as JudgedShards
