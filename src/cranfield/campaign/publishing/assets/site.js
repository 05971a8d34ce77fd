// Sort and filter tables; without this script, rows stay in their order.

/** Return the sort key of a cell: its number if it has one, otherwise its text. */
function sortKey(row, column) {
  const cell = row.cells[column];
  return cell.dataset.v === undefined ? cell.textContent.trim() : Number(cell.dataset.v || NaN);
}

/** Compare two keys; missing numbers are last. */
function compare(a, b, sign) {
  if (typeof a === "string" || typeof b === "string") return sign * String(a).localeCompare(String(b), "en");
  const missing = Number.isNaN(a) - Number.isNaN(b);
  return missing || (Number.isNaN(a) ? 0 : sign * (a - b));
}

/** Sort rows by a column; a second click reverses the order. */
function onSort(table, head) {
  const reverse = { ascending: "descending", descending: "ascending" };
  const direction = reverse[head.getAttribute("aria-sort")] ?? head.dataset.first ?? "ascending";
  const sign = direction === "ascending" ? 1 : -1;
  const body = table.tBodies[0];
  const items = [...body.rows].map((row) => [sortKey(row, head.cellIndex), Number(row.dataset.k), row]);
  items.sort((a, b) => compare(a[0], b[0], sign) || a[1] - b[1]);
  body.append(...items.map((item) => item[2]));
  for (const cell of head.parentElement.cells) cell.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", direction);
}

/** Show only rows that contain the text and have all selected values. */
function onFilter(table, tools) {
  const text = tools.querySelector("input").value.toLowerCase();
  const selections = [...tools.querySelectorAll("select")].filter((select) => select.value !== "");
  let nShown = 0;
  for (const row of table.tBodies[0].rows) {
    const values = JSON.parse(row.dataset.filters ?? "[]");
    const matches = selections.every((select) => values[Number(select.dataset.filter)] === select.value);
    row.hidden = !(matches && row.textContent.toLowerCase().includes(text));
    nShown += row.hidden ? 0 : 1;
  }
  tools.querySelector("output").textContent = `${nShown} of ${table.tBodies[0].rows.length} shown`;
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
  // When a page is reloaded, a browser may keep the old values of inputs.
  for (const input of tools.querySelectorAll("input, select")) {
    input.value = "";
    input.addEventListener("input", () => onFilter(table, tools));
  }
  onFilter(table, tools);
}
