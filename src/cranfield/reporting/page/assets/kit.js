// The drawing kit: how every picture is drawn, pointed at, chosen from, and reached by keys.

const SVG = "http://www.w3.org/2000/svg";
const tip = document.getElementById("tip");
const STEPS = 24;
const ROOMY = 8.4;

/** All pictures, in order: their declaration, their figure, and what is drawn. */
const pictures = [];

/** An SVG element with attributes and children; text stays text. */
function drawn(name, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== "") made.setAttribute(key, String(value));
  }
  made.append(...children);
  return made;
}

/** Text in a picture. */
function words(text, x, y, anchor = "start", look = "") {
  return drawn("text", { x, y, "text-anchor": anchor, class: look }, text);
}

/** A name cut to a width, in its middle: names of one team begin alike. */
function cut(name, width) {
  const most = Math.max(3, Math.floor(width / 6.9));
  const end = Math.floor((most - 1) / 2);
  return name.length > most ? `${name.slice(0, most - 1 - end)}…${end ? name.slice(-end) : ""}` : name;
}

/** A name below or above a column: level where there is room, else turned by 90 degrees. */
function columnName(name, x, y, width, anchor) {
  const shown = cut(name, 52);
  if (shown.length * 6.9 < width) return words(shown, x, anchor === "end" ? y + 7 : y, "middle", "soft");
  const text = words(shown, 0, 0, anchor, "soft");
  text.setAttribute("transform", `translate(${(x + 3.5).toFixed(1)} ${y}) rotate(-90)`);
  return text;
}

/** A rectangle as a piece of a path. */
function piece(x, y, width, height) {
  return `M${x.toFixed(1)} ${y.toFixed(1)}h${width.toFixed(1)}v${height.toFixed(1)}h${(-width).toFixed(1)}z`;
}

/** Round values between two ends. */
function ticksOf(low, high, most = 5) {
  if (!(high > low)) return [low];
  const power = 10 ** Math.floor(Math.log10((high - low) / most));
  const step = power * [1, 2, 5, 10, 20].find((one) => (high - low) / (power * one) < most);
  const first = Math.ceil(low / step - 1e-9);
  const count = Math.floor(high / step + 1e-9) - first + 1;
  return Array.from({ length: count }, (_, k) => +((first + k) * step).toPrecision(12));
}

/** The value of a colour of the style. */
function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** A colour from low to high: light to dark on paper, dark to light at night. */
function ramp(share) {
  const stops = ["ramp-low", "ramp-middle", "ramp-high"].map(colour);
  const [from, to, part] = share < 0.5 ? [stops[0], stops[1], 2 * share] : [stops[1], stops[2], 2 * share - 1];
  const mixed = [1, 3, 5].map((at) => {
    const [a, b] = [from, to].map((one) => parseInt(one.slice(at, at + 2), 16));
    return Math.round(a + (b - a) * part).toString(16).padStart(2, "0");
  });
  return `#${mixed.join("")}`;
}

/** Which ink is read on a colour. */
function inkOn(fill) {
  const [r, g, b] = [1, 3, 5].map((at) => (parseInt(fill.slice(at, at + 2), 16) / 255) ** 2.2);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? "on-light" : "on-dark";
}

/** Systems from the best mean to the worst, by a measure. */
function ranking(measure) {
  if (measure.comparison) return measure.comparison.order;
  const values = array(measure, "overall");
  const sign = measure.lowerIsBetter ? 1 : -1;
  const known = (k) => Number.isNaN(values[k]);
  return data.systems.map((_, k) => k).sort((a, b) => known(a) - known(b) || sign * (values[a] - values[b]) || a - b);
}

/** Names beside rows, those of the pair in their colours; where rows are low, only the pair. */
function rowNames(order, grid, room) {
  const pair = pairNow();
  return order.flatMap((system, row) => {
    const look = ["first", "second"][pair.indexOf(system)] ?? "";
    if (grid.h < ROOMY && !look) return [];
    return [words(cut(data.systemLabels[system], room), 0, grid.y + (row + 0.5) * grid.h + 4, "start", `${look}${grid.h < 12 ? " low" : ""}`)];
  });
}

/** An outline of a row of systems, named where rows have no room for names. */
function rowMark(order, grid, width, system) {
  const row = order.indexOf(system);
  if (row < 0) return [];
  const y = grid.y + row * grid.h;
  const named = grid.h < ROOMY ? [words(cut(data.systemLabels[system], grid.x), 0, y + grid.h / 2 + 4, "start", "lit")] : [];
  return [drawn("rect", { class: "mark", x: grid.x - 2, y, width: width - grid.x + 2, height: grid.h }), ...named];
}

/** Said where rows have no room for their names. */
function unnamed(grid) {
  return grid.h < ROOMY ? ["Names appear when you point at a row."] : [];
}

/** How high rows are, and how much room names have. */
function rowsFor(count, width) {
  return { h: count <= 12 ? 22 : count <= 45 ? 13 : Math.max(3, 560 / count), room: width < 460 ? 92 : 150 };
}

/** Add a picture: what it is called, whether it can be drawn, how, and its rows as a table. */
function addPicture(declared) {
  const figure = document.getElementById(`pic-${declared.id}`);
  const one = { ...declared, figure, stale: true, near: false, view: null };
  const caption = element("figcaption");
  one.title = element("span");
  caption.append(one.title, ...keepButtons(one));
  one.canvas = element("div", "canvas");
  one.note = element("p", "note");
  figure.append(caption, one.canvas, one.note);
  pictures.push(one);
  watcher.observe(figure);
}

