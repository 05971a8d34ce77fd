// The matrix of significance: which systems differ from which.

/** What the row is, compared with the column. */
function verdictOf(measure, row, column) {
  const { comparison } = measure;
  const { at, sign } = placeOf(comparison, row, column);
  const p = at < 0 ? NaN : array(comparison, "p")[at];
  if (Number.isNaN(p)) return "none";
  if (p > comparison.alpha) return "same";
  const difference = sign * array(comparison, "difference")[at] * (comparison.lowerIsBetter ? -1 : 1);
  return difference > 0 ? "better" : difference < 0 ? "worse" : "same";
}

addPicture({
  id: "matrix",
  name: "significance matrix",
  available: ({ comparison }) => comparison !== null && data.systems.length > 2
    && comparison.baselines.length === 0 && comparison.alternative === "two-sided",
  rows: () => {
    const measure = data.measures[chosen()];
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
    // Rows are higher than columns are wide where their names need it.
    const high = order.length <= 45 ? Math.max(size, 11) : size;
    const grid = { x: room, y: 6, w: size, h: high, columns: order.length, rows: order.length };
    const paths = { better: "", worse: "", same: "" };
    const gap = size > 6 ? 1 : 0;
    order.forEach((a, r) => order.forEach((b, c) => {
      const verdict = a === b ? "none" : verdictOf(measure, a, b);
      if (verdict in paths) paths[verdict] += piece(grid.x + c * size, grid.y + r * high, size - gap, high - gap);
    }));
    const end = grid.y + high * order.length;
    const parts = Object.entries(paths).map(([verdict, d]) => drawn("path", { d, class: `is-${verdict}` }));
    const keys = [["better", "row better"], ["worse", "row worse"], ["same", "not significantly different"]];
    const wide = width - room > 280;
    keys.forEach(([verdict, said], k) => {
      const x = wide ? grid.x + [0, 82, 156][k] : 0;
      const y = end + 12 + (wide ? 0 : 15 * k);
      parts.push(drawn("path", { d: piece(x, y, 9, 9), class: `is-${verdict}` }), words(said, x + 14, y + 8.5, "start", "soft"));
    });
    const { comparison } = measure;
    return {
      width, height: end + (wide ? 28 : 58), grid, parts: [...parts, ...rowNames(order, grid, room - 8)],
      title: `${measure.label}: significant differences between systems`,
      note: `${comparison.title}${comparison.correction ? `, ${comparison.correction}` : ""}, alpha ${comparison.alpha}. Rows and columns from the best mean on.`,
      hints: unnamed(grid),
      at: (c, r) => {
        const [a, b] = [order[r], order[c]];
        if (a === b) return { tip: [data.systemLabels[a]], systems: [a] };
        const pair = pairOf(comparison, a, b);
        const said = { better: "is significantly better than", worse: "is significantly worse than", same: "is not significantly different from", none: "is not compared with" };
        const tip = [data.systemLabels[a], said[verdictOf(measure, a, b)], data.systemLabels[b]];
        if (pair) tip.push(`difference ${fixed(pair.difference, comparison.places)}, p ${shownP(pair.p)}`);
        return { tip, systems: [a, b], choose: () => chooseBoth(a, b) };
      },
      mark: (system) => {
        const k = order.indexOf(system);
        const column = { class: "mark", x: grid.x + k * size, y: grid.y, width: size, height: high * order.length };
        return [...rowMark(order, grid, grid.x + size * order.length, system), drawn("rect", column)];
      },
    };
  },
});
