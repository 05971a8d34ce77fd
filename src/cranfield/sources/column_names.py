"""Names of columns: what users call a topic, a document, a grade, ..., in any table.

Every reader takes the names of a column from here, so that a name means the same in every file
and command. The names of one meaning are in groups: a table with names of two groups is read by
the first one, so that the identifier `doc_id` wins over `doc`, which may be its text; a table
with two names of one group is refused.
"""

from __future__ import annotations

from types import MappingProxyType

_GRADE = "grade label relevance rel judgment judgement rating"
_SYSTEM = "tag run_tag system system_id system_name run run_id run_name model model_id model_name"
_IMPRESSION = ("page_id impression_id search_id request_id serp_id", "page impression serp")
_CLICKS = "clicks clicked click is_clicked was_clicked number_of_clicks num_clicks n_clicks"
_START = "start start_time"
_TIME = ("time timestamp event_time datetime ts", _START)
_RANK = "rank position ordinal pos"

# PyTerrier has a `docid` that is a number of its index beside the `docno`.
_DOC = (
    "docno",
    "doc_id document_id pid passage_id corpus_id site_docid",
    "item_id object_id product_id sku task_id unit_id",
    "doc document",
    "item object task unit",
    "url",
)

_TOPIC = ("qid topic_id query_id tid question_id", "topic", "query question")
_SHARD = ("shard shard_id", "part partition")

GROUPS: MappingProxyType[str, tuple[str, ...]] = MappingProxyType(
    {
        "topic": _TOPIC,
        "topic of scores": (
            f"{_TOPIC[0]} topic_no topic_num topic_number query_no query_num query_number q_no",
            *_TOPIC[1:],
        ),
        "doc": _DOC,
        "cited": ("citation", "segment_id", *_DOC, "segment"),
        "rank": (_RANK,),
        "clicked rank": ("clicked_rank", _RANK),
        "score": ("score sim similarity",),
        "system": (_SYSTEM,),
        "grade": (_GRADE,),
        # BEIR, ranx and OpenSearch call the grade of a judgment its score.
        "judgment": (_GRADE, "vote answer gold", "score"),
        "subtopic": ("subtopic subtopic_id", "iteration iter"),
        "intent": ("intent intent_id", "subtopic subtopic_id", "iteration iter"),
        "class": ("class equivalence_class ec",),
        "inclusion": ("inclusion inclusion_probability iprob",),
        "worker": (
            "worker_id annotator_id assessor_id rater_id judge_id",
            "worker annotator assessor rater judge observer coder performer",
            "user user_id",
        ),
        "order": ("order seq sequence", "position"),
        "length": ("length words characters tokens doc_length doclen answer_length syslen",),
        "group": ("group group_id", "provider author"),
        "weight": ("weight", "share membership"),
        "probability": ("probability prob p",),
        "type": ("type intent_type", "kind"),
        "shard": _SHARD,
        "shard of scores": (f"{_SHARD[0]} shard_no", *_SHARD[1:]),
        "judge": ("judge", "name", _SYSTEM),
        "tag": ("tag run_tag run_id",),
        "type of run": ("type run_type",),
        "priority": ("priority precedence",),
        "file": ("file path",),
        "entry": ("entry", _SYSTEM, "description", "name", "id"),
        "date of entry": ("date day", "submitted received", "time"),
        "team of entry": ("team", "author authors participant"),
        "mark": ("mark own",),
        "family": ("family", "team group participant", "system"),
        "team": ("team", "group participant"),
        "first": ("first left system_1",),
        "second": ("second right system_2",),
        "preferred": ("preferred preference winner",),
        "user": ("user user_id visitor visitor_id client client_id",),
        "session": ("session session_id sid",),
        "topic of session": ("topic_id tid", "topic"),
        "query of session": ("query_number qnum", "query query_id qid interaction"),
        "start": (_START, *_TIME[:1]),
        "time": _TIME,
        "clicked at": ("click_time clicked_at",),
        "time of click": ("click_time clicked_at", *_TIME),
        "end": ("end end_time",),
        "dwell": ("dwell dwell_time dwell_seconds time_on_page",),
        "censored": ("censored right_censored dwell_censored",),
        "page": (*_IMPRESSION, "query_id", "id"),
        # Where a query is told by its identifier.
        "impression": (*_IMPRESSION, "id", "key"),
        "query": (
            "query query_text user_query search_term search_query",
            *("topic", "qid", "keywords", "text"),
        ),
        "context": ("query", "context", "topic"),
        "unit": ("unit unit_id", "user user_id", "id"),
        "variant": (
            "variant arm treatment bucket experiment_variant experiment_group",
            "group",
        ),
        "found": ("found number_found results_found num_found total_hits total_results",),
        "method": ("method interleaving interleaving_method",),
        "ranker": ("team ranker", "system"),
        "propensity": ("propensity propensity_score pscore",),
        "clicks": (f"{_CLICKS} click_count",),
        "reward": ("reward", f"{_CLICKS} click_count"),
        "slate": ("page list slate slate_id",),
        "action": ("action", *_DOC),
        "chance": ("chance", "evaluation_policy_pscore"),
        "chance of an action": ("chance probability",),
        "predicted": ("predicted q_hat",),
        "offset": ("offset pos position",),
        "support": ("support assignment",),
        "text": ("text answer summary reference",),
        "nugget": ("nugget nugget_id iunit iunit_id",),
        "vital length": ("vital_length vital_string_length",),
        "importance": ("importance", "label"),
        "sentence": ("sentence sentence_id statement",),
        "measure": ("measure measure_name metric metric_name",),
        "value": ("score value metric_value measure_value",),
    }
)
"""Names of the columns of each meaning, in groups; a name that is not here has no others."""

