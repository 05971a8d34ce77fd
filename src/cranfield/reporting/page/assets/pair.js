// Two systems: what the test says of them, and which topics make the difference.

const chooseMeasure = document.getElementById("measure");
const chooseFirst = document.getElementById("first");
const chooseSecond = document.getElementById("second");

/** The measure that is chosen. */
function chosen() {
  return Number(chooseMeasure.value);
}

/** The two that are chosen. */
function pairNow() {
  return [Number(chooseFirst.value), Number(chooseSecond.value)];
}

/** Topics that are shown of very many: half of them from each end. */
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

/** The largest finite size of some numbers. */
function largestOf(numbers) {
  return numbers.filter(Number.isFinite).reduce((most, one) => Math.max(most, Math.abs(one)), 0);
}

/** Topics that lack a score of one of two systems. */
function lackingOf(measure, first, second) {
  const scores = array(measure, "scores");
  const absent = new Set(measure.absent);
  const has = (t, system) => !Number.isNaN(scores[t * data.systems.length + system]);
  return data.topics.filter((_, t) => !absent.has(t) && !(has(t, first) && has(t, second))).length;
}

/** Scores of both systems by topic, best for the first system first; rounding counts as no difference. */
function topicsOf(measure, first, second) {
  const scores = array(measure, "scores");
  const systems = data.systems.length;
  const rows = data.topics.map((_, t) => ({
    topic: t,
    first: scores[t * systems + first],
    second: scores[t * systems + second],
  }));
  const scored = rows.filter((row) => !Number.isNaN(row.first) && !Number.isNaN(row.second));
  const largest = largestOf(rows.flatMap((row) => [row.first, row.second]));
  const gap = Math.max(data.rounding * largest, 1e-150);
  for (const row of scored) {
    // Of two that are infinite to the same side there is no difference.
    row.difference = row.first === row.second ? 0 : row.first - row.second;
    if (Math.abs(row.difference) <= gap) row.difference = 0;
  }
  const sign = measure.lowerIsBetter ? -1 : 1;
  const order = (a, b) => (a === b ? 0 : sign * (b - a));
  scored.sort((a, b) => order(a.difference, b.difference) || a.topic - b.topic);
  return scored;
}

/** Say what was found, in a sentence or two. */
function statementOf(measure, pair, first, second, means) {
  const said = sentenceOf(measure, pair, first, second, means);
  const lacking = first === second ? 0 : lackingOf(measure, first, second);
  if (lacking === 0) return said;
  return `${said} ${counted(lacking, "topic")} ${lacking === 1 ? "lacks" : "lack"} a score of one of the two.`;
}

/** The first sentence: the scores, and whether they differ. */
function sentenceOf(measure, pair, first, second, means) {
  const { comparison, lowerIsBetter } = measure;
  const [a, b] = [data.systemLabels[first], data.systemLabels[second]];
  if (first === second) return "Choose two different systems.";
  const at = `${a} has ${fixed(means[first], measure.places)} on ${measure.label}, ${b} ${fixed(means[second], measure.places)}`;
  if (!comparison) return `${at}. Systems are not compared by this measure.`;
  if (!pair) return `${at}. These two were not compared: only differences from the baseline were tested.`;
  const better = (comparison.lowerIsBetter ? -1 : 1) * pair.difference > 0 ? a : b;
  const lower = lowerIsBetter ? " (lower is better)" : "";
  const found = pair.p <= comparison.alpha
    ? `they differ significantly, and ${better} is better${lower}`
    : `no significant difference${lower}`;
  const correction = comparison.correction ? ` (${comparison.title}, ${comparison.correction})` : ` (${comparison.title})`;
  return `${at}: ${found}, p ${pair.p < 1e-300 ? "" : "= "}${shownP(pair.p)}${correction}.`;
}

/** The numbers below the sentence, each with its name. */
function factsOf(measure, pair, topics) {
  const { comparison, places, lowerIsBetter } = measure;
  const sign = lowerIsBetter ? -1 : 1;
  const hint = comparison?.lowerIsBetter ? " (negative: the first is better)" : "";
  const facts = [];
  if (pair) {
    const sure = `${+(100 * (1 - comparison.alpha)).toFixed(4)}%`;
    facts.push([`${comparison.differenceName}${hint}`, fixed(pair.difference, comparison.places)]);
    facts.push([
      `${sure} confidence interval, ${comparison.intervalKind}`,
      limitsOf(pair, comparison.places),
    ]);
    const side = comparison.alternative === "two-sided" ? "p" : `p, ${comparison.alternative}${pair.mirrored ? ", second against first" : ""}`;
    facts.push([side, shownP(pair.p)], [`effect${hint}`, fixed(pair.effect, 2)]);
    facts.push(["order of means on any scale", pair.holds ? "holds" : "may change"]);
  }
  const wins = topics.filter((row) => sign * row.difference > 0).length;
  const losses = topics.filter((row) => sign * row.difference < 0).length;
  facts.push(["topics won, lost, tied by the first", `${wins} / ${losses} / ${topics.length - wins - losses}`]);
  return facts;
}

/** A row of the table of topics, with a bar to the side of the higher score, coloured for the better. */
function topicRow(row, largest, { places, lowerIsBetter }) {
  const made = element("tr");
  const head = element("th");
  head.scope = "row";
  head.append(named(data.topicLabels[row.topic]));
  const cell = element("td", "diverging");
  const track = element("div", "track");
  const [left, right] = [element("div", "left"), element("div", "right")];
  const rod = element("span", row.difference > 0 !== lowerIsBetter ? "rod for-first" : "rod for-second");
  const part = Number.isFinite(row.difference) ? Math.abs(row.difference) / largest : 1;
  rod.style.width = `${100 * part}%`;
  if (row.difference < 0) left.append(rod);
  if (row.difference > 0) right.append(rod);
  track.append(left, right);
  track.setAttribute("aria-hidden", "true");
  cell.append(track);
  made.append(head, cell);
  for (const value of [row.first, row.second, row.difference]) {
    made.append(element("td", "n", fixed(value, places)));
  }
  return made;
}

/** Show the two chosen systems by a measure. */
function showPair(k) {
  const measure = data.measures[k];
  const { comparison } = measure;
  const [first, second] = pairNow();
  const pair = comparison && first !== second ? pairOf(comparison, first, second) : null;
  const topics = topicsOf(measure, first, second);
  document.getElementById("statement").textContent = statementOf(measure, pair, first, second, array(measure, "overall"));
  const facts = document.getElementById("facts");
  facts.replaceChildren();
  const box = document.getElementById("topics-box");
  box.hidden = first === second || topics.length === 0;
  if (first === second) return;
  for (const [name, value] of factsOf(measure, pair, topics)) {
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
  const largest = largestOf(topics.map((row) => row.difference));
  const body = document.getElementById("topics").tBodies[0];
  const made = (rows) => rows.map((row) => topicRow(row, largest, measure));
  if (topics.length <= MAX_ROWS) body.replaceChildren(...made(topics));
  else {
    const half = MAX_ROWS / 2;
    const between = element("td", "", `… ${topics.length - MAX_ROWS} topics in between`);
    between.colSpan = 5;
    const gap = element("tr");
    gap.append(between);
    body.replaceChildren(...made(topics.slice(0, half)), gap, ...made(topics.slice(-half)));
  }
}
