// The page: one measure and one pair are chosen everywhere, and stand in its address.

/** Show everything by a measure. */
function showMeasure(k) {
  for (const part of document.querySelectorAll(".of-measure")) {
    part.hidden = Number(part.dataset.measure) !== k;
  }
  sortSystems(k, bestFirst(k));
  showMeasureInTable(k);
  showPair(k);
  drawAgain();
}

/** After a pair was chosen: the table stays as the reader has sorted it. */
function chosePair() {
  leave();
  showPair(chosen());
  drawAgain();
  writeAddress();
}

/** Whether the address has a choice, which links to sections are not to take away. */
let kept = false;

function writeAddress() {
  kept = true;
  const named = { measure: data.measures[chosen()].name };
  [named.first, named.second] = pairNow().map((k) => data.systems[k]);
  history.replaceState(null, "", `#${new URLSearchParams(named)}`);
}

function chooseMeasureTo(k) {
  chooseMeasure.value = String(k);
  choseMeasure();
}

function chooseBoth(first, second) {
  [chooseFirst.value, chooseSecond.value] = [String(first), String(second)];
  chosePair();
}

function choseMeasure() {
  leave();
  showMeasure(chosen());
  writeAddress();
}

/** Compare a system with the first of the pair; or make it the first. */
function choosePair(system, asFirst) {
  const [first, second] = pairNow();
  if (asFirst) chooseBoth(system, system === second ? first : second);
  else if (system !== first) chooseBoth(first, system);
}

/** Take what the address says, where there is such a measure and such systems. */
function readAddress() {
  const said = new URLSearchParams(location.hash.slice(1));
  const places = [
    [chooseMeasure, data.measures.findIndex((one) => one.name === said.get("measure"))],
    [chooseFirst, data.systems.indexOf(said.get("first"))],
    [chooseSecond, data.systems.indexOf(said.get("second"))],
  ];
  for (const [select, k] of places) if (k >= 0) select.value = String(k);
}

document.documentElement.classList.add("js");
fillPairs();
// A browser may remember what was chosen before the page was loaded again.
chooseMeasure.value = "0";
readAddress();
showMeasure(chosen());
filterSystems("");

chooseMeasure.addEventListener("change", choseMeasure);
for (const select of [chooseFirst, chooseSecond]) select.addEventListener("change", chosePair);
document.getElementById("swap").addEventListener("click", () => chooseBoth(...pairNow().reverse()));
window.addEventListener("hashchange", () => {
  if (!location.hash.includes("=")) {
    if (kept) writeAddress();
    return;
  }
  readAddress();
  showMeasure(chosen());
});
phone.addEventListener("change", () => arrangeColumns(chosen()));
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAgain);
let wide = document.documentElement.clientWidth;
window.addEventListener("resize", () => {
  if (wide !== document.documentElement.clientWidth) drawAgain();
  wide = document.documentElement.clientWidth;
});
const filter = document.getElementById("filter");
filter.value = "";
filter.addEventListener("input", () => filterSystems(filter.value));
for (const head of systemsTable.tHead.querySelectorAll("[data-sort]")) {
  head.querySelector("button").addEventListener("click", () => onSort(head));
}

// When the page is ready, all pictures are drawn in turn, so that links to sections lead where they say.
window.addEventListener("load", () => {
  const turn = pictures.filter((one) => one.draw);
  const next = () => {
    const one = turn.shift();
    if (one?.stale) drawPicture(one);
    if (turn.length) setTimeout(next);
  };
  setTimeout(next);
});

// On paper all pictures are there, as wide as it is; what is higher than a page is made smaller.
const PAGE = 840;
window.addEventListener("beforeprint", () => {
  for (const one of document.querySelectorAll(".intervals")) {
    const rows = one.querySelectorAll(".names text").length;
    one.style.zoom = Math.min(1, Math.max(0.4, PAGE / (Number(one.dataset.top) + rows * one.dataset.step)));
  }
  for (const one of pictures) if (one.draw) drawPicture(one, one.figure.matches(".wide, #pic-topics") ? 660 : 316);
});
window.addEventListener("afterprint", () => {
  for (const one of document.querySelectorAll(".intervals")) one.style.zoom = "";
  drawAgain();
});
