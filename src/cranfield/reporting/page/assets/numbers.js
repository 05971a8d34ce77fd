// Data and numbers: decoding of arrays, and formatting of numbers as in the rest of the page.

const data = JSON.parse(document.getElementById("data").textContent);

/** Decode the bytes of a base64 text. */
function decodeBytes(text) {
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
}

/** Decode the little-endian 64-bit floats of a base64 text. */
function decodeFloats(text) {
  const bytes = decodeBytes(text);
  const view = new DataView(bytes.buffer);
  return Float64Array.from({ length: bytes.length / 8 }, (_, k) => view.getFloat64(8 * k, true));
}

const decodedArrays = new Map();

/** Return an array of a measure or of its comparison, which is decoded on first use. */
function array(owner, name) {
  const decoded = decodedArrays.get(owner) ?? new Map();
  decodedArrays.set(owner, decoded);
  if (!decoded.has(name)) decoded.set(name, owner[name] == null ? null : decodeFloats(owner[name]));
  return decoded.get(name);
}

/** Format a number with some decimals. Ties are rounded to even, as Python does. */
function fixed(number, places) {
  if (Number.isNaN(number)) return "–";
  if (!Number.isFinite(number)) return number > 0 ? "inf" : "−inf";
  const size = Math.abs(number);
  let rounded = size.toFixed(places);
  const [, digits] = size.toFixed(Math.min(100, places + 60)).split(".");
  const last = Number(rounded.at(-1));
  if (/^50*$/.test(digits.slice(places)) && last % 2 === 1) {
    rounded = rounded.slice(0, -1) + String(last - 1);
  }
  return number < 0 && Number(rounded) !== 0 ? `−${rounded}` : rounded;
}

/** Format a p-value, with an exponent if it is below 0.0001. */
function formatP(p) {
  if (Number.isNaN(p)) return "–";
  if (p >= 0.0001) return fixed(p, 4);
  return p > 1e-300 ? p.toExponential(0).replace(/e([+-])(\d)$/, "e$10$2") : "<1e-300";
}

/** Create an element with a class and text; the text is never parsed as HTML. */
function element(name, className = "", text = "") {
  const node = document.createElement(name);
  if (className) node.className = className;
  if (text) node.textContent = text;
  return node;
}

/** Create a span for a name: a long one is cut after some lines, and has the name as title. */
function named(name) {
  const node = element("span", "name", name);
  if (name.length > 40) node.title = name;
  return node;
}

/** Write a count with its noun. */
function counted(number, noun) {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

/** Return a number above 0 if the test of a stored pair favours its first system, below 0 if its second. */
function directionAt(comparison, index) {
  const estimate = array(comparison, comparison.testsDifference ? "difference" : "effect")[index];
  return estimate * (comparison.lowerIsBetter ? -1 : 1);
}

/**
 * Return the comparison of two systems, first minus second; null if they were not compared.
 * A pair is stored in one direction only; the other direction is its mirror image.
 */
function pairOf(comparison, first, second) {
  const { index, sign } = findPair(comparison, first, second);
  if (index < 0) return null;
  const difference = array(comparison, "difference")[index];
  const halfWidth = array(comparison, "halfWidths")?.[index];
  const low = halfWidth === undefined ? array(comparison, "low")[index] : difference - halfWidth;
  const high = halfWidth === undefined ? array(comparison, "high")[index] : difference + halfWidth;
  const holds = (decodeBytes(comparison.holds)[index >> 3] >> (index & 7)) & 1;
  return {
    isReversed: sign < 0,
    direction: sign * directionAt(comparison, index),
    difference: sign * difference,
    low: sign > 0 ? low : -high,
    high: sign > 0 ? high : -low,
    effect: sign * array(comparison, "effect")[index],
    p: array(comparison, "p")[index],
    holds: holds === 1,
  };
}

/** Format the confidence interval of a pair; it is missing if it would contradict the decision. */
function formatInterval({ low, high }, places) {
  const isMissing = Number.isNaN(low) || Number.isNaN(high);
  return isMissing ? "none: it would contradict the decision of the test" : `${fixed(low, places)} to ${fixed(high, places)}`;
}

/** Find the index of a stored pair, with the sign -1 if it is stored in the opposite direction. */
function findPair(comparison, first, second) {
  if (comparison.first) {
    for (const [a, b, sign] of [[first, second, 1], [second, first, -1]]) {
      const index = comparison.first.findIndex((k, i) => k === a && comparison.second[i] === b);
      if (index >= 0) return { index, sign };
    }
    return { index: -1, sign: 1 };
  }
  if (first === second) return { index: -1, sign: 1 };
  const [low, high] = first < second ? [first, second] : [second, first];
  const systems = data.systems.length;
  // All pairs are stored in the order of the rows of the upper triangle.
  const index = low * systems - (low * (low + 1)) / 2 + (high - low - 1);
  return { index, sign: first < second ? 1 : -1 };
}
