"""Schemas of tables: the columns of each kind of table, and the usual names of columns.

All readers use the names of columns below, so that a name means the same in every file and command.
The names of one meaning are in groups. If a table has names of two groups, the first group wins, so
that the identifier `doc_id` wins over `doc`, which may be its text; a table with two names of one
group is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any

import polars as pl

from cranfield.base.errors import InputError, PolicyError, quote
from cranfield.base.text import list_some, suggest_names
from cranfield.sources.values import Cells, ValueKind, is_number

_GRADE = "grade label relevance rel judgment judgement rating esci_label"
_SYSTEM = "tag run_tag system system_id system_name run run_id run_name model model_id model_name"
_IMPRESSION = ("page_id impression_id search_id request_id serp_id", "page impression serp")
_CLICKS = (
    "clicks clicked click is_click is_clicked was_clicked number_of_clicks num_clicks n_clicks"
)
_START = "start start_time"
_TIME = ("time timestamp event_time datetime ts", _START)
_RANK = "rank position ordinal pos doc_position"
_RANK_ON_PAGE = (
    "result_rank item_rank doc_rank result_position item_position hit_position display_position"
    " display_rank display_order serp_position serp_rank rank_on_page position_on_page"
)

# Without `docid`, which PyTerrier writes beside the `docno`: a number of its index.
_DOC = (
    "docno",
    "doc_id document_id pid passage_id corpus_id site_docid",
    "item_id object_id product_id sku task_id unit_id",
    "doc document",
    "item object task unit",
    "url",
)

_TOPIC = (
    "qid topic_id query_id tid question_id narrative_id",
    "topic",
    "query question",
    "query_text search_query search_term user_query",
)
_SHARD = ("shard shard_id", "part partition")

USUAL_NAMES: MappingProxyType[str, tuple[str, ...]] = MappingProxyType(
    {
        "topic": _TOPIC,
        "topic of scores": (
            f"{_TOPIC[0]} topic_no topic_num topic_number query_no query_num query_number q_no",
            *_TOPIC[1:],
            # Names in ragas, TruLens and DeepEval, LangSmith, and the LM Evaluation Harness.
            "user_input input",
            "example_id doc_id",
        ),
        "doc": _DOC,
        # Google Search Console calls the URL of a result its page.
        "doc of totals": (*_DOC, "page"),
        "cited": ("citation", "segment_id", *_DOC, "segment"),
        "rank": (_RANK,),
        "rank on a page": (_RANK, _RANK_ON_PAGE),
        "clicked rank": ("clicked_rank click_position click_rank", _RANK, _RANK_ON_PAGE),
        "score": ("score sim similarity",),
        "system": (
            _SYSTEM,
            # Names in TruLens.
            "app_version",
            "app_id",
            "retriever retrievers retriever_name reranker embedding embeddings embedding_model"
            " pipeline method approach algorithm configuration config experiment",
        ),
        "grade": (_GRADE,),
        # BEIR, ranx and OpenSearch call the grade of a judgment its score.
        "judgment": (_GRADE, "vote answer gold prediction annotation", "score"),
        "subtopic": ("subtopic subtopic_id", "iteration iter"),
        "intent": ("intent intent_id", "subtopic subtopic_id", "iteration iter"),
        "class": ("class equivalence_class ec",),
        "inclusion": ("inclusion inclusion_probability iprob",),
        "worker": (
            "worker_id annotator_id assessor_id rater_id judge_id",
            "worker annotator assessor rater judge observer coder performer",
            "user user_id username completed_by",
            "participant_id prolific_pid prolific_id",
        ),
        "order": ("order seq sequence", "position"),
        "length": ("length words characters tokens doc_length doclen answer_length syslen",),
        "characters": ("length characters answer_length syslen",),
        "group": ("group group_id", "provider author"),
        "weight": ("weight", "share membership"),
        "probability": ("probability prob p",),
        "type": ("type intent_type", "kind"),
        "shard": _SHARD,
        "shard of scores": (f"{_SHARD[0]} shard_no", *_SHARD[1:]),
        "judge": ("judge", "name", _SYSTEM),
        # A column `query` beside an `id` is a text.
        "id of a topic": (_TOPIC[0], "id number", "topic", "query"),
        "id of a document": (*_DOC[:2], "id", "doc document"),
        "id of a prompt": ("custom_id prompt_id", "id", "key", "record_id"),
        "text of an answer": (
            "text",
            "answer output content completion response",
            "result model_output",
        ),
        "tag": ("tag run_tag run_id",),
        "type of run": ("type run_type",),
        "priority": ("priority precedence",),
        "file": ("file path",),
        "entry": ("entry", _SYSTEM, "description", "name method_name", "id"),
        "date of entry": (
            "date day",
            "submitted submitted_at submission_date submission_time last_submission_date received",
            "time timestamp",
        ),
        "team of entry": ("team team_name participant_team", "author authors participant"),
        "mark": ("mark own",),
        "family": ("family", "team group participant", "system"),
        "team": ("team", "group participant"),
        "first": ("first left system_1 system_a model_1 model_a generator_1",),
        "second": ("second right system_2 system_b model_2 model_b generator_2",),
        "place of a system": ("order", "position shown_first first_shown"),
        "preferred": ("preferred preference winner",),
        "user": ("user user_id visitor visitor_id client client_id",),
        "session": ("session session_id sid",),
        "topic of session": ("topic_id tid", "topic"),
        "query of session": (
            "query_number qnum",
            "turn turn_number turn_no",
            "query_id qid interaction",
            "query",
        ),
        "user of session": (
            "user user_id visitor visitor_id client client_id",
            "participant participant_id subject subject_id student student_id worker worker_id"
            " member member_id customer customer_id account account_id uid",
        ),
        "start": (_START, *_TIME[:1]),
        "time": _TIME,
        # Each name in a group of its own, as tables may have several.
        "time of query": ("query_time", *" ".join(_TIME).split()),
        "clicked at": ("click_time clicked_at",),
        "time of click": ("click_time clicked_at", *_TIME),
        "end": ("end end_time",),
        "dwell": ("dwell dwell_time dwell_seconds time_on_page",),
        "censored": ("censored right_censored dwell_censored",),
        "page": (*_IMPRESSION, "query_id", "id"),
        # Where a query is given by its identifier.
        "impression": (*_IMPRESSION, "id", "key"),
        "query": (
            "query query_text user_query search_term search_query",
            *("topic", "qid", "keywords", "text"),
        ),
        "context": ("query", "context", "topic"),
        "unit": ("unit unit_id", "user user_id", "id"),
        "variant": (
            "variant arm treatment bucket variation assigned_variant experiment_variant"
            " experiment_group",
            "group variant_id variant_name variation_id variation_name",
        ),
        "total_results": (
            "total_results found number_found results_found num_found total_hits",
            "num_results number_of_results results_count result_count nb_hits",
        ),
        "method": ("method interleaving interleaving_method",),
        "ranker": ("team ranker", "system"),
        "propensity": ("propensity propensity_score pscore",),
        "clicks": (f"{_CLICKS} click_count",),
        "impressions": ("impressions impression_count views view_count shows",),
        "reward": ("reward", f"{_CLICKS} click_count"),
        "slate": ("page list slate slate_id",),
        "action": ("action", *_DOC),
        "target_probability": ("target_probability", "evaluation_policy_pscore"),
        "probability of an action": ("target_probability probability",),
        "predicted": ("predicted q_hat",),
        "offset": ("offset pos position",),
        "support": ("support assignment",),
        "text": ("text answer summary",),
        # A table may have the text of a system beside the reference.
        "system text": (
            "prediction prediction_text predicted_answer generated generated_text generated_answer"
            " generated_summary response output completion candidate hypothesis",
            "text answer summary",
        ),
        "reference text": (
            "reference references reference_text reference_answer reference_summary ground_truth"
            " gold gold_answer golden_answer golden_answers expected expected_answer"
            " expected_output ideal_answer target highlights",
            "text answer answers summary",
        ),
        "topic of a vote": (*_TOPIC, "instruction prompt"),  # As in AlpacaEval and LMSYS
        "topic of a text": (*_TOPIC, "user_input input", "id"),
        "nugget": ("nugget nugget_id iunit iunit_id",),
        "vital length": ("vital_length vital_string_length",),
        "importance": ("importance", "label"),
        "vital": ("vital is_vital essential is_essential must_have",),
        "sentence": ("sentence sentence_id statement",),
        "measure": ("measure measure_name metric metric_name",),
        "number of topics": ("topics n_topics num_topics", "n"),
        "name of a test": ("name", "paper study"),
        "alternative": ("alternative alternative_hypothesis", "sides sided tails tailed tail"),
        "alpha": ("alpha significance_level",),
        "prediction": ("prediction", "value score"),
        "value": ("score value metric_value measure_value",),
    }
)
"""Usual names of columns by meaning, in groups of decreasing priority."""

DECISIVE: MappingProxyType[str, str] = MappingProxyType(
    {
        "status": "status state discarded is_discarded rejected is_rejected approved is_approved"
        " valid is_valid deleted is_deleted deleted_at skipped is_skipped was_cancelled excluded"
        " is_excluded exclude outlier is_outlier fraud is_fraud is_internal is_employee is_qa"
        " qa_user eligible is_eligible qualified is_qualified multiple_exposures tainted parsed"
        " failed error finish_reason rejection_time is_bot bot is_robot is_crawler is_test"
        " test_account is_test_account test_user is_test_user retracted is_retracted withdrawn"
        " is_withdrawn exception error_message error_msg error_type traceback timed_out refunded"
        " is_refund is_refunded"
        " failure_reason is_failed has_failed http_code response_code stop_reason is_invalid",
        "split": "split dataset data_set subset phase challenge_phase task track",
        "count": "impressions impression_count views view_count shows searches search_count count"
        " n num frequency freq occurrences sessions visits pageviews screen_page_views"
        " event_count exposures cnt impr total_impressions num_impressions n_impressions"
        " nb_impressions total_views num_views nb_views num_shown nb_shown n_shown"
        " shown_count displays display_count search_volume count(*) count(1) count_star()",
        "votes": "votes vote_count number_of_votes num_votes n_votes",
        "weight": "weight weights sample_weight sampling_weight survey_weight",
        "assignment weight": "ipw iptw ip_weight inverse_probability_weight",
        "support": "match matched is_match found present is_present label hit covered is_covered"
        " supported is_supported entailed recalled captured answered verdict grade judgment"
        " judgement relevance score value",
        "user": "user user_id user_pseudo_id visitor visitor_id full_visitor_id client client_id"
        " customer customer_id member member_id subscriber subscriber_id account account_id"
        " person person_id subject subject_id participant participant_id patient patient_id"
        " student student_id player player_id household household_id cookie cookie_id device_id"
        " unit unit_id id uid uuid guid email",
        "session": "session session_id sid visit visit_id",
        "units": "users n_users num_users user_count visitors n_visitors customers n_customers"
        " subjects n_subjects participants n_participants accounts n_accounts units n_units"
        " sample_size size population obs samples assignments denominator uu observations"
        " n_observations num_observations n_obs nobs people players clients respondents"
        " recipients uniques reach",
        "currency": "currency currency_code",
        "measure": "metric metric_name metric_id measure measure_name measure_id kpi kpi_name goal"
        " goal_name goal_id",
        "experiment": "experiment experiment_id experiment_name experiment_key exp exp_id test_id"
        " test_name test_key feature_key flag_key",
        "exposure": "exposed is_exposed triggered is_triggered in_experiment is_in_experiment"
        " enrolled is_enrolled",
        "visibility": "viewed is_viewed seen is_seen visible is_visible examined is_examined"
        " impression impressed in_viewport in_view",
        "event": "event event_name event_type event_action type action action_name action_type"
        " user_action interaction interaction_type activity_type",
        "judge": "judge judge_id judge_name judge_model evaluator evaluator_name model model_id"
        " model_name",
        "assessor": "assessor assessor_id annotator annotator_id rater rater_id worker worker_id"
        " coder labeler labeller grader",
        "criterion": "criterion criteria aspect dimension rubric",
        "presentation order": "swapped swap is_swapped flipped flip is_flipped reversed"
        " is_reversed position_swapped positions_swapped order_swapped permuted is_permuted"
        " inverted is_inverted presentation_order ab_order game",
        "outcome": "success is_success ok is_ok is_error has_error parse_error parse_ok"
        " parse_success is_parsed refused is_refused refusal is_spam spammer is_spammer banned"
        " is_banned reject is_attention_check attention_check is_honeypot honeypot is_training"
        " is_practice practice is_draft draft is_archived archived is_hidden hidden is_truncated"
        " truncated is_fallback fallback used_fallback status_code succeeded passed pass"
        " completed errors failure timeout invalid skip drop"
        " include use flag qc outcome",
        "replicate": "replicate replicate_id repetition trial attempt",
        "unit of measurement": "uom unit_of_measurement",
    }
)
"""Names of columns that may change the meaning of rows, by kind; see `Schema.decisive_kinds`.

