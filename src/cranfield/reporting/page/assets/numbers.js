// Data and numbers: arrays out of base64, and numbers written as the rest of the page writes them.

const data = JSON.parse(document.getElementById("data").textContent);

/** Bytes of a base64 text. */
function bytesOf(text) {
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
}

/** Little-endian 64-bit floats of a base64 text. */
function floatsOf(text) {
  const bytes = bytesOf(text);
  const view = new DataView(bytes.buffer);
  return Float64Array.from({ length: bytes.length / 8 }, (_, k) => view.getFloat64(8 * k, true));
}

const unpacked = new Map();

/** Arrays of a measure or of its comparison, each decoded when it is first asked for. */
function array(owner, name) {
  const known = unpacked.get(owner) ?? new Map();
  unpacked.set(owner, known);
  if (!known.has(name)) known.set(name, owner[name] == null ? null : floatsOf(owner[name]));
  return known.get(name);
}

/** A number with some decimals. Of two equally near ones the even one is taken, as elsewhere here. */
function fixed(number, places) {
  if (Number.isNaN(number)) return "–";
  if (!Number.isFinite(number)) return number > 0 ? "inf" : "−inf";
  const size = Math.abs(number);
  let shown = size.toFixed(places);
  const [, digits] = size.toFixed(Math.min(100, places + 60)).split(".");
  const last = Number(shown.at(-1));
  if (/^50*$/.test(digits.slice(places)) && last % 2 === 1) {
    shown = shown.slice(0, -1) + String(last - 1);
  }
  return number < 0 && Number(shown) !== 0 ? `−${shown}` : shown;
}

/** A p-value; one too small for four decimals keeps its size. */
function shownP(p) {
  if (Number.isNaN(p)) return "–";
  if (p >= 0.0001) return fixed(p, 4);
  return p > 1e-300 ? p.toExponential(0).replace(/e([+-])(\d)$/, "e$10$2") : "<1e-300";
}

/** A new element with a class and text; text never becomes HTML. */
function element(name, className = "", text = "") {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text) made.textContent = text;
  return made;
}

/** A name that may be long: it is cut after some lines, and whole in its title. */
function named(name) {
  const made = element("span", "name", name);
  if (name.length > 40) made.title = name;
  return made;
}

/** A number with what it counts. */
function counted(number, noun) {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

/**
 * What the comparison says of two systems, first minus second; null if they were not compared.
 * A pair is stored in one direction; the other one is its mirror image.
 */
function pairOf(comparison, first, second) {
  const { at, sign } = placeOf(comparison, first, second);
  if (at < 0) return null;
  const difference = array(comparison, "difference")[at];
  const reach = array(comparison, "reaches")?.[at];
  const low = reach === undefined ? array(comparison, "low")[at] : difference - reach;
  const high = reach === undefined ? array(comparison, "high")[at] : difference + reach;
  const holds = (bytesOf(comparison.holds)[at >> 3] >> (at & 7)) & 1;
  return {
    mirrored: sign < 0,
    difference: sign * difference,
    low: sign > 0 ? low : -high,
    high: sign > 0 ? high : -low,
    effect: sign * array(comparison, "effect")[at],
    p: array(comparison, "p")[at],
    holds: holds === 1,
  };
}

/** The limits of a pair; it has none where they would contradict the decision. */
function limitsOf({ low, high }, places) {
  const contradict = Number.isNaN(low) || Number.isNaN(high);
  return contradict ? "none: they would contradict the decision" : `${fixed(low, places)} to ${fixed(high, places)}`;
}

/** Where a pair is stored, and whether as it is (1) or the other way round (-1). */
function placeOf(comparison, first, second) {
  if (comparison.first) {
    for (const [one, other, sign] of [[first, second, 1], [second, first, -1]]) {
      const at = comparison.first.findIndex((k, i) => k === one && comparison.second[i] === other);
      if (at >= 0) return { at, sign };
    }
    return { at: -1, sign: 1 };
  }
  if (first === second) return { at: -1, sign: 1 };
  const [low, high] = first < second ? [first, second] : [second, first];
  const systems = data.systems.length;
  // All pairs, in order of rows of the upper triangle.
  const at = low * systems - (low * (low + 1)) / 2 + (high - low - 1);
  return { at, sign: first < second ? 1 : -1 };
}
