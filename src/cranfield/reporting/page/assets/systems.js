// The table of systems: sorting, filtering, and the groups by the selected measure.

const systemsTable = document.getElementById("systems");
const systemRows = [...systemsTable.tBodies[0].rows];
/** Sort rows by name or by a measure; systems without a score come last. */
function sortSystems(key, direction) {
  const sign = direction === "ascending" ? 1 : -1;
  const values = key === "system" ? null : array(data.measures[key], "overall");
  const names = data.systemLabels;
  const compare = (a, b) => {
    if (!values) return sign * (names[a] < names[b] ? -1 : names[a] > names[b] ? 1 : a - b);
    const missing = Number.isNaN(values[a]) - Number.isNaN(values[b]);
    return missing || (values[a] === values[b] || Number.isNaN(values[a]) ? a - b : sign * (values[a] - values[b]));
  };
  systemRows.sort((a, b) => compare(+a.dataset.system, +b.dataset.system));
  systemsTable.tBodies[0].append(...systemRows);
  for (const head of systemsTable.tHead.querySelectorAll("[data-sort]")) {
    if (head.dataset.sort === String(key)) head.setAttribute("aria-sort", direction);
    else head.removeAttribute("aria-sort");
  }
}

/** Return the sort direction that puts the best system first. */
function bestFirst(key) {
  return key === "system" || data.measures[key].lowerIsBetter ? "ascending" : "descending";
}

/** Sort by a column, or reverse its order if the table is already sorted by it. */
function sortByHead(head) {
  const key = head.dataset.sort === "system" ? "system" : Number(head.dataset.sort);
  const opposite = { ascending: "descending", descending: "ascending" };
  sortSystems(key, opposite[head.getAttribute("aria-sort")] ?? bestFirst(key));
}

/** Show the systems whose name contains a text. */
function filterSystems(query) {
  const text = query.toLowerCase();
  let nShown = 0;
  for (const row of systemRows) {
    row.hidden = !data.systemLabels[row.dataset.system].toLowerCase().includes(text);
    nShown += row.hidden ? 0 : 1;
  }
  systemsTable.hidden = nShown === 0;
  document.getElementById("shown").textContent =
    nShown === 0 ? "no name contains this text" : `${nShown} of ${counted(systemRows.length, "system")}`;
}

const phone = window.matchMedia("(max-width: 46rem)");
let isArranged = false;

/** On phones, put the selected measure next to the names; elsewhere columns keep their order. */
function arrangeColumns(k) {
  if (!phone.matches && !isArranged) return;
  isArranged = phone.matches;
  for (const row of [systemsTable.tHead.rows[0], ...systemRows]) {
    const [name, groups] = [".system", ".groups"].map((selector) => row.querySelector(selector));
    const measures = data.measures.map((_, m) => row.querySelector(`[data-measure="${m}"]`));
    const selectedCell = phone.matches ? measures.splice(k, 1) : [];
    row.replaceChildren(name, ...selectedCell, groups, ...measures);
  }
}

/** Fill the column of groups for a measure. */
function showMeasureInTable(k) {
  const { comparison, label } = data.measures[k];
  arrangeColumns(k);
  for (const cell of systemsTable.querySelectorAll("[data-measure]")) {
    cell.classList.toggle("chosen", Number(cell.dataset.measure) === k);
  }
  const head = systemsTable.tHead.rows[0].querySelector(".groups");
  const baselines = comparison?.baselines ?? [];
  const verdicts = comparison?.against?.verdicts ?? comparison?.letters ?? [];
  head.textContent = comparison?.letters ? "groups" : "";
  if (baselines.length > 1) head.append("against ", named(data.systemLabels[baselines[0]]));
  else if (comparison?.against) head.textContent = "against the baseline";
  if (head.textContent) head.append(` by ${label}`);
  for (const row of systemRows) {
    const system = Number(row.dataset.system);
    row.querySelector(".groups").textContent = baselines.includes(system) ? "baseline" : verdicts[system] ?? "";
  }
}
