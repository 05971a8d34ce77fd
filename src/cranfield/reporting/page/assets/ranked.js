// The picture beside the answer, which is in the page already: it is read, chosen from and kept as the others are.

for (const figure of document.querySelectorAll(".ranked")) {
  const canvas = figure.querySelector(".canvas");
  const owner = figure.closest(".of-measure");
  const one = { name: "intervals", figure, canvas, title: figure.querySelector("figcaption span"), available: () => true };
  const measureOf = () => data.measures[owner ? Number(owner.dataset.measure) : chosen()];
  one.rows = () => {
    const { comparison, overall } = measureOf();
    const rows = [...figure.querySelectorAll(".names text")].map((name) => Number(name.dataset.row));
    if (!owner) return pairRows(rows);
    const values = comparison ? array(comparison, "means") : floatsOf(overall);
    const limits = comparison?.against ?? comparison?.around;
    const [low, high] = ["low", "high"].map((name) => (limits ? array(limits, name) : null));
    const head = ["system", comparison?.meanOf ?? measureOf().overallName, "low", "high"];
    return [head, ...rows.map((k) => [data.systems[k], values[k], low?.[k] ?? NaN, high?.[k] ?? NaN])];
  };
  figure.querySelector("figcaption").append(...keepButtons(one));
  pictures.push(one);
  for (const part of figure.querySelectorAll(".intervals")) listenTo(one, part, owner);
}

/** Of two systems: the difference by each measure. */
function pairRows(rows) {
  const { first, second } = data.start;
  const found = rows.map((k) => [data.measures[k].name, pairOf(data.measures[k].comparison, first, second)]);
  const head = ["measure", "difference", "low", "high", "p"];
  return [head, ...found.map(([name, pair]) => [name, pair.difference, pair.low, pair.high, pair.p])];
}

/** Rows of one part of a figure: systems, or measures where there are two systems. */
function listenTo(one, part, owner) {
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
  // A figure of several parts is one picture, of which the part in use is in view.
  part.addEventListener("pointerenter", () => { one.view = view; });
  part.addEventListener("focus", () => { one.view = view; });
  one.view ??= view;
  listen(one, part);
}

function systemAt(k, system) {
  const { comparison, overall, places, label } = data.measures[k];
  const value = comparison ? array(comparison, "means")[system] : floatsOf(overall)[system];
  const limits = comparison?.against ?? comparison?.around;
  const tips = [data.systemLabels[system], `${label}: ${fixed(value, places)}`];
  if (limits && !Number.isNaN(array(limits, "low")[system])) {
    tips.push(`interval ${fixed(array(limits, "low")[system], places)} to ${fixed(array(limits, "high")[system], places)}`);
  }
  if (comparison?.letters) tips.push(`groups ${comparison.letters[system]}`);
  return { tip: tips, systems: [system], choose: (first) => choosePair(system, first) };
}

function measureAt(k) {
  const { first, second } = data.start;
  const { label, comparison } = data.measures[k];
  const pair = pairOf(comparison, first, second);
  const limits = limitsOf(pair, comparison.places);
  const tips = [label, `difference ${fixed(pair.difference, comparison.places)}`, `interval ${limits}`, `p ${shownP(pair.p)}`];
  return { tip: tips, systems: [], choose: () => chooseMeasureTo(k) };
}