Names that end in a word of `_DECISIVE_ENDS`, such as `total_users`, belong to these kinds, too.
"""

SUCCESS = frozenset(
    {"success", "successful", "succeeded", "ok", "done", "completed", "complete", "finished"}
)
"""Values of a status column that mark valid rows."""

DESCRIPTIVE_NAMES = (
    "id q0 topic doc docid document text title body contents content snippet abstract url"
    " description name comment comments note notes passage query question answer prediction"
    " explanation reason reasoning rationale reference response ground_truth"
)
"""Names of columns that only describe rows; warnings on unused columns rarely name them."""

NAMED_FORMATS = frozenset({"csv", "tsv", "json", "jsonl", "parquet"})
"""Formats with named columns."""

TABLE_FORMATS = frozenset({"csv", "tsv", "parquet"})
"""Formats that always hold a table with named columns."""

NO_OWN_NAMES: Mapping[str, str] = MappingProxyType({})
"""No names set by the user: all columns have their usual names."""

_MAX_COLUMNS = 100
"""Maximum number of columns in a mapping; a mapping with more keys is not a table."""

INDEX_NAME = re.compile(r"(unnamed|duplicated|indexlevel)\d*|index|")
"""Names, perhaps empty, that pandas and polars give to an index or a repeated column."""

_PREFIX_OR_BLANKS = re.compile(r"^(?:(?:Input|Answer)\.|(?:INPUT|OUTPUT|ASSIGNMENT):)|[\s_.:-]+")


def fold_name(name: object) -> str:
    """Normalise the name of a column: case-folded, without blanks and the characters `_.:-`.

    The prefixes `Input.` and `Answer.` of MTurk, and `INPUT:`, `OUTPUT:` and `ASSIGNMENT:` of
    Toloka, are removed, too.
    """
    return _PREFIX_OR_BLANKS.sub("", str(name)).casefold()


_DESCRIPTIVE_WORDS = frozenset(map(fold_name, DESCRIPTIVE_NAMES.split()))
_DECISIVE_ENDS = {"status": "status", "currency": "currency", "users": "units"}
_DECISIVE_ENDS |= dict.fromkeys(("ofimpressions", "adimpressions"), "count")
_KIND_BY_NAME = {
    fold_name(name): kind for kind, names in DECISIVE.items() for name in names.split()
}


def _find_decisive_kind(name: str) -> str:
    """Return the kind of a decisive column; empty for other columns."""
    ends = (kind for end, kind in _DECISIVE_ENDS.items() if name.endswith(end))
    return _KIND_BY_NAME.get(name) or next(ends, "")


@dataclass(frozen=True)
class FileColumn:
    """A column: its name, the kind of its values, and its meaning.

    `meaning` is a key of :data:`~cranfield.sources.schemas.USUAL_NAMES`: by default the name of the
    column; None for a name that the user set. `noun` is the noun for the values in messages, by
    default the name of the column.
    """

    name: str
    kind: ValueKind
    meaning: str | None = ""
    is_required: bool = True
    noun: str = ""

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The usual names, in groups of decreasing priority."""
        meaning = self.name if self.meaning == "" else self.meaning
        groups = [tuple(names.split()) for names in USUAL_NAMES.get(meaning or "", ())]
        is_usual = fold_name(self.name) in {fold_name(name) for group in groups for name in group}
        own_group = () if is_usual else ((self.name,),)
        return (*own_group, *groups)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for group in self.groups for name in group)

    def find_in(self, names: Sequence[object]) -> list[int]:
        """Return the positions of the names of the first group that occurs among these names."""
        folded_names = [fold_name(name) for name in names]
        for group in self.groups:
            usual_names = {*map(fold_name, group)}
            positions = [k for k, name in enumerate(folded_names) if name in usual_names]
            if positions:
                return positions
        return []


