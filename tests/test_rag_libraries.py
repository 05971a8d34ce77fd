"""What the page on RAG says of other libraries, tried on their own objects where they install."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import cranfield as cf
from tests.conftest import ROOT

# The libraries warn of what they use themselves.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

PAGE = (ROOT / "docs/tasks/rag.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| (?!Library)(.+?) \| `(\{.+\})` \|$", PAGE, re.MULTILINE))
TEXTS = {"p1": "cats purr", "p2": "dogs bark", "p3": "birds sing"}
RELEVANT = {"q1": ["p1"], "q2": ["p3"]}


def made(library: str, **objects: Any) -> Any:
    """Evaluate what the page writes for a library."""
    return eval(ROWS[library], objects)


def precise(run: Any) -> list[float]:
    values: list[float] = cf.evaluate({"own": run}, RELEVANT, "P@1")["P@1"].values[:, 0].tolist()
    return values


def test_the_page_names_these() -> None:
    assert [*ROWS] == [
        "LangChain retrievers",
        "LangChain `similarity_search_with_score`",
        "LlamaIndex retrievers",
        "Ragas samples",
    ]


def test_langchain() -> None:
    documents = pytest.importorskip("langchain_core.documents")
    stores = pytest.importorskip("langchain_core.vectorstores")
    embeddings = pytest.importorskip("langchain_core.embeddings")
    store = stores.InMemoryVectorStore(embeddings.DeterministicFakeEmbedding(size=16))
    store.add_documents(
        [documents.Document(id=name, page_content=text) for name, text in TEXTS.items()]
    )
    # Such an embedding finds the text that it is asked for.
    asked = {"q1": TEXTS["p1"], "q2": TEXTS["p3"]}
    retriever = store.as_retriever(search_kwargs={"k": 3})
    ranked = {name: retriever.invoke(text) for name, text in asked.items()}
    assert precise(made("LangChain retrievers", retrieved=ranked)) == [1.0, 1.0]
    scored = {name: store.similarity_search_with_score(text) for name, text in asked.items()}
    run = made("LangChain `similarity_search_with_score`", retrieved=scored)
    assert run["q1"]["p1"] == pytest.approx(1.0)
    assert precise(run) == [1.0, 1.0]


def test_llama_index() -> None:
    schema = pytest.importorskip("llama_index.core.schema")
    scores = {"q1": {"p1": 0.9, "p2": 0.5}, "q2": {"p3": 0.2, "p1": 0.8}}
    retrieved = {
        query: [
            schema.NodeWithScore(node=schema.TextNode(id_=name, text=TEXTS[name]), score=score)
            for name, score in found.items()
        ]
        for query, found in scores.items()
    }
    run = made("LlamaIndex retrievers", retrieved=retrieved)
    assert run == scores
    assert precise(run) == [1.0, 0.0]


def test_ragas() -> None:
    ragas = pytest.importorskip("ragas")
    found = {"q1": ["p1", "p2"], "q2": ["p1", "p3"]}
    dataset = ragas.EvaluationDataset(
        samples=[
            ragas.SingleTurnSample(
                user_input=query,
                retrieved_context_ids=ids,
                reference_context_ids=RELEVANT[query],
            )
            for query, ids in found.items()
        ]
    )
    run = made("Ragas samples", dataset=dataset)
    assert run == found
    assert {one.user_input: one.reference_context_ids for one in dataset} == RELEVANT
    assert precise(run) == [1.0, 0.0]


def test_mlflow(tmp_path: Path) -> None:
    mlflow = pytest.importorskip("mlflow")
    example = re.search(r"metrics = \{.*?^\.\.\. \}", PAGE, re.DOTALL | re.MULTILINE)
    assert example
    ev = cf.evaluate({"a b?": {"q1": ["p1"]}}, RELEVANT, ["R@3", "nDCG@10"])
    inside: dict[str, Any] = {"re": re, "ev": ev}
    exec(example[0].replace("\n... ", "\n"), inside)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'runs.db'}")
    with mlflow.start_run() as run:
        mlflow.log_metrics(inside["metrics"])
    kept = mlflow.get_run(run.info.run_id).data.metrics
    assert kept == {"R_3/a b_": 0.5, "nDCG_10/a b_": 0.5}
