// The difficulty map: scores by system and topic, the best systems and the easiest topics first.

addChart({
  id: "map",
  name: "difficulty map",
  available: (measure) => measure.easiest.length > 0,
  rows: () => {
    const measure = data.measures[selectedMeasure()];
    const scores = array(measure, "scores");
    const rows = ranking(measure).map((s) => [data.systems[s], ...measure.easiest.map((t) => scores[t * data.systems.length + s])]);
    return [["system", ...measure.easiest.map((t) => data.topics[t])], ...rows];
  },
  draw: (measure, width) => {
    const scores = array(measure, "scores");
    const order = ranking(measure);
    const topics = measure.easiest;
    const { h, room } = rowsFor(order.length, width);
    const w = (width - room) / topics.length;
    const hasNames = w >= 10;
    const longest = Math.max(...topics.map((t) => Math.min(8, data.topicLabels[t].length)));
    const grid = { x: room, y: hasNames ? 10 + 5.6 * longest : 8, w, h, columns: topics.length, rows: order.length };
    const value = (c, r) => scores[topics[c] * data.systems.length + order[r]];
    const finiteScores = [...scores].filter(Number.isFinite);
    const low = finiteScores.reduce((a, b) => Math.min(a, b), 0);
    const high = finiteScores.reduce((a, b) => Math.max(a, b), -Infinity);
    const paths = Array.from({ length: STEPS }, () => "");
    const [gapX, gapY] = [w > 6 ? 1 : 0, h > 6 ? 1 : 0];
    for (let r = 0; r < order.length; r++) {
      for (let c = 0; c < topics.length; c++) {
        const fraction = high > low ? (value(c, r) - low) / (high - low) : 0;
        if (!Number.isFinite(value(c, r))) continue;
        const step = Math.min(STEPS - 1, Math.floor(fraction * STEPS));
        paths[step] += rectanglePath(grid.x + c * w, grid.y + r * h, w - gapX, h - gapY);
      }
    }
    const parts = paths.flatMap((d, k) => (d ? [svgElement("path", { d, fill: rampColour(k / (STEPS - 1)) })] : []));
    if (hasNames) {
      topics.forEach((t, c) => {
        parts.push(columnName(data.topicLabels[t], grid.x + (c + 0.5) * w, grid.y - 5, w, "start"));
      });
    }
    const end = grid.y + h * order.length;
    const scale = Array.from({ length: STEPS }, (_, k) =>
      svgElement("rect", { x: grid.x + 46 + 5 * k, y: end + 12, width: 5.2, height: 9, fill: rampColour(k / (STEPS - 1)) }));
    parts.push(...scale, textElement(fixed(low, 2), grid.x + 40, end + 20, "end", "soft"), textElement(fixed(high, 2), grid.x + 172, end + 20, "start", "soft"));
    return {
      width, height: end + 28, grid, parts: [...parts, ...rowNames(order, grid, room - 8)],
      title: `${measure.label} of every system on every topic`,
      note: `Rows: systems, the best mean first. Columns: topics, from the easiest (${data.topicLabels[topics[0]]}) to the hardest (${data.topicLabels[topics.at(-1)]}), by their mean. Empty: no score.`,
      hints: namesHint(grid),
      at: (c, r) => ({
        tip: [data.systemLabels[order[r]], `topic ${data.topicLabels[topics[c]]}`, `${measure.label} ${fixed(value(c, r), measure.places)}`],
        systems: [order[r]],
        choose: (first) => choosePair(order[r], first),
      }),
      mark: (system) => rowMark(order, grid, width, system),
    };
  },
});