def declare_optional(
    name: str, kind: ValueKind, meaning: str | None = "", noun: str = ""
) -> FileColumn:
    return FileColumn(name, kind, meaning, is_required=False, noun=noun)


Suspicions = dict[str, pl.Expr]
"""Conditions for refusing a row, by the reason; `{column}` in the reason is a value of the row."""


def suspect_negative(column: str) -> Suspicions:
    return {f"{column} must be at least 0, got {{{column}:g}}": pl.col(column) < 0}


def suspect_unnamed(column: str) -> Suspicions:
    """Return a condition for rows without a system, in a table where other rows have systems."""
    is_null = pl.col(column).is_null()
    return {"has no system, but other rows have one": is_null & ~is_null.all()}


def is_repeated(*columns: str) -> pl.Expr:
    return ~pl.struct(columns).is_first_distinct()


def differs(column: str, *key: str) -> pl.Expr:
    """Return a mask of rows whose value differs from the first known value with the same key."""
    return pl.col(column) != pl.col(column).drop_nulls().first().over(key)


@dataclass(frozen=True)
class Lines:
    """Lines of text without a header; if `has_more`, further fields are ignored, not refused.

    `hint` is advice in the message about a wrong number of fields.
    """

    names: tuple[str, ...]
    n_required: int
    has_more: bool = False
    split: Callable[[str], list[str]] = str.split
    hint: str = ""


