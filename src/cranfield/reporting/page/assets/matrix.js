// The significance matrix: the verdict on each system compared with each other system.

/** Return the verdict on the system of a row compared with the system of a column. */
function findVerdict(measure, row, column) {
  const { comparison } = measure;
  const { index, sign } = findPair(comparison, row, column);
  const p = index < 0 ? NaN : array(comparison, "p")[index];
  if (Number.isNaN(p)) return "none";
  if (p > comparison.alpha) return "same";
  const direction = sign * directionAt(comparison, index);
  return direction > 0 ? "better" : direction < 0 ? "worse" : "same";
}

addChart({
  id: "matrix",
  name: "significance matrix",
  available: ({ comparison }) => comparison !== null && data.systems.length > 2
    && comparison.baselines.length === 0 && comparison.alternative === "two-sided",
  rows: () => {
    const measure = data.measures[selectedMeasure()];
    const head = ["first", "second", "difference", "low", "high", "p"];
    const order = ranking(measure);
    const pairs = order.flatMap((a, i) => order.slice(i + 1).map((b) => [a, b]));
    return [head, ...pairs.flatMap(([a, b]) => {
      const pair = pairOf(measure.comparison, a, b);
      return pair ? [[data.systems[a], data.systems[b], pair.difference, pair.low, pair.high, pair.p]] : [];
    })];
  },
  draw: (measure, width) => {
    const order = ranking(measure);
    const { room } = rowsFor(order.length, width);
    const size = Math.min(22, (Math.min(width, 640) - room) / order.length);
    // Rows are higher than columns are wide if their names need the space.
    const rowHeight = order.length <= 45 ? Math.max(size, 11) : size;
    const grid = { x: room, y: 6, w: size, h: rowHeight, columns: order.length, rows: order.length };
    const paths = { better: "", worse: "", same: "" };
    const gap = size > 6 ? 1 : 0;
    order.forEach((a, r) => order.forEach((b, c) => {
      const verdict = a === b ? "none" : findVerdict(measure, a, b);
      if (verdict in paths) paths[verdict] += rectanglePath(grid.x + c * size, grid.y + r * rowHeight, size - gap, rowHeight - gap);
    }));
    const end = grid.y + rowHeight * order.length;
    const parts = Object.entries(paths).map(([verdict, d]) => svgElement("path", { d, class: `is-${verdict}` }));
    const keys = [["better", "row better"], ["worse", "row worse"], ["same", "not significantly different"]];
    const isWide = width - room > 280;
    keys.forEach(([verdict, name], k) => {
      const x = isWide ? grid.x + [0, 82, 156][k] : 0;
      const y = end + 12 + (isWide ? 0 : 15 * k);
      parts.push(svgElement("path", { d: rectanglePath(x, y, 9, 9), class: `is-${verdict}` }), textElement(name, x + 14, y + 8.5, "start", "soft"));
    });
    const { comparison } = measure;
    return {
      width, height: end + (isWide ? 28 : 58), grid, parts: [...parts, ...rowNames(order, grid, room - 8)],
      title: `${measure.label}: significant differences between systems`,
      note: `${comparison.title}${comparison.correction ? `, ${comparison.correction}` : ""}, alpha ${comparison.alpha}. Rows and columns: the best mean first.`,
      hints: namesHint(grid),
      at: (c, r) => {
        const [a, b] = [order[r], order[c]];
        if (a === b) return { tip: [data.systemLabels[a]], systems: [a] };
        const pair = pairOf(comparison, a, b);
        const phrases = { better: "is significantly better than", worse: "is significantly worse than", same: "is not significantly different from", none: "is not compared with" };
        const tip = [data.systemLabels[a], phrases[findVerdict(measure, a, b)], data.systemLabels[b]];
        if (pair) tip.push(`difference ${fixed(pair.difference, comparison.places)}, p ${formatP(pair.p)}`);
        return { tip, systems: [a, b], choose: () => chooseBoth(a, b) };
      },
      mark: (system) => {
        const k = order.indexOf(system);
        const column = { class: "mark", x: grid.x + k * size, y: grid.y, width: size, height: rowHeight * order.length };
        return [...rowMark(order, grid, grid.x + size * order.length, system), svgElement("rect", column)];
      },
    };
  },
});
