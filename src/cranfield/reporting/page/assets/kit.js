// The chart kit: drawing, tooltips, selection and keyboard access of all charts.

const SVG = "http://www.w3.org/2000/svg";
const tip = document.getElementById("tip");
/** Number of colours of the difficulty map. */
const STEPS = 24;
/** Minimum height of rows with names. */
const MIN_NAME_HEIGHT = 8.4;

/** All charts in order: their declaration, their figure, and their current view. */
const charts = [];

/** Create an SVG element with attributes and children; strings become text. */
function svgElement(name, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== "") node.setAttribute(key, String(value));
  }
  node.append(...children);
  return node;
}

/** Create a text of a chart. */
function textElement(text, x, y, anchor = "start", look = "") {
  return svgElement("text", { x, y, "text-anchor": anchor, class: look }, text);
}

/** Shorten a name in its middle to a width, as names of a team often have the same beginning. */
function cut(name, width) {
  const maxLength = Math.max(3, Math.floor(width / 6.9));
  const end = Math.floor((maxLength - 1) / 2);
  return name.length > maxLength ? `${name.slice(0, maxLength - 1 - end)}…${end ? name.slice(-end) : ""}` : name;
}

/** Create the name of a column: horizontal if there is enough space, else vertical. */
function columnName(name, x, y, width, anchor) {
  const label = cut(name, 52);
  if (label.length * 6.9 < width) return textElement(label, x, anchor === "end" ? y + 7 : y, "middle", "soft");
  const text = textElement(label, 0, 0, anchor, "soft");
  text.setAttribute("transform", `translate(${(x + 3.5).toFixed(1)} ${y}) rotate(-90)`);
  return text;
}

/** Return path commands of a rectangle; edges are rounded, so that neighbours leave no gap. */
function rectanglePath(x, y, width, height) {
  const [left, top, right, bottom] = [x, y, x + width, y + height].map((edge) => edge.toFixed(1));
  return `M${left} ${top}H${right}V${bottom}H${left}z`;
}

/** Return round values within a range, or its lower end if it has no width. */
function computeTicks(low, high, maxTicks = 5) {
  if (!(high > low)) return [low];
  const magnitude = 10 ** Math.floor(Math.log10((high - low) / maxTicks));
  const step = magnitude * [1, 2, 5, 10, 20].find((factor) => (high - low) / (magnitude * factor) < maxTicks);
  const first = Math.ceil(low / step - 1e-9);
  const count = Math.floor(high / step + 1e-9) - first + 1;
  return Array.from({ length: count }, (_, k) => +((first + k) * step).toPrecision(12));
}

/** Format ticks with as many decimals as the tick with most decimals. */
function formatTicks(ticks) {
  const decimals = (value) => Math.min(100, Math.max(0, (`${value}`.split("e")[0].split(".")[1] ?? "").length - Number(`${value}`.split("e")[1] ?? 0)));
  const places = Math.max(...ticks.map(decimals));
  return ticks.map((value) => (value ? fixed(value, places) : "0"));
}

/** Return the value of a colour of the style sheet. */
function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** Return the colour of a fraction: from light to dark in the light scheme, from dark to light in the dark scheme. */
function rampColour(fraction) {
  const stops = ["ramp-low", "ramp-middle", "ramp-high"].map(colour);
  const [from, to, weight] = fraction < 0.5 ? [stops[0], stops[1], 2 * fraction] : [stops[1], stops[2], 2 * fraction - 1];
  const channels = [1, 3, 5].map((at) => {
    const [a, b] = [from, to].map((stop) => parseInt(stop.slice(at, at + 2), 16));
    return Math.round(a + (b - a) * weight).toString(16).padStart(2, "0");
  });
  return `#${channels.join("")}`;
}

/** Return the class of text that is legible on a colour. */
function textClass(fill) {
  const [r, g, b] = [1, 3, 5].map((at) => (parseInt(fill.slice(at, at + 2), 16) / 255) ** 2.2);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? "on-light" : "on-dark";
}

