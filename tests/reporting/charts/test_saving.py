"""Charts in files: real text, no network, and nothing that a name could break."""

from __future__ import annotations

import json
import re
import struct
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import altair as alt
import pytest
from pypdf import PdfReader

import cranfield as cf
from cranfield.reporting.charts import box_plot, difference_bars, save
from cranfield.reporting.charts.saving import make_caption
from tests.reporting.charts.drawn import HOSTILE, scores_of

SHOWN = ("<img src=x onerror=alert(1)>", "(no name)", "Dense", "dense", "a.b[0]:N", "__proto__")


@pytest.fixture(scope="module", name="chart")
def _chart() -> Any:
    values = [[0.1 * k for k in range(len(HOSTILE))], [0.5] * len(HOSTILE)]
    return box_plot(scores_of(values, "12", HOSTILE, "nDCG@10"))


def test_svg_has_text(chart: Any, tmp_path: Path) -> None:
    save(chart, tmp_path / "c.svg")
    root = ElementTree.parse(tmp_path / "c.svg").getroot()
    texts = {found.text for found in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {*SHOWN, "nDCG@10 of a topic"} <= texts
    assert (root.get("aria-label") or "").startswith("Box plots of the scores by nDCG@10 of 12")
    assert not list(root.iter("{http://www.w3.org/2000/svg}script"))


def test_pdf_has_text(chart: Any, tmp_path: Path) -> None:
    save(chart, tmp_path / "c.PDF")
    [page] = PdfReader(BytesIO((tmp_path / "c.PDF").read_bytes())).pages
    text = page.extract_text()
    for name in (*SHOWN, "nDCG@10 of a topic"):
        assert name in text


def test_png_has_the_pixels_asked_for(chart: Any, tmp_path: Path) -> None:
    sizes = []
    for scale in (1, 2):
        save(chart, tmp_path / "c.png", scale=scale)
        content = (tmp_path / "c.png").read_bytes()
        assert content.startswith(b"\x89PNG")
        sizes.append(struct.unpack(">II", content[16:24]))
    assert sizes[1] == pytest.approx([2 * side for side in sizes[0]], abs=1)


class Page(HTMLParser):
    """What a browser sees of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.sources: list[str] = []
        self.title = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.sources += [value or "" for name, value in attrs if name in {"src", "href"}]

    def handle_data(self, data: str) -> None:
        if self.tags[-1:] == ["title"]:
            self.title += data


def test_pages_stand_alone_and_names_stay_in_the_script(chart: Any, tmp_path: Path) -> None:
    save(chart, tmp_path / "c.html")
    text = (tmp_path / "c.html").read_text(encoding="utf-8")
    page = Page(text)
    # Altair's own page would have an image and a further script here.
    assert page.tags[:6] == ["html", "head", "title", "meta", "style", "script"]
    assert page.tags[6:] == ["body", "div", "script"]
    assert page.sources == []
    assert page.title.startswith("Box plots of the scores by nDCG@10")
    assert len(text) > 500_000
    spec = text.split("const spec = ", 1)[1].split(";\n", 1)[0]
    rows = next(iter(json.loads(spec)["datasets"].values()))
    assert "</script><script>alert(1)</script>" in {row["system"] for row in rows}


def test_json_is_the_specification(chart: Any, tmp_path: Path) -> None:
    save(chart, tmp_path / "c.json")
    spec = json.loads((tmp_path / "c.json").read_text())
    assert spec["$schema"].startswith("https://vega.github.io/schema/vega-lite/v")
    assert spec == chart.to_dict()


@pytest.mark.parametrize("name", ["c.docx", "c", ".svg", "c.svg.gz"])
def test_other_suffixes(chart: Any, tmp_path: Path, name: str) -> None:
    with pytest.raises(cf.PolicyError, match=r"path must end in .html, .svg, .pdf, .png or .json"):
        save(chart, tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("scale", [0, -1, float("nan"), True, "2", 100])
def test_impossible_scales(chart: Any, tmp_path: Path, scale: Any) -> None:
    with pytest.raises(cf.PolicyError, match="scale must be a number above 0"):
        save(chart, tmp_path / "c.png", scale=scale)
    assert not list(tmp_path.iterdir())


def test_files_appear_whole_or_not_at_all(chart: Any, tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text("before")
    broken = alt.Chart({"values": []}).mark_point().encode(x="x:Q")
    broken.encoding.x.shorthand = 3
    with pytest.raises(Exception, match="."):
        save(broken, path)
    assert path.read_text() == "before"
    with pytest.raises(cf.PolicyError, match="expected an Altair chart, got dict"):
        save({}, path)
    with pytest.raises(cf.PolicyError, match="expected an Altair chart, got dict"):
        save({}, path, title=False)
    with pytest.raises(cf.InputError, match="cannot be written"):
        save(chart, tmp_path / "missing" / "c.json")
    assert [one.name for one in tmp_path.iterdir()] == ["c.json"]


def test_width_of_a_column_and_no_title(tmp_path: Path) -> None:
    path = tmp_path / "chart.svg"
    chart = box_plot({"bm25": [0.2, 0.4, 0.3, 0.5], "dense": [0.4, 0.5, 0.5, 0.6]})
    save(chart, path, width=84, title=False)
    text = path.read_text(encoding="utf-8")
    assert f'width="{round(84 / 25.4 * 96)}"' in text
    assert "Box plots" not in re.sub('aria-label="[^"]*"', "", text)
    for side in (84, 178):
        save(chart, tmp_path / "chart.pdf", width=side, title=side > 100)
        [page] = PdfReader(BytesIO((tmp_path / "chart.pdf").read_bytes())).pages
        # A point is 1/72 inch, and widths are rounded to pixels of 1/96 inch.
        assert float(page.mediabox.width) / 72 * 25.4 == pytest.approx(side, abs=0.15)
        assert "dense" in page.extract_text()
    for width in (None, 84):
        save(chart, path, height=60, width=width)
        text = path.read_text(encoding="utf-8")
        assert f'height="{round(60 / 25.4 * 96)}"' in text
        assert (f'width="{round(84 / 25.4 * 96)}"' in text) == (width is not None)
    with pytest.raises(cf.PolicyError, match="height must be a number"):
        save(chart, path, height=5)
    with pytest.raises(cf.PolicyError, match="width must be a number"):
        save(chart, path, width=True)
    with pytest.raises(cf.PolicyError, match="one panel, got"):
        save(alt.hconcat(alt.Chart().mark_bar(), alt.Chart().mark_bar()), path, width=84)


def test_a_narrow_chart_has_its_legend_below_and_omits_labels(tmp_path: Path) -> None:
    """With a width in millimetres, no label of 60 topics overprints another."""
    topics = {f"topic {k}": float(k % 7) for k in range(60)}
    scores = {"a": topics, "b": dict.fromkeys(topics, 3.0)}
    bars = difference_bars(scores, "a", "b")
    n_labels = {}
    for width in (84.0, 500.0):
        save(bars, tmp_path / "c.svg", width=width)
        text = (tmp_path / "c.svg").read_text(encoding="utf-8")
        # An omitted label is transparent.
        n_labels[width] = len(re.findall('opacity="1">topic ', text))
    assert n_labels[84] < 40 and n_labels[500] == 60
    lines = alt.Chart({"values": [{"x": 1, "y": 1, "s": "a"}]}).mark_line()
    chart = lines.encode(x="x:Q", y="y:Q", color=alt.Color("s:N", legend=alt.Legend()))
    for width, orient in ((84, "bottom"), (150, None)):
        save(chart, tmp_path / "c.json", width=width)
        encoding = json.loads((tmp_path / "c.json").read_text())["encoding"]
        assert encoding["color"]["legend"].get("orient") == orient


def test_the_caption_has_the_words_of_the_title() -> None:
    chart = difference_bars({"a": [0.2, 0.4], "b": [0.1, 0.5]}, "a", "b")
    assert make_caption(chart).startswith("Differences by topic")
    assert "a minus b; dashed: mean difference" in make_caption(chart)
    assert make_caption(alt.Chart().mark_bar()) == ""


def test_the_legend_of_a_narrow_chart_fits_beside_long_names(tmp_path: Path) -> None:
    """The legend begins at the plot, right of the names, so its entries are in one column."""
    names = [f"system-with-name-{k}" for k in range(4)]
    values = [{"name": name, "x": k, "verdict": f"v{k}"} for k, name in enumerate(names)]
    chart = alt.Chart({"values": values}).mark_point()
    verdicts = ["reference", "constructor", "not significantly different"]
    for width, columns in ((84, 1), (174, 2)):
        path = tmp_path / f"{width}.json"
        legend = alt.Legend(
            orient="top", columns=4, title="compared with a-very-long-baseline-name"
        )
        encoded = chart.encode(
            x="x:Q",
            y=alt.Y("name:N", axis=alt.Axis(labelLimit=260)).scale(domain=names),
            color=alt.Color("verdict:N", legend=legend).scale(domain=verdicts),
        )
        before = encoded.to_json()
        save(encoded, path, width=width)
        encoding = json.loads(path.read_text())["encoding"]
        assert encoding["color"]["legend"]["columns"] == columns
        save(encoded, tmp_path / "c.svg", width=width)
        labels = re.findall(">([^<>]+)</t", (tmp_path / "c.svg").read_text(encoding="utf-8"))
        # In one column, the longest entry has several lines, and no entry is cut.
        assert ({"not significantly different"} <= {*labels}) == (width == 174)
        assert {"reference", "constructor"} <= {*labels}
        assert not any("…" in label for label in labels)
        # The chart itself keeps its legend.
        assert encoded.to_json() == before
