// Comparison of two systems: the result of the test, and the differences by topic.

const chooseMeasure = document.getElementById("measure");
const chooseFirst = document.getElementById("first");
const chooseSecond = document.getElementById("second");

/** Return the index of the selected measure. */
function selectedMeasure() {
  return Number(chooseMeasure.value);
}

/** Return the indices of the two selected systems. */
function selectedPair() {
  return [Number(chooseFirst.value), Number(chooseSecond.value)];
}

/** Maximum number of topics in the table: half of them from each end. */
const MAX_ROWS = 1000;

/** Fill the selects with all systems, by name. */
function fillPairs() {
  const order = data.systems.map((_, k) => k);
  const names = data.systemLabels;
  order.sort((a, b) => (names[a] < names[b] ? -1 : names[a] > names[b] ? 1 : a - b));
  for (const [select, start] of [[chooseFirst, data.start.first], [chooseSecond, data.start.second]]) {
    for (const k of order) {
      const option = element("option", "", names[k]);
      option.value = String(k);
      select.append(option);
    }
    select.value = String(start);
  }
}

/** Return the largest absolute value of the finite numbers. */
function largestSize(numbers) {
  return numbers.filter(Number.isFinite).reduce((largest, number) => Math.max(largest, Math.abs(number)), 0);
}

/** Count the topics that lack a score of one or both of two systems. */
function countMissing(measure, first, second) {
  const scores = array(measure, "scores");
  const absent = new Set(measure.absent);
  const hasScore = (t, system) => !Number.isNaN(scores[t * data.systems.length + system]);
  return data.topics.filter((_, t) => !absent.has(t) && !(hasScore(t, first) && hasScore(t, second))).length;
}

/** Return scores of both systems by topic, best for the first system first; differences within rounding are 0. */
function scoresByTopic(measure, first, second) {
  const scores = array(measure, "scores");
  const systems = data.systems.length;
  const rows = data.topics.map((_, t) => ({
    topic: t,
    first: scores[t * systems + first],
    second: scores[t * systems + second],
  }));
  const scoredTopics = rows.filter((row) => !Number.isNaN(row.first) && !Number.isNaN(row.second));
  const largest = largestSize(rows.flatMap((row) => [row.first, row.second]));
  const gap = Math.max(data.rounding * largest, 1e-150);
  for (const row of scoredTopics) {
    // Equal infinite scores have no difference.
    row.difference = row.first === row.second ? 0 : row.first - row.second;
    if (Math.abs(row.difference) <= gap) row.difference = 0;
  }
  const sign = measure.lowerIsBetter ? -1 : 1;
  const order = (a, b) => (a === b ? 0 : sign * (b - a));
  scoredTopics.sort((a, b) => order(a.difference, b.difference) || a.topic - b.topic);
  return scoredTopics;
}

/** Write the result of the comparison in a sentence or two. */
function writeStatement(measure, pair, first, second, means) {
  const sentence = writeSentence(measure, pair, first, second, means);
  const missing = first === second ? 0 : countMissing(measure, first, second);
  if (missing === 0) return sentence;
  return `${sentence} ${counted(missing, "topic")} ${missing === 1 ? "lacks" : "lack"} a score of one or both systems.`;
}

/** Write the scores of both systems, and whether they differ significantly. */
function writeSentence(measure, pair, first, second, means) {
  const { comparison, lowerIsBetter } = measure;
  const [a, b] = [data.systemLabels[first], data.systemLabels[second]];
  if (first === second) return "Choose two different systems.";
  const scores = `${a} has ${fixed(means[first], measure.places)} on ${measure.label}, ${b} ${fixed(means[second], measure.places)}`;
  if (!comparison) return `${scores}. Systems are not compared by this measure.`;
  if (!pair) return `${scores}. These systems were not compared: only differences from the baseline were tested.`;
  const better = pair.direction > 0 ? a : b;
  const lower = lowerIsBetter ? " (lower is better)" : "";
  const result = pair.p <= comparison.alpha
    ? `they differ significantly, and ${better} is better${lower}`
    : `no significant difference${lower}`;
  const correction = comparison.correction ? ` (${comparison.title}, ${comparison.correction})` : ` (${comparison.title})`;
  return `${scores}: ${result}, p ${pair.p < 1e-300 ? "" : "= "}${formatP(pair.p)}${correction}.`;
}