@dataclass(frozen=True)
class Schema:
    """Description of a kind of table: its columns, formats and checks.

    kind: name of the table in messages.
    columns: the columns to read; a warning lists most other columns of a table.
    noun: name of the input in messages, by default that of the table.
    formats: accepted formats with named columns.
    lines, default_format: how to read files with other suffixes: as lines of text without a
        header, or in this format.
    tuples: columns of a plain tuple, required columns first; None if rows in memory are refused.
    lines_as_rows: columns of a tuple with as many values as a line of text has fields.
    read_mapping: converts a mapping or a JSON object to columns, given the name of the source.
    read_nested: converts JSON whose records contain lists; returns the columns and the index of
        each row's record, or None for other JSON.
    hint: advice in messages about a missing column, if there is no better advice.
    decisive_kinds: kinds of `DECISIVE` columns that are refused, unless their values are harmless.
    suspicions: conditions for refusing a row, by the reason.
    is_selected: whether the user selected the columns, so that other columns cause no warning.
    """

    kind: str
    columns: tuple[FileColumn, ...]
    noun: str = ""
    formats: frozenset[str] = NAMED_FORMATS
    lines: Lines | None = None
    default_format: str = ""
    tuples: tuple[str, ...] | None = ()
    lines_as_rows: tuple[str, ...] = ()
    read_mapping: Callable[[Mapping[Any, Any], str], Mapping[str, Cells]] | None = None
    read_nested: Callable[[Any, str], tuple[Mapping[str, Cells], list[int]] | None] | None = None
    hint: str = ""
    decisive_kinds: tuple[str, ...] = ("status",)
    suspicions: Suspicions = field(default_factory=dict)
    is_selected: bool = False

    @property
    def row_noun(self) -> str:
        """Plural noun for the rows, for messages."""
        return self.kind.removeprefix("table of ")

    def make_empty_error(self, source: str) -> InputError:
        return InputError("is empty; expected at least one row", source=source)

    @property
    def required_names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns if column.is_required)

    def find_positions(
        self, names: Sequence[object], source: str, own_names: Mapping[str, str] = NO_OWN_NAMES
    ) -> dict[str, int]:
        """Return the positions of the columns that occur; refuse missing and ambiguous columns."""
        # The columns that the user set come first: no other column may be read from them.
        positions = {
            column.name: _find_named_column(own_names[column.name], names, source, column)
            for column in self.columns
            if column.name in own_names
        }
        for column in self.columns:
            if column.name in own_names:
                continue
            # Each column of the table has one meaning only.
            matches = [k for k in column.find_in(names) if k not in positions.values()]
            if len(matches) > 1:
                choices = " and ".join(quote(names[k]) for k in matches)
                noun = column.noun or column.name
                advice = self.suggest_selection(column.name)
                reason = f"has {len(matches)} columns for the {noun}: {choices}{advice}"
                raise InputError(reason, source=source)
            if matches:
                positions[column.name] = matches[0]
            elif column.is_required:
                reason = self._describe_missing_column(column, names)
                if any(isinstance(name, str) and is_number(name) for name in names):
                    reason = self._describe_missing_header(names)
                raise InputError(reason, source=source)
        return {col.name: positions[col.name] for col in self.columns if col.name in positions}

    def suggest_selection(self, column: str) -> str:
        """Return advice on a table with several columns of this meaning."""
        if "columns={" in self.hint:
            return f"; columns={{'{column}': ...}} selects one"
        return "; remove or rename all but one"

    def is_table(self, data: Mapping[Any, Any]) -> bool:
        """Return True for a mapping of columns that contains the first two required columns."""
        keys = [column for column in self.columns if column.is_required][:2]
        if len(data) > _MAX_COLUMNS or not all(column.find_in([*data]) for column in keys):
            return False
        for values in data.values():
            cells = values.values() if isinstance(values, Mapping) else values
            if isinstance(cells, str) or not isinstance(cells, Iterable):
                return False
            if isinstance(next(iter(cells), None), (Mapping, list, tuple)):
                return False
        return len(keys) == 2

    def find_column(self, name: object) -> str | None:
        """Return the name of the column with this usual name, or None."""
        word = fold_name(name)
        matches = (column.name for column in self.columns if word in map(fold_name, column.names))
        return next(matches, None)

    def find_columns(self, names: Iterable[object]) -> list[str]:
        """Return the columns with these usual names; refuse unknown and repeated columns."""
        columns: list[str] = []
        for name in names:
            column = self.find_column(name)
            if column is None or column in columns:
                expected = ", ".join(col.name for col in self.columns)
                reason = f"unknown column {quote(name)} in columns; expected one of: {expected}"
                if column is not None:
                    reason = f"columns must name each column once, got {column} twice"
                raise PolicyError(reason)
            columns.append(column)
        return columns

    def find_own_names(self, columns: Mapping[str, str] | None) -> dict[str, str]:
        """Return the names that the user set, by column; keys of `columns` are any usual names."""
        names = columns or {}
        return dict(zip(self.find_columns(names), map(str, names.values()), strict=True))

    @staticmethod
    def is_descriptive(name: object) -> bool:
        """Return True if a column of this name only describes rows."""
        return fold_name(name) in _DESCRIPTIVE_WORDS

    @staticmethod
    def may_number_rows(name: object, position: int) -> bool:
        """Return True if columns of this name at this position often contain row numbers only."""
        spelling = fold_name(name)
        is_index = INDEX_NAME.fullmatch(spelling) is not None and (spelling != "" or position == 0)
        return spelling == "id" or is_index

    def find_unused(
        self, names: Sequence[object], used_positions: Collection[int]
    ) -> tuple[list[int], dict[int, tuple[int, FileColumn]], dict[int, str]]:
        """Return the positions of unused columns in three groups.

        First, columns to report, without columns that only describe rows. Second, columns with the
        same meaning as a used column, each with the position and `FileColumn` of the used column.
        Third, decisive columns, with their kind, a key of `DECISIVE`. If the user selected the
        columns, the first two groups are empty.
        """
        words = {k: fold_name(name) for k, name in enumerate(names) if k not in used_positions}
        kinds = {k: _find_decisive_kind(word) for k, word in words.items()}
        if "value" in {fold_name(names[k]) for k in used_positions}:
            # As in Langfuse: a row has the name of a criterion and its value.
            kinds |= {k: "criterion" for k, word in words.items() if word == "name"}
        if "unit of measurement" in self.decisive_kinds:
            # In other tables, a unit is a person or a document.
            kinds |= {k: "unit of measurement" for k, n in words.items() if n in {"unit", "units"}}
        if "threshold" in words.values():
            # As in DeepEval: a score is a success if it reaches a threshold.
            kinds |= {k: "" for k, word in words.items() if word in {"success", "passed", "pass"}}
        decisive_kinds = {k: kind for k, kind in kinds.items() if kind in self.decisive_kinds}
        if self.is_selected:
            return [], {}, decisive_kinds
        synonyms: dict[int, tuple[int, FileColumn]] = {}
        for column in self.columns:
            usual_names = {*map(fold_name, column.names)}
            positions = [k for k in used_positions if fold_name(names[k]) in usual_names]
            for k in [k for k in words if positions and words[k] in usual_names]:
                synonyms[k] = positions[0], column
        reported_positions = [
            k
            for k, word in words.items()
            if k not in synonyms and (word not in _DESCRIPTIVE_WORDS or word == "id")
        ]
        return reported_positions, synonyms, decisive_kinds

    def _describe_missing_column(self, column: FileColumn, names: Sequence[object]) -> str:
        usual_names = dict.fromkeys((column.name, *column.names))
        usual_text = f" (usual names: {list_some(usual_names, 10)})" if len(usual_names) > 1 else ""
        columns_text = ", ".join(quote(name) for name in names[:12]) or "none"
        hint = self._suggest_fix(names) or self.hint.format(name=column.name)
        if not usual_text:
            hint = suggest_names(column.name, map(str, names), show=quote) + hint
        return f"has no {column.name} column{usual_text}; columns: {columns_text}{hint}"

    def _describe_missing_header(self, names: Sequence[object]) -> str:
        """Describe a table without a header, with an example of a header."""
        example_names = self.lines_as_rows if len(names) == len(self.lines_as_rows) else self.tuples
        example = ", ".join(example_names or self.required_names)
        # The CSV reader renames repeated names.
        first_line = ", ".join(quote(str(name).split("_duplicated_")[0]) for name in names[:6])
        return (
            f"expected the names of the columns in the first line, got {first_line}; insert a line"
            f" such as {example}, with the same separator"
        )

    def _suggest_fix(self, names: Sequence[object]) -> str:
        """Describe a likely mistake in the header of a file."""
        if len(names) != 1 or not isinstance(name := names[0], str):
            return ""
        if ";" in name:
            return "; expected commas or tabs between columns, got semicolons"
        if name.count(",") > 1:
            return "; a file with commas between columns requires the suffix .csv"
        if "\t" in name and any(map(self.find_column, name.split("\t"))):
            return "; a file with tabs between columns requires the suffix .tsv"
        if len(self.lines_as_rows) == len(name.split()):
            layout = " ".join(self.lines_as_rows)
            return f"; this looks like TREC text ({layout}): use another suffix, or format='trec'"
        return "; expected commas or tabs between columns, got '|'" * ("|" in name)


