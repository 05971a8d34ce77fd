// The page: the selected measure and pair of systems apply to all sections, and are part of the address.

/** Show everything by a measure. */
function showMeasure(k) {
  for (const part of document.querySelectorAll(".of-measure")) {
    part.hidden = Number(part.dataset.measure) !== k;
  }
  sortSystems(k, bestFirst(k));
  showMeasureInTable(k);
  showPair(k);
  redraw();
}

/** Show the selected pair; the order of the table does not change. */
function onPairChange() {
  leave();
  showPair(selectedMeasure());
  redraw();
  updateAddress();
}

/** Whether the address contains a selection, which is restored after links to sections. */
let hasSelection = false;

function updateAddress() {
  hasSelection = true;
  const selection = { measure: data.measures[selectedMeasure()].name };
  [selection.first, selection.second] = selectedPair().map((k) => data.systems[k]);
  history.replaceState(null, "", `#${new URLSearchParams(selection)}`);
}

function selectMeasure(k) {
  chooseMeasure.value = String(k);
  onMeasureChange();
}

function chooseBoth(first, second) {
  [chooseFirst.value, chooseSecond.value] = [String(first), String(second)];
  onPairChange();
}

function onMeasureChange() {
  leave();
  showMeasure(selectedMeasure());
  updateAddress();
}

/** Compare a system with the first system of the pair, or make it the first. */
function choosePair(system, asFirst) {
  const [first, second] = selectedPair();
  if (asFirst) chooseBoth(system, system === second ? first : second);
  else if (system !== first) chooseBoth(first, system);
}

/** Select the measure and the systems of the address, if they exist. */
function readAddress() {
  const selection = new URLSearchParams(location.hash.slice(1));
  const indices = [
    [chooseMeasure, data.measures.findIndex((measure) => measure.name === selection.get("measure"))],
    [chooseFirst, data.systems.indexOf(selection.get("first"))],
    [chooseSecond, data.systems.indexOf(selection.get("second"))],
  ];
  for (const [select, k] of indices) if (k >= 0) select.value = String(k);
}

document.documentElement.classList.add("js");
fillPairs();
// A browser may restore the selection of a previous visit.
chooseMeasure.value = "0";
readAddress();
showMeasure(selectedMeasure());
filterSystems("");

chooseMeasure.addEventListener("change", onMeasureChange);
for (const select of [chooseFirst, chooseSecond]) select.addEventListener("change", onPairChange);
document.getElementById("swap").addEventListener("click", () => chooseBoth(...selectedPair().reverse()));
window.addEventListener("hashchange", () => {
  if (!location.hash.includes("=")) {
    if (hasSelection) updateAddress();
    return;
  }
  readAddress();
  showMeasure(selectedMeasure());
});
phone.addEventListener("change", () => arrangeColumns(selectedMeasure()));
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
let pageWidth = document.documentElement.clientWidth;
window.addEventListener("resize", () => {
  if (pageWidth !== document.documentElement.clientWidth) redraw();
  pageWidth = document.documentElement.clientWidth;
});
const filter = document.getElementById("filter");
filter.value = "";
filter.addEventListener("input", () => filterSystems(filter.value));
for (const head of systemsTable.tHead.querySelectorAll("[data-sort]")) {
  head.querySelector("button").addEventListener("click", () => sortByHead(head));
}

// Once the page is loaded, all charts are drawn in turn, so that links to sections lead to the right position.
window.addEventListener("load", () => {
  const queue = charts.filter((chart) => chart.draw);
  const drawNext = () => {
    const chart = queue.shift();
    if (chart?.isStale) drawChart(chart);
    if (queue.length) setTimeout(drawNext);
  };
  setTimeout(drawNext);
});

// In print all charts are drawn with the width of the page; charts that are higher than a page are scaled down.
const PAGE = 840;
window.addEventListener("beforeprint", () => {
  for (const figure of document.querySelectorAll(".intervals")) {
    const rows = figure.querySelectorAll(".names text").length;
    figure.style.zoom = Math.min(1, Math.max(0.4, PAGE / (Number(figure.dataset.top) + rows * figure.dataset.step)));
  }
  for (const chart of charts) if (chart.draw) drawChart(chart, chart.figure.matches(".wide, #chart-topics") ? 660 : 316);
});
window.addEventListener("afterprint", () => {
  for (const figure of document.querySelectorAll(".intervals")) figure.style.zoom = "";
  redraw();
});