/** Return the facts below the sentence, as names and values. */
function listFacts(measure, pair, topics) {
  const { comparison, lowerIsBetter } = measure;
  const sign = lowerIsBetter ? -1 : 1;
  const hint = comparison?.lowerIsBetter ? " (negative: the first is better)" : "";
  const facts = [];
  if (pair) {
    const level = `${+(100 * (1 - comparison.alpha)).toFixed(4)}%`;
    facts.push([`${comparison.differenceName}${hint}`, fixed(pair.difference, comparison.places)]);
    facts.push([
      `${level} confidence interval of the ${comparison.intervalOf}, ${comparison.intervalKind}`,
      formatInterval(pair, comparison.places),
    ]);
    const side = comparison.alternative === "two-sided" ? "p" : `one-sided p, ${comparison.alternative}${pair.isReversed ? ", second against first" : ""}`;
    facts.push([side, formatP(pair.p)], [`effect${hint}`, fixed(pair.effect, 2)]);
    facts.push(["order of means under any rescaling", pair.holds ? "holds" : "may change"]);
  }
  const wins = topics.filter((row) => sign * row.difference > 0).length;
  const losses = topics.filter((row) => sign * row.difference < 0).length;
  facts.push(["topics won, lost and tied by the first system", `${wins} / ${losses} / ${topics.length - wins - losses}`]);
  return facts;
}

/** Create a row of the table of topics: its bar points to the higher score, in the colour of the better system. */
function topicRow(row, largest, { places, lowerIsBetter }) {
  const tableRow = element("tr");
  const head = element("th");
  head.scope = "row";
  head.append(named(data.topicLabels[row.topic]));
  const cell = element("td", "diverging");
  const track = element("div", "track");
  const [left, right] = [element("div", "left"), element("div", "right")];
  const rod = element("span", row.difference > 0 !== lowerIsBetter ? "rod for-first" : "rod for-second");
  const fraction = Number.isFinite(row.difference) ? Math.abs(row.difference) / largest : 1;
  rod.style.width = `${100 * fraction}%`;
  if (row.difference < 0) left.append(rod);
  if (row.difference > 0) right.append(rod);
  track.append(left, right);
  track.setAttribute("aria-hidden", "true");
  cell.append(track);
  tableRow.append(head, cell);
  for (const value of [row.first, row.second, row.difference]) {
    tableRow.append(element("td", "n", fixed(value, places)));
  }
  return tableRow;
}

/** Show the two selected systems by a measure. */
function showPair(k) {
  const measure = data.measures[k];
  const { comparison } = measure;
  const [first, second] = selectedPair();
  const pair = comparison && first !== second ? pairOf(comparison, first, second) : null;
  const topics = scoresByTopic(measure, first, second);
  document.getElementById("statement").textContent = writeStatement(measure, pair, first, second, array(measure, "overall"));
  const facts = document.getElementById("facts");
  facts.replaceChildren();
  const box = document.getElementById("topics-box");
  box.hidden = first === second || topics.length === 0;
  if (first === second) return;
  for (const [name, value] of listFacts(measure, pair, topics)) {
    const group = element("div");
    group.append(element("dt", "", name), element("dd", "", value));
    facts.append(group);
  }
  facts.title = comparison ? `effect: ${comparison.effectName}` : "";
  for (const [id, system] of [["head-first", first], ["head-second", second]]) {
    document.getElementById(id).replaceChildren(named(data.systemLabels[system]));
  }
  const sides = [["head-left", "second"], ["head-right", "first"]];
  for (const [id, side] of sides) {
    const head = document.getElementById(id);
    const winner = measure.lowerIsBetter ? { first: "second", second: "first" }[side] : side;
    head.className = `for-${winner}`;
    head.textContent = measure.lowerIsBetter ? `${winner} better (lower)` : `${side} higher`;
  }
  const largest = largestSize(topics.map((row) => row.difference));
  const body = document.getElementById("topics").tBodies[0];
  const makeRows = (rows) => rows.map((row) => topicRow(row, largest, measure));
  if (topics.length <= MAX_ROWS) body.replaceChildren(...makeRows(topics));
  else {
    const half = MAX_ROWS / 2;
    const cell = element("td", "", `… ${topics.length - MAX_ROWS} topics in between`);
    cell.colSpan = 5;
    const gap = element("tr");
    gap.append(cell);
    body.replaceChildren(...makeRows(topics.slice(0, half)), gap, ...makeRows(topics.slice(-half)));
  }
}
