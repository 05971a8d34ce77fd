"""Build hook of the site: what each reader of tables accepts, made from its schema."""

from __future__ import annotations

from collections.abc import Iterator
from pkgutil import resolve_name

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from navigation import section

from cranfield.sources.chunks import FORMAT_OF_SUFFIX
from cranfield.sources.schemas import DECISIVE, DESCRIPTIVE_NAMES, Schema

PAGE = "readers.md"

READERS = {
    "Runs": ("cranfield.collection.files.named_columns:RUN", "reading.md"),
    "Runs without scores": ("cranfield.collection.files.named_columns:RANKS", "reading.md"),
    "Judgments": ("cranfield.collection.files.named_columns:QRELS", "reading.md"),
    "Excluded documents": (
        "cranfield.collection.judged.judging:EXCLUSION_SCHEMA",
        "judging.md",
    ),
    "Lengths of documents": ("cranfield.collection.document_tables:_LENGTHS", "users.md"),
    "Groups of documents": ("cranfield.collection.document_tables:_GROUPS", "fairness.md"),
    "Intents": ("cranfield.collection.intents:_INTENTS", "diversity.md"),
    "Probabilities of relevance": (
        "cranfield.collection.probabilities:PROBABILITIES",
        "probabilities.md",
    ),
    "Shards": ("cranfield.collection.shards:_SHARDS", "testing-tests.md"),
    "Documents of a collection": ("cranfield.collection.shards:_DOCUMENTS", ""),
    "Labels of people": ("cranfield.assess.labels.reading:LABELS", "labels.md"),
    "Gold grades": ("cranfield.assess.labels.reading:_GOLD_ITEMS", "labels.md"),
    "Labels of LLM judges": ("cranfield.assess.judges.reading:_LABELS", "llm-judges.md"),
    "Pairs to judge": ("cranfield.assess.judges.prompts:_PAIRS", "llm-judges.md"),
    "Prompts": ("cranfield.assess.judges.prompts:_PROMPTS", "llm-judges.md"),
    "Answers to prompts": ("cranfield.assess.judges.prompts:ANSWERS", "llm-judges.md"),
    "Families of judges": ("cranfield.assess.judges.bias:_FAMILIES", "llm-judges.md"),
    "Teams": ("cranfield.meta.collection_studies.rankings:_TEAMS", "testing-collections.md"),
    "Preferences": (
        "cranfield.online.interleaving.side_by_side:PREFERENCES",
        "testing-measures.md",
    ),
    "Side-by-side preferences": (
        "cranfield.online.interleaving.side_by_side:_VOTES",
        "llm-judges.md",
    ),
    "Predictions of query performance": (
        "cranfield.meta.prediction_study:_PREDICTIONS",
        "testing-measures.md",
    ),
    "Answers": ("cranfield.texts.answers:ANSWERS", "answers.md"),
    "Nugget assignments": ("cranfield.texts.answers:ASSIGNMENTS", "answers.md"),
    "Nuggets": ("cranfield.texts.gold:NUGGETS", "answers.md"),
    "Citations": ("cranfield.texts.citations:_CITATIONS", "answers.md"),
    "Support of citations": ("cranfield.texts.citations:_SUPPORT", "answers.md"),
    "Trailtexts": ("cranfield.measures.texts.trailtext:_TRAILTEXTS", "answers.md"),
    "Texts": ("cranfield.texts.summaries:_TEXTS", "answers.md"),
    "Reference texts": ("cranfield.texts.summaries:_REFERENCES", "answers.md"),
    "Scores": ("cranfield.evaluation.scorefiles.cells:SCORES", "scores.md"),
    "Sessions": ("cranfield.sessions.reading:_SESSIONS", "sessions.md"),
    "Clicks of sessions": ("cranfield.sessions.reading:CLICK_COLUMNS", "sessions.md"),
    "Topics of sessions": ("cranfield.sessions.reading:TOPICS", "sessions.md"),
    "Logs: pages": ("cranfield.online.log.cells:PAGES", "logs.md"),
    "Logs: results": ("cranfield.online.log.cells:RESULTS", "logs.md"),
    "Logs: clicks": ("cranfield.online.log.cells:CLICKS", "logs.md"),
    "Logs: one table of shown results": ("cranfield.online.log.cells:FLAT", "logs.md"),
    "Labels of pages": ("cranfield.online.measures.measuring:LABELS", "online-measures.md"),
    "Totals of impressions and clicks": (
        "cranfield.online.measures.documents:_TOTALS",
        "online-measures.md",
    ),
    "Groups of topics": ("cranfield.significance.summary:_TOPIC_GROUPS", "scores.md"),
    "Costs of systems": ("cranfield.significance.cost:_COSTS", "effects.md"),
    "Published tests": ("cranfield.significance.published:_TESTS", "power.md"),
    "Factors of systems": ("cranfield.significance.models.factors:_FACTORS", "significance.md"),
    "Replicates of systems": ("cranfield.scores.replicates:_REPLICATES", "replicates.md"),
    "Pages to interleave": ("cranfield.online.interleaving.interleaver:_PAGES", "interleaving.md"),
    "Logged actions": ("cranfield.online.off_policy.policy_value:ACTIONS", "off-policy.md"),
    "Policies": ("cranfield.online.off_policy.policy_value:POLICY", "off-policy.md"),
    "Leaderboards": ("cranfield.campaign.results.history:_LEADERBOARD", "campaign-results.md"),
    "Tables of runs to submit": (
        "cranfield.campaign.submitting.archive:_SCHEMA",
        "campaigns.md",
    ),
}
"""Where each schema is declared, and the page of its guide."""