DECISIVE: MappingProxyType[str, str] = MappingProxyType(
    {
        "status": "status state discarded is_discarded rejected is_rejected approved is_approved"
        " valid is_valid deleted is_deleted deleted_at skipped is_skipped was_cancelled excluded"
        " is_excluded tainted parsed failed error finish_reason rejection_time is_bot bot is_test",
        "count": "impressions impression_count views view_count shows searches search_count count"
        " n num frequency freq occurrences sessions visits pageviews exposures",
        "weight": "weight weights sample_weight",
        "support": "match matched found present label",
        "user": "user user_id user_pseudo_id visitor visitor_id full_visitor_id client client_id"
        " customer customer_id member member_id subscriber subscriber_id account account_id"
        " person person_id subject subject_id participant participant_id patient patient_id"
        " student student_id player player_id household household_id cookie cookie_id device_id"
        " unit unit_id id uid uuid guid email",
        "session": "session session_id sid visit visit_id",
        "units": "users n_users num_users user_count visitors n_visitors customers n_customers"
        " subjects n_subjects participants n_participants accounts n_accounts units n_units"
        " sample_size size population obs samples",
        "currency": "currency currency_code",
        "experiment": "experiment experiment_id experiment_name",
        "exposure": "exposed is_exposed triggered is_triggered",
        "event": "event event_name event_type type action action_type interaction",
        "judge": "judge judge_id judge_name model model_id model_name",
    }
)
"""Names of columns that change what rows mean, by what they are: never passed over silently.

So is every column whose name ends in `status`.
"""

SUCCESS = frozenset(
    {"success", "successful", "succeeded", "ok", "done", "completed", "complete", "finished"}
)
"""States of rows that all count."""

SUMMARIES = frozenset(
    {
        *("all", "overall", "total", "totals", "sum", "count", "min", "max"),
        *("mean", "average", "avg", "amean", "gmean", "hmean", "median"),
        *("std", "stdev", "sd", "variance"),
    }
)
"""Names of rows and columns that summarise others, spelt as by `schemas.spelt`."""

PLAIN = (
    "id q0 topic doc docid document text title body contents content snippet abstract url"
    " description name comment comments note notes passage query question answer prediction"
    " explanation reason reasoning rationale"
)
"""Names of columns that only describe what rows are about: they may be there, and are not used."""
