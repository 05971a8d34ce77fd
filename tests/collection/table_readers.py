"""The readers of tables: their schema, small valid tables, and how cranfield reads them."""

from __future__ import annotations

import itertools
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

import cranfield as cf
from cranfield.assess.judges.bias import mask_same_family
from cranfield.collection import read_groups, read_intents, read_lengths
from cranfield.meta.measure_studies.predictive import read_preferences
from tests.collection import table_oracle as oracle
from tests.collection.table_oracle import (
    MISSING,
    Column,
    Record,
    RefusalError,
    Schema,
    UndecidableError,
    once,
    ordered,
)

TOPICS = ("t1", "t2", "t3")
DOCS = tuple(f"d{i}" for i in range(1, 7))
FILE = "case"
FEW = 12

NUGGETS = [{"topic": t, "nugget": f"n{i}", "weight": i} for t in TOPICS for i in range(1, 4)]
REFERENCES = [{"topic": t, "text": f"the cat {t} sat"} for t in TOPICS]
SUMMARIES = [{"topic": t, "system": s, "text": f"a cat {s} sat"} for t in TOPICS for s in "ab"]
SCORES = cf.Scores(np.array([[0.5, 0.4, 0.1]] * 3), topics=TOPICS, systems=("a", "b", "c"))
PAGES = [{"page": f"p{i}", "query": f"cats {i}"} for i in range(1, 5)]
SHOWN = [{"page": p["page"], "rank": r, "doc": f"d{r}"} for p in PAGES for r in (1, 2, 3)]
ACTIONS = [
    {"action": a, "position": 1, "page": f"p{i}", "reward": i % 2, "propensity": 0.5}
    for i, a in enumerate("abab")
]
TABLE_LOG = cf.online.read_log(
    {"page": [p["page"] for p in PAGES], "query": ["x"] * 4},
    {"page": [p["page"] for p in PAGES], "rank": [1] * 4, "doc": ["d"] * 4},
    {"page": ["p4"], "rank": [1]},
)
TWO_RUNS = cf.online.interleave_runs(
    {"a": {t: ["d1", "d2"] for t in TOPICS}, "b": {t: ["d2", "d1"] for t in TOPICS}}
)
JUDGES, SYSTEMS = ("j1", "j2"), ("s1", "s2", "s3", "s4")

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Reader:
    """A reader: what it accepts, valid rows, and its value and notes for a source."""

    schema: Schema
    rows: Callable[[random.Random], Rows]
    read: Callable[[Any], tuple[Any, list[str]]]
    formats: str = "csv tsv json jsonl rows polars pandas"
    renames: bool = True


def pairs(draw: random.Random, *parts: Any, least: int = 2, most: int = FEW) -> list[Any]:
    """Draw some combinations of values, in their order."""
    every = list(itertools.product(*parts))
    count = draw.randint(least, min(most, len(every)))
    return [every[i] for i in sorted(draw.sample(range(len(every)), count))]


def named(name: str) -> str | None:
    """Return the name of a system, None if it is that of the file or of nothing."""
    return None if name in (FILE, "run", "log", "answers", "texts", "citations") else name


def optional(draw: random.Random, rows: Rows, *names: str) -> Rows:
    """Leave out some of the columns that need not be there."""
    left = {name for name in names if draw.random() < 0.5}
    return [{name: cell for name, cell in row.items() if name not in left} for row in rows]


def text_score(draw: random.Random) -> str:
    return draw.choice(["0.5", "0.25", "1.5", "2.75", "-0.5", "0.125", "7.5", "12.5", "3e-2"])


# Runs and judgments


def read_runs(source: Any) -> Any:
    found = []
    for run in cf.read_runs(source):
        found += [
            (named(run.name), *row)
            for row in run.to_polars().select("topic", "doc", "score").rows()
        ]
    return ordered(found), []


def read_rankings(source: Any) -> Any:
    found = []
    for run in cf.read_runs(source):
        table = run.to_polars().sort("score", descending=True, maintain_order=True)
        for (topic,), part in table.group_by("topic"):
            ties = part.group_by("score", maintain_order=True).agg("doc")["doc"].to_list()
            found.append((named(run.name), topic, tuple(tuple(sorted(docs)) for docs in ties)))
    return ordered(found), []


def runs_value(rows: list[Record]) -> Any:
    if not any("score" in row for row in rows):
        raise UndecidableError("in order of rank")
    if any(row["score"] is None for row in rows):
        raise RefusalError("no score")
    return oracle.tuples("tag", "topic", "doc", also="score")(rows)


def run_rows(draw: random.Random) -> Rows:
    systems = draw.choice([["x"], ["x", "y"]])
    rows = [
        {"topic": t, "doc": d, "score": text_score(draw), "rank": i + 1, "tag": s}
        for i, (s, t, d) in enumerate(pairs(draw, systems, TOPICS, DOCS))
    ]
    return optional(draw, rows, "rank", *(["tag"] if len(systems) == 1 else []))


def ranked_rows(draw: random.Random) -> Rows:
    counts: Counter[str] = Counter()
    rows = []
    for t, d in pairs(draw, TOPICS, DOCS):
        counts[t] += 1
        rows.append({"topic": t, "doc": d, "rank": counts[t]})
    return rows


def read_qrels(source: Any) -> Any:
    table = cf.read_qrels(source).to_polars()
    if "subtopic" not in table.columns:
        table = table.with_columns(subtopic=pl.lit(None, pl.String))
    return ordered(table.select("topic", "subtopic", "doc", "grade").rows()), []


def qrels_rows(draw: random.Random) -> Rows:
    rows = [
        {"topic": t, "doc": d, "grade": draw.randint(0, 3), "subtopic": s}
        for t, s, d in pairs(draw, TOPICS, (1, 2), DOCS[:4])
    ]
    if draw.random() < 0.5:
        return rows
    first = {(row["topic"], row["doc"]): row for row in reversed(rows)}
    return [{k: v for k, v in row.items() if k != "subtopic"} for row in first.values()]


