// The table of systems: sorting, filtering, and the intervals of the chosen measure.

const systemsTable = document.getElementById("systems");
const systemRows = [...systemsTable.tBodies[0].rows];
const WIDTH = 100;
const SVG = "http://www.w3.org/2000/svg";

/** An SVG element with attributes. */
function drawn(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  return made;
}

/** Sort rows by name or by a measure; systems without a score stay at the end. */
function sortSystems(key, direction) {
  const sign = direction === "ascending" ? 1 : -1;
  const values = key === "system" ? null : array(data.measures[key], "overall");
  const names = data.systemLabels;
  const compare = (a, b) => {
    if (!values) return sign * (names[a] < names[b] ? -1 : names[a] > names[b] ? 1 : a - b);
    const missing = Number.isNaN(values[a]) - Number.isNaN(values[b]);
    return missing || (values[a] === values[b] || Number.isNaN(values[a]) ? a - b : sign * (values[a] - values[b]));
  };
  systemRows.sort((one, other) => compare(+one.dataset.system, +other.dataset.system));
  systemsTable.tBodies[0].append(...systemRows);
  for (const head of systemsTable.tHead.querySelectorAll("[data-sort]")) {
    if (head.dataset.sort === String(key)) head.setAttribute("aria-sort", direction);
    else head.removeAttribute("aria-sort");
  }
}

/** The direction that has the best on top. */
function bestFirst(key) {
  return key === "system" || data.measures[key].lowerIsBetter ? "ascending" : "descending";
}

/** Sort by a column that was asked for; asked again, the other way round. */
function onSort(head) {
  const key = head.dataset.sort === "system" ? "system" : Number(head.dataset.sort);
  const other = { ascending: "descending", descending: "ascending" };
  sortSystems(key, other[head.getAttribute("aria-sort")] ?? bestFirst(key));
}

/** Show the systems whose name has a text. */
function filterSystems(wanted) {
  const text = wanted.toLowerCase();
  let shown = 0;
  for (const row of systemRows) {
    row.hidden = !data.systemLabels[row.dataset.system].toLowerCase().includes(text);
    shown += row.hidden ? 0 : 1;
  }
  systemsTable.hidden = shown === 0;
  document.getElementById("shown").textContent =
    shown === 0 ? "no system has it in its name" : `${shown} of ${counted(systemRows.length, "system")}`;
}

/** Middle, low and high of each system: its mean, or its difference from the baseline. */
function intervalsOf(comparison) {
  if (comparison.against) {
    const { against } = comparison;
    return {
      middle: array(against, "difference"),
      low: array(against, "low"),
      high: array(against, "high"),
      top: against.verdicts.map((word) => word === "better"),
      zero: true,
    };
  }
  const middle = array(comparison, "means");
  const { around } = comparison;
  const best = comparison.order[0];
  const top = data.systems.map((_, k) => {
    const pair = pairOf(comparison, best, k);
    return k === best || (pair !== null && !(pair.p <= comparison.alpha));
  });
  const low = around ? array(around, "low") : middle;
  const high = around ? array(around, "high") : middle;
  return { middle, low, high, top, zero: false, band: around ? [low[best], high[best]] : null };
}

/** Draw the interval of one system on the common scale. */
function drawInterval(found, k, x) {
  const picture = drawn("svg", { viewBox: `0 0 ${WIDTH} 10`, preserveAspectRatio: "none", "aria-hidden": "true" });
  if (found.band) {
    const [from, to] = found.band.map(x);
    picture.append(drawn("rect", { class: "band", x: from, width: to - from, y: -3.6, height: 17.2 }));
  }
  if (found.zero) picture.append(drawn("line", { class: "zero", x1: x(0), x2: x(0), y1: -3.6, y2: 13.6 }));
  if (Number.isNaN(found.middle[k])) return picture;
  const line = { y1: 5, y2: 5, class: "whisker" };
  picture.append(drawn("line", { ...line, x1: x(found.low[k]), x2: x(found.high[k]) }));
  // The picture is stretched to its column; a dot is a short tick then, which stays sharp.
  picture.append(drawn("rect", { class: "dot", x: x(found.middle[k]) - 0.6, width: 1.2, y: 1, height: 8 }));
  return picture;
}

