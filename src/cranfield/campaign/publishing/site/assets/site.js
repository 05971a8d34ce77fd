// Tables that can be sorted and filtered; without this script they stand in their own order.

/** What a cell is sorted by: a number where it says one, else its text. */
function keyOf(row, place) {
  const cell = row.cells[place];
  return cell.dataset.v === undefined ? cell.textContent.trim() : Number(cell.dataset.v || NaN);
}

/** Compare by a column; numbers that are missing stay at the end. */
function compare(a, b, sign) {
  if (typeof a === "string" || typeof b === "string") return sign * String(a).localeCompare(String(b), "en");
  const missing = Number.isNaN(a) - Number.isNaN(b);
  return missing || (Number.isNaN(a) ? 0 : sign * (a - b));
}

/** Sort rows by the column of a button; asked again, the other way round. */
function onSort(table, head) {
  const other = { ascending: "descending", descending: "ascending" };
  const direction = other[head.getAttribute("aria-sort")] ?? head.dataset.first ?? "ascending";
  const sign = direction === "ascending" ? 1 : -1;
  const body = table.tBodies[0];
  const keyed = [...body.rows].map((row) => [keyOf(row, head.cellIndex), Number(row.dataset.k), row]);
  keyed.sort((one, two) => compare(one[0], two[0], sign) || one[1] - two[1]);
  body.append(...keyed.map((one) => one[2]));
  for (const each of head.parentElement.cells) each.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", direction);
}

/** Show the rows that have a text in them and are of all the kinds that are chosen. */
function onFilter(table, tools) {
  const wanted = tools.querySelector("input").value.toLowerCase();
  const chosen = [...tools.querySelectorAll("select")].filter((one) => one.value !== "");
  let shown = 0;
  for (const row of table.tBodies[0].rows) {
    const kinds = JSON.parse(row.dataset.kinds ?? "[]");
    const kept = chosen.every((one) => kinds[Number(one.dataset.kind)] === one.value);
    row.hidden = !(kept && row.textContent.toLowerCase().includes(wanted));
    shown += row.hidden ? 0 : 1;
  }
  tools.querySelector("output").textContent = `${shown} of ${table.tBodies[0].rows.length} shown`;
}

document.documentElement.classList.add("js");
for (const table of document.querySelectorAll("table.sortable")) {
  [...table.tBodies[0].rows].forEach((row, k) => { row.dataset.k = k; });
  for (const head of table.tHead.querySelectorAll("th[data-first]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => onSort(table, head));
  }
}
for (const tools of document.querySelectorAll(".tools[data-table]")) {
  const table = document.getElementById(tools.dataset.table);
  // A browser may remember what was chosen before the page was loaded again.
  for (const one of tools.querySelectorAll("input, select")) {
    one.value = "";
    one.addEventListener("input", () => onFilter(table, tools));
  }
  onFilter(table, tools);
}