def label_rows(draw: random.Random) -> Rows:
    rows = [
        {"topic": t, "doc": d, "worker": w, "grade": draw.randint(0, 2)}
        for t, d, w in pairs(draw, TOPICS[:1], DOCS[:3], ("ann", "bob", "cat"))
    ]
    return optional(draw, rows, "topic")


def read_labels(source: Any) -> Any:
    labels = cf.assess.read_labels(source)
    found = labels.to_polars().select("topic", "doc", "worker", "grade").rows()
    return ordered(found), [note for note in labels.notes if "topic" not in note]


def labels_value(rows: list[Record]) -> Any:
    if any(row.get("topic", "all") is None for row in rows):
        raise RefusalError("a topic is missing")
    rows = [{"topic": "all", **row} for row in rows]
    return oracle.tuples("topic", "doc", "worker", also="grade")(rows)


def read_judges(source: Any) -> Any:
    (judge,) = cf.assess.read_judges(source if isinstance(source, str) else {"a": source})
    found = judge.labels.to_polars().select("topic", "doc", "grade").rows()
    return (ordered(found), judge.n_unparsed), []


def judge_rows(draw: random.Random) -> Rows:
    rows: Rows = []
    for t, d in pairs(draw, TOPICS, DOCS):
        parsed = draw.random() < 0.8 or not rows
        grade = draw.randint(0, 3) if parsed else 0
        rows.append({"topic": t, "document": d, "grade": grade, "result_status": int(parsed)})
    return optional(draw, rows, "result_status")


# Documents


def read_length(source: Any) -> Any:
    table = read_lengths(source)
    return ordered(zip(table.docs.to_list(), table.values.tolist(), strict=True)), []


def read_group(source: Any) -> Any:
    table = read_groups(source)
    groups = [table.names[code] for code in table.codes]
    return ordered(zip(table.docs.to_list(), groups, table.values.tolist(), strict=True)), []


def groups_value(rows: list[Record]) -> Any:
    rows = [{"weight": 1.0, **row} for row in rows]
    return oracle.tuples("doc", "group", also="weight", check=lambda r: r["weight"] >= 0)(rows)


def read_intent(source: Any) -> Any:
    t = read_intents(source)
    kinds = [bool(kind) for kind in t.is_navigational]
    return ordered(zip(t.topics, t.intents, t.probabilities.tolist(), kinds, strict=True)), []


def intent_rows(draw: random.Random) -> Rows:
    rows = []
    for topic in TOPICS[: draw.randint(1, 3)]:
        for i, p in enumerate(draw.choice([["0.5", "0.5"], ["0.6", "0.3", "0.1"], ["1"]]), 1):
            row = {"topic": topic, "intent": f"i{i}", "probability": p}
            rows.append({**row, "type": draw.choice(["inf", "nav"])})
    rows = rows if len(rows) > 1 else rows * 2
    rows = list({(r["topic"], r["intent"]): r for r in rows}.values())
    return optional(draw, rows, "type")


def read_shard(source: Any) -> Any:
    shards = cf.read_shards(source)
    labels = [shards.labels[code] for code in shards.codes]
    return ordered(zip(shards.docs.to_list(), labels, strict=True)), []


# Scores


def read_score(source: Any) -> Any:
    s = cf.read_scores(source)
    # The file gives a run without a name one; in memory there is no file.
    systems = [FILE if n == "run" and not isinstance(source, str) else n for n in s.systems]
    cells = ((t, n, s.values[i, j]) for i, t in enumerate(s.topics) for j, n in enumerate(systems))
    return ordered((t, n, float(v)) for t, n, v in cells if v == v), []


def scores_value(rows: list[Record]) -> Any:
    names = {name for row in rows for name in row}
    if names == {"score"}:
        raise UndecidableError("rows are numbered")
    if any(row.get("topic") is None for row in rows):
        raise RefusalError("a row without topic")
    if "score" not in names:
        raise UndecidableError("other columns may be measures")
    rows = [row for row in rows if row["topic"] != "all"]
    rows = [{**row, "system": row.get("system") or FILE} for row in rows]
    once(rows, "topic", "system")
    found = [(r["topic"], r["system"], r["score"]) for r in rows if r.get("score") is not None]
    if not found:
        raise RefusalError("no scores")
    return ordered(found)


def wide_value(rows: list[Record]) -> Any:
    rows = [row for row in rows if row["topic"] != "all"]
    once(rows, "topic")
    found = [
        (row["topic"], name, row[name]) for row in rows for name in row
        if name != "topic" and row[name] is not None
    ]  # fmt: skip
    if not found:
        raise RefusalError("no scores")
    return ordered(found)


def wide_rows(draw: random.Random) -> Rows:
    systems = ["bm25x", "densex", "oursx"][: draw.randint(2, 3)]
    return [
        {"topic": f"q{i}", **{s: text_score(draw) for s in systems}}
        for i in range(1, draw.randint(3, 6))
    ]


# Sessions


def session_rows(draw: random.Random) -> Rows:
    topics = {s: draw.choice(TOPICS) for s in ("s1", "s2")}
    rows = []
    by: Counter[Any] = Counter()
    chosen = draw.choice(["rank", "score", "both"])
    for s, q, d in pairs(draw, ("s1", "s2"), (1, 2), DOCS[:3]):
        by[s, q] += 1
        row = {
            "session": s,
            "query": q,
            "doc": d,
            "topic": topics[s],
            "rank": by[s, q],
            "score": 9.5 - by[s, q],
        }
        rows.append(
            {
                k: v
                for k, v in row.items()
                if chosen == "both" or k not in {"rank", "score"} - {chosen}
            }
        )
    return optional(draw, rows, "topic")