def _find_named_column(name: str, names: Sequence[object], source: str, column: FileColumn) -> int:
    """Return the position of the column that the user named, exactly or else by its folded name."""
    for spelling in (str, fold_name):
        spellings = [*map(spelling, names)]
        if spelling(name) in spellings:
            return spellings.index(spelling(name))
    names_text, noun = ", ".join(map(quote, names[:12])), column.noun or column.name
    reason = f"unknown column {quote(name)} for the {noun}; expected one of: {names_text}"
    raise InputError(reason, source=source)


def split_at_tabs(line: str, widths: Collection[int]) -> list[str]:
    """Split a line at tabs; return no fields if their number is not one of the widths."""
    # A leading tab follows an empty field if the width allows it; a trailing tab only if needed.
    for text in (line.rstrip(), line.strip(), line) if "\t" in line else ():
        fields = [field.strip() for field in text.split("\t")]
        if len(fields) in widths:
            return fields
    return []


def split_fields(line: str, widths: Collection[int]) -> list[str]:
    """Split a line at tabs, semicolons or blanks; return no fields for a comment."""
    if line.lstrip().startswith("#"):
        return []
    if fields := split_at_tabs(line, widths):
        return fields
    line = line.strip()
    separator = ";" if ";" in line else "\t" if "\t" in line else None
    return [field.strip() for field in line.split(separator)]


def make_line_schema(
    kind: str,
    *columns: FileColumn,
    read_mapping: Callable[[Mapping[Any, Any], str], Mapping[str, Cells]],
    suspicions: Suspicions | None = None,
) -> Schema:
    """Return a schema for tables and lines with these columns, and tuples of the required ones."""
    required = tuple(column.name for column in columns if column.is_required)
    split = partial(split_fields, widths=range(len(required), len(columns) + 1))
    lines = Lines(tuple(column.name for column in columns), len(required), split=split)
    schema = Schema(kind, columns, lines=lines, tuples=required, read_mapping=read_mapping)
    return replace(schema, suspicions=suspicions or {}, hint="; rename the column to {name}")