/** Return the systems from the best mean by a measure to the worst. */
function ranking(measure) {
  if (measure.comparison) return measure.comparison.order;
  const values = array(measure, "overall");
  const sign = measure.lowerIsBetter ? 1 : -1;
  const isMissing = (k) => Number.isNaN(values[k]);
  return data.systems.map((_, k) => k).sort((a, b) => isMissing(a) - isMissing(b) || sign * (values[a] - values[b]) || a - b);
}

/** Create the names of rows, with the selected pair in its colours; only its names if rows are low. */
function rowNames(order, grid, room) {
  const pair = selectedPair();
  return order.flatMap((system, row) => {
    const look = ["first", "second"][pair.indexOf(system)] ?? "";
    if (grid.h < MIN_NAME_HEIGHT && !look) return [];
    return [textElement(cut(data.systemLabels[system], room), 0, grid.y + (row + 0.5) * grid.h + 4, "start", `${look}${grid.h < 12 ? " low" : ""}`)];
  });
}

/** Create the outline of the row of a system, with its name if rows are too low for names. */
function rowMark(order, grid, width, system) {
  const row = order.indexOf(system);
  if (row < 0) return [];
  const y = grid.y + row * grid.h;
  const names = grid.h < MIN_NAME_HEIGHT ? [textElement(cut(data.systemLabels[system], grid.x), 0, y + grid.h / 2 + 4, "start", "lit")] : [];
  return [svgElement("rect", { class: "mark", x: grid.x - 2, y, width: width - grid.x + 2, height: grid.h }), ...names];
}

/** Return a hint if rows are too low for names. */
function namesHint(grid) {
  return grid.h < MIN_NAME_HEIGHT ? ["Names appear when you point at a row."] : [];
}

/** Return the height of rows (h) and the width of names (room). */
function rowsFor(count, width) {
  return { h: count <= 12 ? 22 : count <= 45 ? 13 : Math.max(3, 560 / count), room: width < 460 ? 92 : 150 };
}

/** Add a chart; its declaration has its name, availability, drawing, and its data as a table. */
function addChart(declaration) {
  const figure = document.getElementById(`chart-${declaration.id}`);
  const chart = { ...declaration, figure, isStale: true, isNear: false, view: null };
  const caption = element("figcaption");
  chart.title = element("span");
  caption.append(chart.title, ...saveButtons(chart));
  chart.canvas = element("div", "canvas");
  chart.note = element("p", "note");
  figure.append(caption, chart.canvas, chart.note);
  charts.push(chart);
  watcher.observe(figure);
}

/** Draw charts only when they are about to be visible, so that the page is ready sooner. */
const watcher = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    const chart = charts.find((chart) => chart.figure === target);
    chart.isNear = isIntersecting;
    if (chart.isNear && chart.isStale) drawChart(chart);
  }
}, { rootMargin: "400px" });

/** Redraw all charts that are visible or nearly so now, and the other charts once they are. */
function redraw() {
  for (const chart of charts) {
    chart.isStale = true;
    chart.figure.hidden = !chart.available(data.measures[selectedMeasure()]);
    if (chart.isNear && !chart.figure.hidden) drawChart(chart);
  }
}

function drawChart(chart, width = chart.canvas.clientWidth) {
  if (chart.figure.hidden || width === 0) return;
  const measure = data.measures[selectedMeasure()];
  const view = chart.draw(measure, width);
  chart.isStale = false;
  chart.view = view;
  chart.title.textContent = view.title;
  // Hints on the pointer are not printed.
  const hints = (view.hints ?? []).map((hint) => element("span", "hint", ` ${hint}`));
  chart.note.replaceChildren(view.note, ...hints);
  const { height } = view;
  // A redrawn chart keeps the focus and the cell selected by keys; otherwise the next key would
  // begin at the top of the page or in the first cell.
  const hasFocus = chart.svg && chart.svg === document.activeElement;
  const cell = hasFocus ? chart.cell : null;
  chart.svg = svgElement("svg", {
    viewBox: `0 0 ${width} ${height}`, width, height, tabindex: 0, role: "img",
    "aria-label": `${view.title}. Arrow keys read its values.`,
  }, ...view.parts);
  chart.over = svgElement("g", { class: "over" });
  chart.svg.append(chart.over);
  chart.canvas.replaceChildren(chart.svg);
  listen(chart, chart.svg);
  if (hasFocus) chart.svg.focus({ preventScroll: true });
  if (cell) pointWithKeys(chart, cell);
}