def read_sessions(source: Any) -> Any:
    found = cf.sessions.read_sessions(source)
    lists: dict[Any, list[Any]] = defaultdict(list)
    for system, session, query, rank, doc, *_ in found.results.rows():
        key = (named(found.systems[system]), found.names[session], query)
        lists[key].append((rank, doc))
    value = ordered((*key, tuple(doc for _, doc in sorted(docs))) for key, docs in lists.items())
    topics = sorted((s, t) for s, t in zip(found.names, found.topics, strict=True) if t is not None)
    return (value, topics), []


SESSION_LOG = [
    {"session": s, "query": q, "rank": r, "doc": f"d{r}"}
    for s in ("s1", "s2") for q in (1, 2) for r in (1, 2, 3)
]  # fmt: skip


def session_click_rows(draw: random.Random) -> Rows:
    rows = [
        {"session": s, "query": q, "rank": r, "start": i + 1.5}
        for i, (s, q, r) in enumerate(pairs(draw, ("s1", "s2"), (1, 2), (1, 2, 3)))
    ]
    return optional(draw, rows, "start")


def read_session_clicks(source: Any) -> Any:
    found = cf.sessions.read_sessions(SESSION_LOG, clicks=source)
    rows = found.clicks.rows()
    return ordered((found.names[s], q, r, start) for _, s, q, r, start, _ in rows), []


def session_clicks_value(rows: list[Record]) -> Any:
    known = {(row["session"], row["query"], row["rank"]) for row in SESSION_LOG}
    if any((row["session"], row["query"], row["rank"]) not in known for row in rows):
        raise RefusalError("a click on nothing")
    return ordered((r["session"], r["query"], r["rank"], r.get("start")) for r in rows)


def session_topics_value(rows: list[Record]) -> Any:
    pairs = {(row["session"], row["topic"]) for row in rows}
    if len({session for session, _ in pairs}) < len(pairs):
        raise RefusalError("two topics")
    return sorted(pairs)


# Answers


def answer_rows(draw: random.Random) -> Rows:
    rows = [
        {
            "topic": t,
            "nugget": n,
            "system": s,
            "support": draw.choice(["full", "partial", "none", "1", "0.5"]),
            "position": 10 * i + 5,
        }
        for i, (s, t, n) in enumerate(pairs(draw, ("sa", "sb"), TOPICS, ("n1", "n2", "n3")))
    ]
    return optional(draw, rows, "support", "position")