/** Draw pictures when they come near, not before: the page is ready sooner. */
const watcher = new IntersectionObserver((seen) => {
  for (const { target, isIntersecting } of seen) {
    const one = pictures.find((picture) => picture.figure === target);
    one.near = isIntersecting;
    if (one.near && one.stale) drawPicture(one);
  }
}, { rootMargin: "400px" });

/** Draw all again that are near; the others when they come near. */
function drawAgain() {
  for (const one of pictures) {
    one.stale = true;
    one.figure.hidden = !one.available(data.measures[chosen()]);
    if (one.near && !one.figure.hidden) drawPicture(one);
  }
}

function drawPicture(one, width = one.canvas.clientWidth) {
  if (one.figure.hidden || width === 0) return;
  const measure = data.measures[chosen()];
  const view = one.draw(measure, width);
  one.stale = false;
  one.view = view;
  one.title.textContent = view.title;
  // What the pointer does is not said on paper.
  const hints = (view.hints ?? []).map((hint) => element("span", "hint", ` ${hint}`));
  one.note.replaceChildren(view.note, ...hints);
  const { height } = view;
  // A picture that is drawn again keeps the focus and the cell that keys have reached,
  // or the next key would begin at the top of the page or in the first cell.
  const held = one.svg && one.svg === document.activeElement;
  const reached = held ? one.cell : null;
  one.svg = drawn("svg", {
    viewBox: `0 0 ${width} ${height}`, width, height, tabindex: 0, role: "img",
    "aria-label": `${view.title}. Arrow keys read its values.`,
  }, ...view.parts);
  one.over = drawn("g", { class: "over" });
  one.svg.append(one.over);
  one.canvas.replaceChildren(one.svg);
  listen(one, one.svg);
  if (held) one.svg.focus({ preventScroll: true });
  if (reached) pointWithKeys(one, reached);
}

/** Let a drawing be pointed at, chosen from, and read with keys. */
function listen(one, target) {
  const placeOf = (event) => {
    const box = target.getBoundingClientRect();
    const scale = one.view.width / box.width;
    return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
  };
  target.addEventListener("pointermove", (event) => {
    const found = cellAt(one.view, ...placeOf(event));
    if (found) point(one, ...found, event.clientX, event.clientY);
    else leave();
  });
  target.addEventListener("pointerleave", leave);
  target.addEventListener("blur", leave);
  target.addEventListener("click", (event) => {
    const found = cellAt(one.view, ...placeOf(event));
    if (found) one.view.at(...found)?.choose?.(event.shiftKey);
  });
  target.addEventListener("keydown", (event) => {
    const steps = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
    const { columns, rows } = one.view.grid;
    if (event.key === "Escape") leave();
    else if (event.key === "Enter" && one.cell) {
      one.view.at(...one.cell)?.choose?.(event.shiftKey);
    } else if (event.key in steps) {
      const inside = (value, most) => Math.min(Math.max(value, 0), most - 1);
      const [c, r] = one.cell ?? [0, 0];
      const [right, down] = one.cell ? steps[event.key] : [0, 0];
      pointWithKeys(one, [inside(c + right, columns), inside(r + down, rows)]);
    } else return;
    event.preventDefault();
  });
}

/** Say what is at a cell that keys have reached, below it. */
function pointWithKeys(one, [c, r]) {
  const { x, y, w, h } = one.view.grid;
  const box = one.svg.getBoundingClientRect();
  const scale = box.width / one.view.width;
  const top = one.view.spot ? one.view.spot(c, r) : y + (r + 1) * h;
  point(one, c, r, box.left + (x + (c + 0.5) * w) * scale, box.top + top * scale);
}

/** The cell of a grid at a place; null outside. */
function cellAt(view, left, top) {
  if (view.nearest) return view.nearest(left, top);
  const { x, y, w, h, columns, rows } = view.grid;
  const [c, r] = [Math.floor((left - x) / w), Math.floor((top - y) / h)];
  const column = columns === 1 ? 0 : c;
  return column >= 0 && column < columns && r >= 0 && r < rows ? [column, r] : null;
}

/** Say what is at a cell, and mark its systems in all pictures. */
function point(one, c, r, left, top) {
  const found = one.view.at(c, r);
  if (!found) return leave();
  one.cell = [c, r];
  const lines = found.tip.map((line, k) => element(k ? "span" : "strong", "", line));
  tip.replaceChildren(...lines);
  tip.hidden = false;
  const [width, height] = [tip.offsetWidth, tip.offsetHeight];
  const room = document.documentElement.clientWidth;
  tip.style.left = `${Math.max(8, Math.min(left + 14, room - width - 8))}px`;
  tip.style.top = `${top + 18 + height > window.innerHeight ? Math.max(8, top - height - 12) : top + 18}px`;
  mark(found.systems);
  const { x, y, w, h, columns } = one.view.grid;
  if (columns > 1 && !one.view.nearest) {
    one.over?.append(drawn("rect", { class: "cursor", x: x + c * w, y: y + r * h, width: w, height: h }));
  }
}

/** Mark systems in all pictures that are drawn. */
function mark(systems) {
  for (const one of pictures) {
    if (one.view?.light) one.view.light(systems);
    else one.over?.replaceChildren(...systems.flatMap((system) => one.view.mark?.(system) ?? []));
  }
}

function leave() {
  tip.hidden = true;
  mark([]);
  for (const one of pictures) one.cell = null;
}