/** Add tooltips, selection and keyboard access to a chart. */
function listen(chart, target) {
  const pointerPosition = (event) => {
    const box = target.getBoundingClientRect();
    const scale = chart.view.width / box.width;
    return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
  };
  target.addEventListener("pointermove", (event) => {
    const cell = findCell(chart.view, ...pointerPosition(event));
    if (cell) point(chart, ...cell, event.clientX, event.clientY);
    else leave();
  });
  target.addEventListener("pointerleave", leave);
  target.addEventListener("blur", leave);
  target.addEventListener("click", (event) => {
    const cell = findCell(chart.view, ...pointerPosition(event));
    if (cell) chart.view.at(...cell)?.choose?.(event.shiftKey);
  });
  target.addEventListener("keydown", (event) => {
    const steps = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
    const { columns, rows } = chart.view.grid;
    if (event.key === "Escape") leave();
    else if (event.key === "Enter" && chart.cell) {
      chart.view.at(...chart.cell)?.choose?.(event.shiftKey);
    } else if (event.key in steps) {
      const clamp = (value, count) => Math.min(Math.max(value, 0), count - 1);
      const [c, r] = chart.cell ?? [0, 0];
      const [right, down] = chart.cell ? steps[event.key] : [0, 0];
      pointWithKeys(chart, [clamp(c + right, columns), clamp(r + down, rows)]);
    } else return;
    event.preventDefault();
  });
}

/** Show the tooltip of a cell selected by keys, below the cell. */
function pointWithKeys(chart, [c, r]) {
  const { x, y, w, h } = chart.view.grid;
  const box = chart.svg.getBoundingClientRect();
  const scale = box.width / chart.view.width;
  const top = chart.view.spot ? chart.view.spot(c, r) : y + (r + 1) * h;
  point(chart, c, r, box.left + (x + (c + 0.5) * w) * scale, box.top + top * scale);
}

/** Return the cell of a grid at a position; null outside. */
function findCell(view, left, top) {
  if (view.nearest) return view.nearest(left, top);
  const { x, y, w, h, columns, rows } = view.grid;
  const [c, r] = [Math.floor((left - x) / w), Math.floor((top - y) / h)];
  const column = columns === 1 ? 0 : c;
  return column >= 0 && column < columns && r >= 0 && r < rows ? [column, r] : null;
}

/** Show the tooltip of a cell, and mark its systems in all charts. */
function point(chart, c, r, left, top) {
  const content = chart.view.at(c, r);
  if (!content) return leave();
  chart.cell = [c, r];
  const lines = content.tip.map((line, k) => element(k ? "span" : "strong", "", line));
  tip.replaceChildren(...lines);
  tip.hidden = false;
  const [width, height] = [tip.offsetWidth, tip.offsetHeight];
  const room = document.documentElement.clientWidth;
  tip.style.left = `${Math.max(8, Math.min(left + 14, room - width - 8))}px`;
  tip.style.top = `${top + 18 + height > window.innerHeight ? Math.max(8, top - height - 12) : top + 18}px`;
  mark(content.systems);
  const { x, y, w, h, columns } = chart.view.grid;
  if (columns > 1 && !chart.view.nearest) {
    chart.over?.append(svgElement("rect", { class: "cursor", x: x + c * w, y: y + r * h, width: w, height: h }));
  }
}

/** Mark systems in all charts. */
function mark(systems) {
  for (const chart of charts) {
    if (chart.view?.light) chart.view.light(systems);
    else chart.over?.replaceChildren(...systems.flatMap((system) => chart.view.mark?.(system) ?? []));
  }
}

/** Hide the tooltip and all marks. */
function leave() {
  tip.hidden = true;
  mark([]);
  for (const chart of charts) chart.cell = null;
}