FORMS = (
    (
        "Amazon MTurk, Toloka",
        "CSV and TSV, with `Input.`, `Answer.`, `INPUT:`, ... before names",
        "`labels`",
    ),
    ("Label Studio", "JSON, JSON_MIN and CSV", "`labels`, with `--columns grade=QUESTION`"),
    (
        "Kili, Prodigy, Argilla, doccano",
        "JSON and JSON lines",
        "`labels`; one file each as `NAME=FILE`",
    ),
    ("Quepid, spreadsheets", "a column for each judge", "`labels --worker-columns A,B`"),
    ("Quepid", "`query,docid,rating`", "judgments, with the setting `ungraded: drop`"),
    ("Quepid, LETOR, RankLib", "`GRADE qid:TOPIC ... # DOCUMENT`", "judgments"),
    (
        "OpenSearch Search Relevance Workbench",
        "JSON with `judgmentRatings`, also inside the response of a search",
        "judgments, with the setting `map-grades: [0.5]` for real numbers",
    ),
    ("language models", "answers as text", "`judges`, with `map-grades: 'score: ([0-9])'`"),
    ("OpenSearch UBI", "JSON lines, bulk files, hits with `_source`", "logs of format `ubi`"),
    ("Search consoles", "`query,doc,rank,impressions,clicks`", "`online measure --totals`"),
    (
        "TREC RAG, RAGTIME, BioGen",
        "JSON of answers",
        "`answers --citations RUN... SUPPORT`; references as a run",
    ),
    ("AutoNuggetizer", "JSON of assignments; of nuggets", "`answers --assignments`; `--nuggets`"),
    ("ragas", "a CSV for each system", "`compare --scores NAME=FILE`"),
    ("SQuAD, ALCE", "JSON of answers and references", "`answers --references`"),
    ("pytrec_eval, ranx", "JSON of scores by topic", "`compare --scores`"),
    ("CLEF", "XML with `<identifier>`", "topics of a campaign"),
    ("LongEval", "SYSTEM/SNAPSHOT/FILE", "runs, by the pattern `'FOLDER/*/*/*'`"),
    ("NanoBEIR, MS MARCO", "topic and relevant document", "judgments"),
)
"""Files of other tools: who writes them, their form, and what reads them."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the page into the navigation."""
    section(config.nav, "Runs and judgments").insert(1, {"What each reader accepts": PAGE})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page that is made here."""
    files.append(File.generated(config, PAGE, content="\n".join(page())))
    return files


def page() -> Iterator[str]:
    """Write the rules of all tables, and the columns of each."""
    yield from [
        "# What each reader accepts",
        "",
        "Tables are read from files, from data frames (pandas, Polars, Arrow, DuckDB) and, unless"
        " noted below, from rows in memory. Columns are found by name. Case, blanks, hyphens, underscores, dots and colons"
        " in names do not matter. A name means the same in every file and command.",
        "",
        "| rule | what happens |",
        "| --- | --- |",
        "| Two columns have names of one meaning | Names are listed below in order, separated by"
        " semicolons. A name before a semicolon wins over one after it: `doc_id` is read and"
        " `doc`, which may be a text, is not. Names of the same rank are refused with both names."
        " |",
        "| Two columns have one name | The table is refused, also if the column is not read. |",
        "| Semicolons separate the columns of a CSV or TSV file | It is read (not by `scan_log`);"
        " numbers may have a decimal comma, if no number of the table has a point. |",
        "| A column is not read | One line says so: `columns not used: ...`. Nothing is said of"
        f" columns with one value in all rows, of texts that describe a row ({names(DESCRIPTIVE_NAMES)}) and of other names of a column that is"
        " read. |",
        "| A column that is not read changes what rows mean | The table is refused (exit status 2)."
        " Which of them each table refuses is said below; values that are all the same"
        " are no reason to refuse it. |",
        "| A required column is missing | The table is refused, with the names of its columns. |",
        "",
        "| columns that change what rows mean | names |",
        "| --- | --- |",
    ]
    yield from [f"| {kind} | {names(all_of)} |" for kind, all_of in DECISIVE.items()]
    yield from ["", "## Files of other tools", "", "| written by | form | read by |"]
    yield "| --- | --- | --- |"
    yield from (f"| {' | '.join(form)} |" for form in FORMS)
    yield from [
        "",
        "[JSON of search engines](reading.md#json-of-search-engines-and-rerankers).",
        "",
    ]
    for title, (place, guide) in READERS.items():
        yield from table(title, resolve_name(place), guide)


def table(title: str, schema: Schema, guide: str) -> Iterator[str]:
    """Write what a table of one kind may be, and its columns."""
    yield from [f"## {title}", ""]
    suffixes = [f"`{end}`" for end, form in FORMAT_OF_SUFFIX.items() if form in schema.formats]
    yield f"Files: {', '.join(suffixes)}."
    if schema.lines is not None:
        optional = len(schema.lines.names) > schema.lines.n_required
        more = f" (at least the first {schema.lines.n_required})" if optional else ""
        yield f"Other files are lines without a header: {', '.join(schema.lines.names)}{more}."
    if schema.tuples is None:
        yield "Not read from rows in memory."
    if schema.tuples:
        yield f"Rows without names are tuples: {', '.join(schema.tuples)}."
    if schema.decisive_kinds:
        yield f"Columns that are refused: {', '.join(schema.decisive_kinds)}."
    if guide:
        yield f"[Guide]({guide})."
    yield from ["", "| column | required | names |", "| --- | --- | --- |"]
    for column in schema.columns:
        groups = "; ".join(names(" ".join(group)) for group in column.groups)
        required = "yes" if column.is_required else "no"
        yield f"| {column.noun or column.name} | {required} | {groups} |"
    yield ""


def names(text: str) -> str:
    """Write names that are separated by blanks as a list."""
    return ", ".join(f"`{name}`" for name in text.split())