def read_answers(source: Any) -> Any:
    j = cf.texts.judge_answers(source, NUGGETS)
    found = []
    for cell, nugget, support, position in zip(
        j.cell, j.nugget, j.support, j.position, strict=True
    ):
        topic, system = j.topics[cell // len(j.systems)], named(j.systems[cell % len(j.systems)])
        at = None if position != position else float(position)
        found.append((system, topic, j.nuggets.ids[nugget], float(support), at))
    return ordered(row for row in found if row[3] > 0), []


def supported(cell: Any) -> float:
    """Read the support of a nugget or a sentence."""
    words = {"full": 1.0, "partial": 0.5, "none": 0.0, "yes": 1.0, "no": 0.0}
    text = str(cell).strip().lower()
    value = words[text] if text in words else oracle.number(cell)
    if value is None or not 0 <= value <= 1:
        raise RefusalError("support")
    return value


def answers_value(rows: list[Record]) -> Any:
    once([row for row in rows if row.get("nugget") is not None], "system", "topic", "nugget")
    found = []
    for row in rows:
        if row["topic"] not in TOPICS or row.get("position") is not None and row["position"] < 0:
            raise RefusalError("topic or position")
        if row.get("nugget") is None:
            raise UndecidableError("an answer without nuggets")
        if row["nugget"] not in ("n1", "n2", "n3"):
            raise RefusalError("no such nugget")
        if "support" in row and row["support"] is None:
            raise RefusalError("no support")
        degree = supported(row["support"]) if "support" in row else 1.0
        found.append((row.get("system"), row["topic"], row["nugget"], degree, row.get("position")))
    return ordered(row for row in found if row[3] > 0)


def nugget_rows(draw: random.Random) -> Rows:
    weighted = draw.random() < 0.5
    return [
        {"topic": t, "nugget": n, "weight": draw.randint(1, 3), "vital_length": draw.randint(5, 20)}
        if weighted
        else {"topic": t, "nugget": n, "importance": draw.choice(["vital", "okay"])}
        for t, n in pairs(draw, TOPICS, ("born", "prize", "two girls"))
    ]


def read_nuggets(source: Any) -> Any:
    n = cf.texts.read_nuggets(source)
    topics = [n.topics[i] for i in n.topic]
    lengths = [None if v != v else float(v) for v in n.vital_length]
    return ordered(zip(topics, n.ids, n.weight.tolist(), lengths, strict=True)), []


def nuggets_value(rows: list[Record]) -> Any:
    votes = "assessor" in rows[0]
    once(rows, "topic", "nugget", *(["assessor"] if votes else []))
    if any("weight" in row and "importance" in row for row in rows) or votes:
        raise UndecidableError("weights beside votes")
    if not ("weight" in rows[0] or "importance" in rows[0]):
        raise UndecidableError("neither weights nor votes")
    for row in rows:
        if "importance" in row:
            word = row["importance"]
            if word is not None and word.lower() not in ("vital", "okay", "ok"):
                raise RefusalError("importance")
            row["weight"] = None if word is None else float(word.lower() == "vital")
    for row in rows:
        if row["weight"] is None:
            others = [r for r in rows if r["topic"] == row["topic"] and r.get("weight") is not None]
            raise (
                RefusalError("a nugget without weight")
                if others
                else UndecidableError("a topic without weights")
            )
        if row["weight"] < 0 or (row.get("vital_length") or 0) < 0:
            raise RefusalError("weight or length")
    return ordered((r["topic"], r["nugget"], r["weight"], r.get("vital_length")) for r in rows)


def citation_rows(draw: random.Random) -> Rows:
    rows = []
    for s, t, n in pairs(draw, ("sa", "sb"), TOPICS[:2], (1, 2), most=5):
        row = {"topic": t, "system": s, "sentence": n}
        cited = draw.sample(DOCS, draw.randint(0, 2))
        support = [draw.choice(["full", "partial", "none"]) for _ in cited]
        rows += [{**row, "citation": d, "support": u} for d, u in zip(cited, support, strict=True)]
        rows += [] if cited else [{**row, "citation": "", "support": ""}]
    return rows


def read_citations(source: Any) -> Any:
    c = cf.texts.read_citations(source)
    lists: list[list[float]] = [[] for _ in c.cell]
    for sentence, support in zip(c.sentence, c.support, strict=True):
        lists[sentence].append(float(support))
    answers: dict[int, list[Any]] = defaultdict(list)
    for cell, support in zip(c.cell, lists, strict=True):
        answers[int(cell)].append(tuple(support))
    size = len(c.systems)
    return ordered(
        (named(c.systems[i % size]), c.topics[i // size], tuple(a)) for i, a in answers.items()
    ), []


def citations_value(rows: list[Record]) -> Any:
    lists: dict[Any, dict[str, list[Any]]] = defaultdict(dict)
    for row in rows:
        sentence = lists[row.get("system"), row["topic"]].setdefault(row["sentence"], [])
        if (row.get("citation") is None) != (row.get("support") is None):
            raise RefusalError("half a citation")
        sentence.append((row.get("citation"), row.get("support")))
    found = []
    for key, sentences in lists.items():
        for cited in sentences.values():
            docs = [doc for doc, _ in cited]
            if len(set(docs)) < len(docs) or (None in docs and len(docs) > 1):
                raise RefusalError("cited twice")
        told = [tuple(supported(u) for d, u in cited if d) for cited in sentences.values()]
        found.append((*key, tuple(told)))
    return ordered(found)


def words(text: str) -> list[str]:
    found = re.findall(r"[a-z0-9]+", text.lower())
    if not found or re.search(r"[^\W_]", re.sub("[a-zA-Z0-9]", "", text)):
        raise RefusalError("letters that are no words")
    return found


def rouge(text: str, references: list[str]) -> float:
    """Return the F of unigrams, of the best reference."""
    found = []
    for reference in references:
        mine, theirs = Counter(words(text)), Counter(words(reference))
        same = (mine & theirs).total()
        found.append(2 * same / (mine.total() + theirs.total()))
    return round(max(found), 9)


def rouge_scores(texts: list[Record], references: list[Record], systems: bool) -> Any:
    once(texts, "system", "topic")
    if systems and any(row.get("system", "") is None for row in texts):
        raise RefusalError("no system")
    by = defaultdict(list)
    expanded = []
    for row in references:
        several = row["text"] if isinstance(row["text"], list) else [row["text"]]
        expanded += [{**row, "text": text} for text in several]
        if not several:
            raise RefusalError("no reference")
    references = expanded
    for row in references:
        by[row["topic"]].append(row["text"])
    if any(row["topic"] not in by for row in texts):
        raise RefusalError("a text without reference")
    if any(not row["text"] for row in references):
        raise RefusalError("an empty reference")
    if any(not row["text"] for row in texts):
        raise UndecidableError("an empty answer, or none")
    found = [(r["topic"], r.get("system"), rouge(r["text"], by[r["topic"]])) for r in texts]
    return ordered(row for row in found if row[2] > 0)


def read_summaries(texts: Any, references: Any) -> Any:
    judged = cf.texts.judge_summaries(texts, references)
    s = cf.evaluate_answers(judged, "RougeN(of='F')")["RougeN(of='F')"]
    cells = (
        (t, n, s.values[i, j]) for i, t in enumerate(s.topics) for j, n in enumerate(s.systems)
    )
    return ordered((t, named(n), round(float(v), 9)) for t, n, v in cells if v > 0), []


def text_rows(draw: random.Random) -> Rows:
    return [
        {"topic": t, "system": s, "text": draw.choice(["the cat", "a dog sat", "one cat sat down"])}
        for s, t in pairs(draw, ("sa", "sb"), TOPICS)
    ]


def reference_rows(draw: random.Random) -> Rows:
    texts = ["the cat", "a cat sat", "one dog, and a cat"]
    return [
        {"topic": t, "text": draw.choice(texts)} for t in TOPICS for _ in range(draw.randint(1, 2))
    ]


# Logs, actions and experiments


def table(frame: pl.DataFrame, names: str) -> list[Any]:
    """Return rows of some columns, None where there is no such column."""
    lacks = [name for name in names.split() if name not in frame.columns]
    frame = frame.with_columns(pl.lit(None).alias(name) for name in lacks)
    return frame.select(names.split()).rows()


def notes(log: Any) -> list[str]:
    return [str(log.anomalies)] if log.anomalies else []


def read_pages(source: Any) -> Any:
    log = cf.online.read_log(source, format="tables")
    return ordered(table(log.pages, "id query user session variant")), notes(log)


def page_rows(draw: random.Random) -> Rows:
    rows = [
        {"page": f"p{i}", "query": draw.choice(["cats", "dogs"]), "user": draw.choice(["u1", "u2"]),
         "session": draw.choice(["z1", "z2"]), "variant": draw.choice(["old", "new"])}
        for i in range(1, draw.randint(3, 8))
    ]  # fmt: skip
    return optional(draw, rows, "user", "session", "variant")


def of_pages(log: Any, names: str, rows: pl.DataFrame) -> list[Any]:
    ids = log.pages["id"].to_list()
    return [(ids[page], *rest) for page, *rest in table(rows, "page " + names)]


def read_results(source: Any) -> Any:
    log = cf.online.read_log(PAGES, source, format="tables")
    return ordered(of_pages(log, "rank doc team propensity", log.results)), notes(log)


def result_rows(draw: random.Random) -> Rows:
    by: Counter[str] = Counter()
    rows = []
    for p, d in pairs(draw, ("p1", "p2", "p3", "p4"), DOCS[:4]):
        by[p] += 1
        row = {"page": p, "rank": by[p], "doc": d, "team": draw.choice(["A", "B"])}
        rows.append({**row, "propensity": draw.choice(["0.5", "0.25", "1"])})
    return optional(draw, rows, "rank", "team", "propensity")


def results_value(rows: list[Record]) -> Any:
    by: Counter[str] = Counter()
    found = []
    ranked = "rank" in rows[0]
    for row in rows:
        by[row["page"]] += 1
        rank = row["rank"] if ranked else by[row["page"]]
        if row["page"] not in {page["page"] for page in PAGES} or rank is None or rank < 1:
            raise RefusalError("page or rank")
        if not 0 < (1 if row.get("propensity") is None else row["propensity"]) <= 1:
            raise RefusalError("propensity")
        found.append((row["page"], rank, row["doc"], row.get("team"), row.get("propensity")))
    if len({row[:2] for row in found}) < len(found):
        raise RefusalError("a rank twice")
    return ordered(found)


def read_clicks(source: Any) -> Any:
    log = cf.online.read_log(PAGES, SHOWN, source)
    return ordered(of_pages(log, "rank doc dwell", log.clicks)), notes(log)


def click_rows(draw: random.Random) -> Rows:
    rows = [
        {
            "page": p,
            "rank": r,
            "doc": f"d{r}",
            "dwell": draw.choice(["12.5", "40", "7"]),
            "time": f"2026-03-02T10:{i:02}:00Z",
        }
        for i, (p, r) in enumerate(pairs(draw, ("p1", "p2", "p3"), (1, 2, 3)))
    ]
    return optional(draw, rows, draw.choice(["rank", "doc"]), "dwell")


def clicks_value(rows: list[Record]) -> Any:
    found = []
    for row in rows:
        rank, doc = row.get("rank"), row.get("doc")
        if row["page"] not in {page["page"] for page in PAGES}:
            raise RefusalError("no page")
        if rank is None and doc is None:
            raise RefusalError("neither rank nor document")
        if doc is not None and doc not in ("d1", "d2", "d3"):
            raise RefusalError("no such document")
        if rank is not None and rank not in (1, 2, 3):
            raise RefusalError("no such rank")
        rank = rank if doc is None else int(doc[1])
        dwell = row.get("dwell")
        if dwell is not None and dwell <= 0:
            raise RefusalError("dwell")
        found.append((row["page"], rank, f"d{rank}", dwell))
    if len(set(found)) < len(found):
        raise UndecidableError("two clicks, or one")
    return ordered(found)


def flat_rows(draw: random.Random) -> Rows:
    return [
        {**row, "query": "cats" + row["page"], "clicks": draw.choice([0, 0, 1, 2])}
        for row in optional(draw, result_rows(draw), "rank")
    ]


def read_flat(source: Any) -> Any:
    log = cf.online.read_log(source, format="flat")
    queries = log.pages["query"].to_list()
    counts = Counter(log.clicks.select("page", "rank").rows())
    found = [
        (log.pages["id"][page], queries[page], rank, doc, counts.get((page, rank), 0))
        for page, rank, doc in log.results.select("page", "rank", "doc").rows()
    ]
    return ordered(found), notes(log)


def flat_value(rows: list[Record]) -> Any:
    if "clicks" not in rows[0] or any(row["clicks"] is None for row in rows):
        raise RefusalError("clicks")
    if any(row["clicks"] < 0 or row["clicks"] != int(row["clicks"]) for row in rows):
        raise RefusalError("clicks")
    queries = {(row["page"], row["query"]) for row in rows}
    if len({page for page, _ in queries}) < len(queries):
        raise RefusalError("two queries")
    if "doc" not in rows[0] or any(row["doc"] is None for row in rows):
        raise RefusalError("a row without a document")
    by: Counter[str] = Counter()
    found = []
    for row in rows:
        by[row["page"]] += 1
        rank = row["rank"] if "rank" in row else by[row["page"]]
        if (
            rank is None
            or rank < 1
            or not 0 < (1 if row.get("propensity") is None else row["propensity"]) <= 1
        ):
            raise RefusalError("rank or propensity")
        found.append((row["page"], row["query"], rank, row["doc"], int(row["clicks"])))
    if len({(page, rank) for page, _, rank, _, _ in found}) < len(found):
        raise RefusalError("a rank twice")
    return ordered(found)


def action_rows(draw: random.Random) -> Rows:
    by: Counter[str] = Counter()
    rows = []
    for p, a in pairs(draw, ("p1", "p2", "p3"), "abc"):
        by[p] += 1
        row = {"page": p, "position": by[p], "action": a, "reward": draw.randint(0, 1)}
        rows.append(
            {**row, "propensity": draw.choice(["0.5", "0.25"]), "target_probability": "0.125"}
        )
    if draw.random() < 0.5:
        return rows
    return [{k: v for k, v in row.items() if k not in ("page", "position")} for row in rows]


def read_actions(source: Any) -> Any:
    found = cf.online.policy_value(source)
    return (round(found.estimate, 9), round(found.logged, 9)), []


def policy_rows(draw: random.Random) -> Rows:
    chances = draw.choice([["0.5", "0.5"], ["0.25", "0.75"], ["1", "0"]])
    return [{"action": a, "target_probability": c} for a, c in zip("ab", chances, strict=True)]


def read_policies(source: Any) -> Any:
    found = cf.online.policy_value(ACTIONS, source)
    return round(found.estimate, 9), [text for text in found.warnings if "never" in text]


def policies_value(rows: list[Record]) -> Any:
    if "position" in rows[0] or "query" in rows[0]:
        raise UndecidableError("more columns than the log has")
    once(rows, "action")
    chances = {row["action"]: row["target_probability"] for row in rows}
    if any(not 0 <= c <= 1 for c in chances.values()) or abs(sum(chances.values()) - 1) > 1e-6:
        raise RefusalError("chances")
    if not {a for a, c in chances.items() if c} <= {"a", "b"}:
        raise RefusalError("an action that was never shown")
    return round(sum(r["reward"] * chances.get(r["action"], 0) / 0.5 for r in ACTIONS) / 4, 9)


def unit_rows(draw: random.Random) -> Rows:
    count = draw.randint(3, 6)
    variants = ["control", "new"] * count
    rows = [
        {"user": f"u{i}", "variant": v, "clicks": draw.randint(0, 5)}
        for i, v in enumerate(variants)
    ]
    return optional(draw, rows, "user")


def read_units(source: Any) -> Any:
    found = cf.online.analyse_experiment(source, "clicks", errors="delta")
    means = [round(float(mean), 9) for mean in found.means[0]]
    said = [
        note
        for note in found.notes
        if not re.search("few units|no interval|skewness|fewer than", note)
    ]
    return sorted(zip(found.variants, found.units.tolist(), means, strict=True)), said


# People and systems


def preference_rows(draw: random.Random) -> Rows:
    rows = [
        {
            "topic": t,
            "first": a,
            "second": b,
            "preferred": draw.choice(["left", "2", "tie", a]),
            "assessor": w,
        }
        for t, (a, b), w in pairs(draw, TOPICS, [("a", "b"), ("c", "a")], ("ann", "bob"))
    ]
    return optional(draw, rows, "assessor")


def read_preference(source: Any) -> Any:
    return ordered(table(read_preferences(source, SCORES), "topic first second preferred")), []


def preferences_value(rows: list[Record]) -> Any:
    codes = {"left": 1, "first": 1, "1": 1, "a": 1, "right": 2, "second": 2, "2": 2, "b": 2}
    codes |= {"1.0": 1, "2.0": 2}  # of AlpacaEval, whose ties are 1.5
    codes |= dict.fromkeys(("tie", "same", "equal", "0", "1.5"), 0)
    names = {row[column] for row in rows for column in ("first", "second")}
    found = []
    for row in rows:
        a, b, said = row["first"], row["second"], row["preferred"]
        code = {a: 1, b: 2}.get(said, None if said in names else codes.get(said.lower()))
        if code is None or a == b or not {a, b} <= set("abc") or row["topic"] not in TOPICS:
            raise RefusalError("a preference")
        found.append((row["topic"], a, b, {1: 1, 2: -1, 0: 0}[code]))
    return ordered(found)


def read_teams(source: Any) -> Any:
    return cf.meta.teams_of(SYSTEMS, source), []


def teams_value(rows: list[Record]) -> Any:
    teams: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        teams[row["system"]].add(row["team"])
    if any(len(teams[s]) != 1 for s in SYSTEMS) or any(len(t) > 1 for t in teams.values()):
        raise RefusalError("a system without a team, or with two")
    return tuple(min(teams[s]) for s in SYSTEMS)


def families_value(rows: list[Record]) -> Any:
    families: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        families[row["name"]].add(row["family"])
    of = {name: families.get(name) or {name} for name in (*JUDGES, *SYSTEMS)}
    return tuple(tuple(bool(of[j] & of[s]) for s in SYSTEMS) for j in JUDGES)


def read_families(source: Any) -> Any:
    related = mask_same_family(JUDGES, SYSTEMS, source)
    return tuple(tuple(bool(x) for x in row) for row in related), []


def read_page_labels(source: Any) -> Any:
    found = cf.online.measure(TABLE_LOG, "GoodAbandonment", by="page", labels=source).to_polars()
    rows = found.select("page", "value").rows()
    return ordered((page, value) for page, value in rows if value is not None), []


def page_labels_value(rows: list[Record]) -> Any:
    once(rows, "page")
    if any(
        r["label"].lower() in MISSING or r["page"] not in ("p1", "p2", "p3", "p4") for r in rows
    ):
        raise RefusalError("a label or a page")
    return ordered((r["page"], float(r["label"] == "good")) for r in rows if r["page"] != "p4")


def read_draws(source: Any) -> Any:
    rows = TWO_RUNS.draw_for(source, seed=1)
    return ordered(set(rows.select("page", "query").rows())), []


def draws_value(rows: list[Record]) -> Any:
    once(rows, "page")
    if any(row["topic"] not in TOPICS for row in rows):
        raise RefusalError("a topic")
    return ordered((row["page"], row["topic"]) for row in rows)


# All of them

O = oracle  # noqa: E741
C = Column
TAG = C("name", O.SYSTEM, required=False, filled=True)
MEMORY = "rows polars pandas"
FILES = "csv tsv " + MEMORY
FRAMES = "csv tsv polars pandas"
ALL = "csv tsv json jsonl " + MEMORY
LINES = ALL + " lines"


def some(kind: str, names: str) -> Column:
    return C(kind, names, required=False)


READERS: dict[str, Reader] = {
    "runs": Reader(
        Schema(
            {
                "topic": C("id", O.TOPIC),
                "doc": C("id", O.DOC),
                "score": some("number", "score sim similarity"),
                "rank": some("any", O.RANK),
                "tag": TAG,
            },
            runs_value,
        ),
        run_rows,
        read_runs,
        ALL + " trec",
    ),
    "ranks": Reader(
        Schema(
            {
                "topic": C("id", O.TOPIC),
                "doc": C("id", O.DOC),
                "rank": C("whole", O.RANK),
                "tag": TAG,
            },
            O.ranking,
        ),
        ranked_rows,
        read_rankings,
    ),
    "judgments": Reader(
        Schema(
            {
                "topic": C("id", O.TOPIC),
                "doc": C("id", O.DOC),
                "grade": C("grade", O.GRADE),
                "subtopic": some("id", "subtopic subtopic_id"),
            },
            O.judgments,
            "status",
        ),
        qrels_rows,
        read_qrels,
        ALL + " trec",
    ),
    "labels": Reader(
        Schema(
            {
                "topic": some("id", O.TOPIC),
                "doc": C("id", O.DOC),
                "worker": C("id", O.WORKER),
                "grade": C("grade", O.GRADE),
                "order": some("any", "order seq sequence; position"),
            },
            labels_value,
            "status count weight",
            "topic doc worker grade order",
            4,
        ),
        label_rows,
        read_labels,
        LINES,
    ),
    "judges": Reader(
        Schema(
            {
                "topic": C("id", O.TOPIC),
                "doc": C("id", O.DOC),
                "grade": some("grade", O.GRADE),
                "result_status": some("flag", "result_status"),
            },
            O.judge,
            "status",
        ),
        judge_rows,
        read_judges,
    ),
    "lengths": Reader(
        Schema(
            {"doc": C("id", O.DOC), "length": C("number", O.LENGTH)},
            O.tuples("doc", also="length", check=lambda r: r["length"] >= 0),
            "",
            "doc length",
        ),
        lambda draw: [{"doc": d, "length": draw.randint(0, 900)} for (d,) in pairs(draw, DOCS)],
        read_length,
        LINES,
    ),
    "groups": Reader(
        Schema(
            {
                "doc": C("id", O.DOC),
                "group": C("id", "group group_id; provider author"),
                "weight": C("number", O.WEIGHT, False, True),
            },
            groups_value,
            "",
            "doc group weight",
            2,
        ),
        lambda draw: optional(
            draw,
            [
                {"doc": d, "group": g, "weight": draw.choice(["0.5", "1", "2"])}
                for d, g in pairs(draw, DOCS, ("north", "south"))
            ],
            "weight",
        ),
        read_group,
        LINES,
    ),
    "intents": Reader(
        Schema(
            {
                "topic": C("id", O.TOPIC),
                "intent": C("id", "intent intent_id; subtopic subtopic_id; iteration iter"),
                "probability": C("number", "probability prob p"),
                "type": C("id", "type intent_type; kind", False, True),
            },
            O.intents,
            "",
            "topic intent probability type",
            3,
        ),
        intent_rows,
        read_intent,
        LINES,
    ),
    "shards": Reader(
        Schema(
            {"doc": C("id", O.DOC), "shard": C("id", "shard shard_id; part partition")},
            O.tuples("doc", also="shard"),
        ),
        lambda draw: [
            {"doc": d, "shard": draw.choice(["law", "news"])} for (d,) in pairs(draw, DOCS)
        ],
        read_shard,
        FRAMES,
    ),
    "scores": Reader(
        Schema(
            {
                "topic": some("id", "qid query_id; topic"),
                "system": some("id", "system run"),
                "score": some("score", "score value"),
            },
            scores_value,
            exempt=True,
        ),
        lambda draw: [
            {"topic": t, "system": s, "score": text_score(draw)}
            for s, t in pairs(draw, ("x", "y"), TOPICS)
        ],
        read_score,
        FRAMES + " json jsonl",
    ),
    "wide scores": Reader(
        Schema({}, wide_value, exempt=True),
        wide_rows,
        read_score,
        FRAMES + " json jsonl",
        renames=False,
    ),
    "sessions": Reader(
        Schema(
            {
                "session": C("id", O.SESSION),
                "query": C("id", O.TURN),
                "doc": C("id", O.DOC),
                "system": TAG,
                "topic": some("id", "topic_id tid; topic"),
                "rank": C("whole", "clicked_rank; rank position ordinal pos", False, True),
                "score": C("number", "score sim similarity", False, True),
                "title": some("any", "title"),
                "snippet": some("any", "snippet"),
            },
            O.sessions,
        ),
        session_rows,
        read_sessions,
        FILES,
    ),
    "session clicks": Reader(
        Schema(
            {
                "session": C("id", O.SESSION),
                "query": C("whole", O.TURN),
                "rank": C("whole", "clicked_rank; rank position ordinal pos"),
                "system": TAG,
                "start": some("number", O.TIME.split(";")[1] + "; " + O.TIME.split(";")[0]),
                "end": some("any", "end end_time"),
            },
            session_clicks_value,
            empty=True,
        ),
        session_click_rows,
        read_session_clicks,
        FILES,
    ),
    "session topics": Reader(
        Schema(
            {"session": C("id", O.SESSION), "topic": C("id", "topic_id tid; topic")},
            session_topics_value,
            "",
            "session topic",
        ),
        lambda draw: [
            {"session": f"s{i}", "topic": draw.choice(TOPICS)} for i in range(draw.randint(2, 6))
        ],
        lambda source: (sorted(cf.sessions.read_session_topics(source).items()), []),
        FILES + " lines",
    ),
    "answers": Reader(
        Schema(
            {
                "topic": C("id", O.TOPIC),
                "nugget": some("id", "nugget nugget_id iunit iunit_id"),
                "system": TAG,
                "position": some("number", "offset pos position"),
                "support": some("support", "support assignment"),
                "length": some("any", O.CHARACTERS),
                "text": some("any", O.TEXT),
            },
            answers_value,
        ),
        answer_rows,
        read_answers,
    ),
    "nuggets": Reader(
        Schema(
            {
                "topic": C("id", O.TOPIC),
                "nugget": C("id", "nugget nugget_id iunit iunit_id"),
                "weight": some("number", O.WEIGHT),
                "vital_length": some("number", "vital_length vital_string_length"),
                "importance": some("id", "importance; label"),
                "assessor": some("id", O.WORKER),
            },
            nuggets_value,
        ),
        nugget_rows,
        read_nuggets,
    ),
    "citations": Reader(
        Schema(
            {
                "topic": C("id", O.TOPIC),
                "sentence": C("id", "sentence sentence_id statement"),
                "system": TAG,
                "citation": some("id", "citation; segment_id; " + O.DOC + "; segment"),
                "support": some("support", "support assignment"),
                "joint": some("any", "joint"),
                "without": some("any", "without"),
            },
            citations_value,
        ),
        citation_rows,
        read_citations,
    ),
    "texts": Reader(
        Schema(
            {"topic": C("id", O.TOPIC), "text": C("text", O.SYSTEM_TEXT), "system": TAG},
            lambda rows: rouge_scores(rows, REFERENCES, True),
        ),
        text_rows,
        lambda source: read_summaries(source, REFERENCES),
    ),
    "references": Reader(
        Schema(
            {
                "topic": C("id", O.TOPIC),
                "text": C("texts", O.REFERENCE_TEXT),
                "system": some("any", O.SYSTEM),
            },
            lambda rows: rouge_scores(SUMMARIES, rows, False),
        ),
        reference_rows,
        lambda source: read_summaries(SUMMARIES, source),
    ),
    "log pages": Reader(
        Schema(
            {
                "page": C("id", O.PAGE),
                "query": C("id", O.QUERY),
                "user": some("name", O.USER),
                "session": some("name", O.SESSION),
                "time": some("any", O.TIME),
                "variant": some("name", O.VARIANT),
                "total_results": some(
                    "any", "total_results found number_found results_found num_found total_hits"
                ),
                "method": some("any", "method interleaving interleaving_method"),
            },
            O.tuples("page", also="query user session variant"),
            "count weight",
        ),
        page_rows,
        read_pages,
    ),
    "log results": Reader(
        Schema(
            {
                "page": C("id", O.PAGE),
                "doc": C("id", O.DOC),
                "rank": some("whole", O.RANK),
                "team": some("name", "team ranker; system"),
                "propensity": some("number", O.PROPENSITY),
                "grade": some("any", O.GRADE.split(";")[0]),
            },
            results_value,
            "count weight",
        ),
        result_rows,
        read_results,
    ),
    "log clicks": Reader(
        Schema(
            {
                "page": C("id", O.PAGE),
                "rank": some("whole", "clicked_rank; " + O.RANK),
                "doc": some("name", O.DOC),
                "time": some("any", "click_time clicked_at; " + O.TIME),
                "end": some("any", "end end_time"),
                "dwell": some("number", "dwell dwell_time dwell_seconds time_on_page"),
                "censored": some("any", "censored right_censored dwell_censored"),
            },
            clicks_value,
            "count weight",
            empty=True,
        ),
        click_rows,
        read_clicks,
    ),
    "flat log": Reader(
        Schema(
            {
                "page": C("id", O.PAGE),
                "query": C("id", O.QUERY),
                "doc": some("id", O.DOC),
                "rank": some("whole", O.RANK),
                "clicks": some("truth", O.CLICKS),
                "user": some("any", O.USER),
                "session": some("any", O.SESSION),
                "time": some("any", O.TIME),
                "variant": some("any", O.VARIANT),
                "team": some("any", "team ranker; system"),
                "propensity": some("number", O.PROPENSITY),
                "grade": some("any", O.GRADE.split(";")[0]),
            },
            flat_value,
            "count weight",
        ),
        flat_rows,
        read_flat,
    ),
    "actions": Reader(
        Schema(
            {
                "reward": C("truth", "reward; " + O.CLICKS),
                "propensity": C("number", O.PROPENSITY),
                "target_probability": C("number", "target_probability; evaluation_policy_pscore"),
                "page": some("id", "page list slate slate_id"),
                "position": some("whole", O.RANK),
                "action": some("any", "action; " + O.DOC),
                "query": some("any", "query; context; topic"),
                "user": some("any", O.USER),
                "session": some("any", O.SESSION),
                "predicted": some("any", "predicted q_hat"),
                "expected": some("any", "expected"),
            },
            O.policy,
            "count weight",
        ),
        action_rows,
        read_actions,
    ),
    "policies": Reader(
        Schema(
            {
                "query": some("any", "query; context; topic"),
                "position": some("whole", O.RANK),
                "action": C("id", "action; " + O.DOC),
                "target_probability": C("number", "target_probability probability"),
            },
            policies_value,
        ),
        policy_rows,
        read_policies,
    ),
    "units": Reader(
        Schema(
            {
                "variant": C("id", "variant"),
                "clicks": C("truth", "clicks"),
                "user": some("id", "user"),
            },
            O.units,
            exempt=True,
        ),
        unit_rows,
        read_units,
        renames=False,
    ),
    "preferences": Reader(
        Schema(
            {
                "topic": C("id", O.TOPIC),
                "first": C("id", "first left system_1"),
                "second": C("id", "second right system_2"),
                "preferred": C("id", "preferred preference winner"),
                "assessor": some("id", O.WORKER),
            },
            preferences_value,
        ),
        preference_rows,
        read_preference,
        FRAMES,
    ),
    "teams": Reader(
        Schema(
            {"system": C("id", O.SYSTEM), "team": C("id", "team; group participant")}, teams_value
        ),
        lambda draw: [{"system": s, "team": draw.choice(["A", "B"])} for s in SYSTEMS],
        read_teams,
        FRAMES,
    ),
    "families": Reader(
        Schema(
            {
                "name": C("id", "judge; name; " + O.SYSTEM),
                "family": C("id", "family; team group participant; system"),
            },
            families_value,
        ),
        lambda draw: [
            {"name": n, "family": draw.choice(["A", "B"])}
            for (n,) in pairs(draw, JUDGES + SYSTEMS, least=4)
        ],
        read_families,
        FRAMES,
    ),
    "page labels": Reader(
        Schema(
            {"page": C("id", O.PAGE), "label": C("id", "label")},
            page_labels_value,
            "",
            "page label",
        ),
        lambda draw: [
            {"page": p, "label": "bad" if i and draw.random() < 0.5 else "good"}
            for i, (p,) in enumerate(pairs(draw, ("p1", "p2", "p3")))
        ],
        read_page_labels,
        LINES,
    ),
    "pages to interleave": Reader(
        Schema(
            {
                "page": C("id", O.PAGE.replace(" query_id;", "") + "; key"),
                "topic": C("id", O.TOPIC),
            },
            draws_value,
        ),
        lambda draw: [
            {"page": f"p{i}", "topic": draw.choice(TOPICS)} for i in range(draw.randint(2, 6))
        ],
        read_draws,
        FILES,
    ),
}