const phone = window.matchMedia("(max-width: 46rem)");
let arranged = false;

/** On phones the chosen measure stands next to the names; elsewhere columns keep their order. */
function arrangeColumns(k) {
  if (!phone.matches && !arranged) return;
  arranged = phone.matches;
  for (const row of [systemsTable.tHead.rows[0], ...systemRows]) {
    const [name, interval, groups] = [".system", ".interval", ".groups"].map((one) => row.querySelector(one));
    const measures = data.measures.map((_, m) => row.querySelector(`[data-measure="${m}"]`));
    const chosenCell = phone.matches ? measures.splice(k, 1) : [];
    row.replaceChildren(name, ...chosenCell, interval, groups, ...measures);
  }
}

/** Fill the columns of groups and intervals for a measure. */
function showMeasureInTable(k) {
  const { comparison, label, policy } = data.measures[k];
  arrangeColumns(k);
  for (const cell of systemsTable.querySelectorAll("[data-measure]")) {
    cell.classList.toggle("chosen", Number(cell.dataset.measure) === k);
  }
  const heads = systemsTable.tHead.rows[0];
  const groupHead = heads.querySelector(".groups");
  const axis = heads.querySelector(".interval");
  const legend = document.getElementById("legend");
  groupHead.textContent = "";
  axis.replaceChildren();
  legend.textContent = "";
  if (!comparison) {
    for (const row of systemRows) {
      row.querySelector(".groups").textContent = "";
      row.querySelector(".interval").replaceChildren();
    }
    legend.textContent = `${label}: systems are not compared.`;
    return;
  }
  const found = intervalsOf(comparison);
  const ends = [...found.low, ...found.high, ...(found.zero ? [0] : [])].filter(Number.isFinite);
  const least = ends.reduce((a, b) => Math.min(a, b), Infinity);
  const most = ends.reduce((a, b) => Math.max(a, b), -Infinity);
  // Limits of one-sided tests go on for ever; they are drawn to the edge.
  const inside = (value) => Math.min(Math.max(value, least), most);
  const x = (value) => (most > least ? ((inside(value) - least) / (most - least)) * WIDTH : WIDTH / 2);
  const { baselines } = comparison;
  const several = baselines.length > 1;
  if (several) groupHead.append("against ", named(data.systemLabels[baselines[0]]));
  else if (comparison.against) groupHead.textContent = "against the baseline";
  else if (comparison.letters) groupHead.textContent = "groups";
  const scale = element("span", "axis");
  scale.append(element("span", "", fixed(least, 2)), element("span", "", fixed(most, 2)));
  axis.append(scale);
  for (const row of systemRows) {
    const system = Number(row.dataset.system);
    const words = comparison.against?.verdicts ?? comparison.letters ?? [];
    row.querySelector(".groups").textContent = baselines.includes(system) ? "baseline" : words[system] ?? "";
    row.querySelector(".interval").replaceChildren(drawInterval(found, system, x));
    row.classList.toggle("top", found.top[system]);
  }
  const more = policy.map((note) => ` ${note[0].toUpperCase()}${note.slice(1)}.`).join("");
  legend.textContent = legendOf(comparison, found, label) + more;
}

/** Say what the columns of groups and intervals show. */
function legendOf(comparison, found, label) {
  const sure = `${+(100 * (1 - comparison.alpha)).toFixed(4)}%`;
  if (comparison.against) {
    const others = comparison.baselines.length > 1 ? " The other baselines are in the pair view below." : "";
    return `${label}: difference from ${data.systemLabels[comparison.baselines[0]]} with its ${sure} limits (${comparison.intervalOf}, ${comparison.intervalKind}).${others}`;
  }
  const letters = comparison.letters ? " Systems that share a letter are not found to differ." : "";
  if (!found.band) return `${label}: ${comparison.meanOf} of each system.${letters}`;
  if (comparison.around.ofBest) {
    return `${label}: ${comparison.meanOf} of each system, with the ${sure} interval of its difference from the best (${comparison.intervalKind}).${letters}`;
  }
  return `${label}: ${comparison.meanOf} of each system; systems whose intervals do not overlap differ. Shaded: the interval of the best.${letters}`;
}
