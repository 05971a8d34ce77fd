// The chart next to the answer, which is part of the HTML: tooltips, selection and saving as for other charts.

for (const figure of document.querySelectorAll(".ranked")) {
  const canvas = figure.querySelector(".canvas");
  const owner = figure.closest(".of-measure");
  const chart = { name: "intervals", figure, canvas, title: figure.querySelector("figcaption span"), available: () => true };
  const measureOf = () => data.measures[owner ? Number(owner.dataset.measure) : selectedMeasure()];
  chart.rows = () => {
    const { comparison, overall } = measureOf();
    const rows = [...figure.querySelectorAll(".names text")].map((name) => Number(name.dataset.row));
    if (!owner) return pairRows(rows);
    const values = comparison ? array(comparison, "means") : decodeFloats(overall);
    const intervals = comparison?.against ?? comparison?.around;
    const [low, high] = ["low", "high"].map((name) => (intervals ? array(intervals, name) : null));
    const head = ["system", comparison?.meanOf ?? measureOf().overallName, "low", "high"];
    return [head, ...rows.map((k) => [data.systems[k], values[k], low?.[k] ?? NaN, high?.[k] ?? NaN])];
  };
  figure.querySelector("figcaption").append(...saveButtons(chart));
  charts.push(chart);
  for (const part of figure.querySelectorAll(".intervals")) listenToRows(chart, part, owner);
}

/** Return the difference of two systems by each measure, as rows of a table. */
function pairRows(rows) {
  const { first, second } = data.start;
  const pairs = rows.map((k) => [data.measures[k].name, pairOf(data.measures[k].comparison, first, second)]);
  const head = ["measure", "difference", "low", "high", "p"];
  return [head, ...pairs.map(([name, pair]) => [name, pair.difference, pair.low, pair.high, pair.p])];
}

/** Add tooltips and selection to the rows of a part of a figure: systems, or measures if there are two systems. */
function listenToRows(chart, part, owner) {
  const names = [...part.querySelectorAll(".names text")];
  const keys = names.map((name) => Number(name.dataset.row));
  const [top, step] = [Number(part.dataset.top), Number(part.dataset.step)];
  const view = {
    width: 1,
    grid: { x: 0, y: top, w: 1, h: step, columns: 1, rows: keys.length },
    nearest: (_, y) => {
      const row = Math.floor((y * part.getBoundingClientRect().width - top) / step);
      return row >= 0 && row < keys.length ? [0, row] : null;
    },
    spot: (_, row) => (top + step * (row + 1)) / part.getBoundingClientRect().width,
    at: (_, row) => (owner ? systemAt(Number(owner.dataset.measure), keys[row]) : measureAt(keys[row])),
    light: (systems) => names.forEach((name, row) => name.classList.toggle("lit", owner !== null && systems.includes(keys[row]))),
  };
  part.tabIndex = 0;
  // A figure of several parts is a single chart; its view is that of the part in use.
  part.addEventListener("pointerenter", () => { chart.view = view; });
  part.addEventListener("focus", () => { chart.view = view; });
  chart.view ??= view;
  listen(chart, part);
}

function systemAt(k, system) {
  const { comparison, overall, places, label } = data.measures[k];
  const value = comparison ? array(comparison, "means")[system] : decodeFloats(overall)[system];
  const intervals = comparison?.against ?? comparison?.around;
  const tips = [data.systemLabels[system], `${label}: ${fixed(value, places)}`];
  if (intervals && !Number.isNaN(array(intervals, "low")[system])) {
    tips.push(`interval ${fixed(array(intervals, "low")[system], places)} to ${fixed(array(intervals, "high")[system], places)}`);
  }
  if (comparison?.letters) tips.push(`groups ${comparison.letters[system]}`);
  return { tip: tips, systems: [system], choose: (first) => choosePair(system, first) };
}

function measureAt(k) {
  const { first, second } = data.start;
  const { label, comparison } = data.measures[k];
  const pair = pairOf(comparison, first, second);
  const interval = formatInterval(pair, comparison.places);
  const tips = [label, `difference ${fixed(pair.difference, comparison.places)}`, `interval ${interval}`, `p ${formatP(pair.p)}`];
  return { tip: tips, systems: [], choose: () => selectMeasure(k) };
}
