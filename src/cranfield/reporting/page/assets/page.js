// The page: one select chooses the measure everywhere.

const chooseMeasure = document.getElementById("measure");

/** Show everything by a measure. */
function showMeasure(k) {
  for (const part of document.querySelectorAll(".of-measure")) {
    part.hidden = Number(part.dataset.measure) !== k;
  }
  sortSystems(k, bestFirst(k));
  showMeasureInTable(k);
  showPair(k);
}

/** The measure that is chosen. */
function chosen() {
  return Number(chooseMeasure.value);
}

document.documentElement.classList.add("js");
fillPairs();
// A browser may remember what was chosen before the page was loaded again.
chooseMeasure.value = "0";
showMeasure(0);
filterSystems("");

chooseMeasure.addEventListener("change", () => showMeasure(chosen()));
chooseFirst.addEventListener("change", () => showPair(chosen()));
chooseSecond.addEventListener("change", () => showPair(chosen()));
document.getElementById("swap").addEventListener("click", () => {
  [chooseFirst.value, chooseSecond.value] = [chooseSecond.value, chooseFirst.value];
  showPair(chosen());
});
phone.addEventListener("change", () => arrangeColumns(chosen()));
const filter = document.getElementById("filter");
filter.value = "";
filter.addEventListener("input", () => filterSystems(filter.value));
for (const head of systemsTable.tHead.querySelectorAll("[data-sort]")) {
  head.querySelector("button").addEventListener("click", () => onSort(head));
}

// On paper nothing is folded away.
const folded = new Set();
window.addEventListener("beforeprint", () => {
  for (const one of document.querySelectorAll("details:not([open])")) {
    folded.add(one);
    one.open = true;
  }
});
window.addEventListener("afterprint", () => {
  for (const one of folded) one.open = false;
  folded.clear();
});
