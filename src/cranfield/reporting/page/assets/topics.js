// The difference of the two systems on each topic.

addChart({
  id: "topics",
  name: "difference by topic",
  available: (measure) => selectedPair()[0] !== selectedPair()[1] && scoresByTopic(measure, ...selectedPair()).length > 0,
  rows: () => {
    const pair = selectedPair();
    const head = ["topic", ...pair.map((k) => data.systems[k]), "difference"];
    return [head, ...scoresByTopic(data.measures[selectedMeasure()], ...pair).map((row) => [data.topics[row.topic], row.first, row.second, row.difference])];
  },
  draw: (measure, width) => {
    const pair = selectedPair();
    const topics = scoresByTopic(measure, ...pair);
    const largest = largestSize(topics.map((row) => row.difference)) || 1;
    const [left, top, middle] = [40, 8, 108];
    const w = (width - left) / topics.length;
    const hasNames = w >= 10;
    const longest = Math.max(...topics.map((row) => Math.min(8, data.topicLabels[row.topic].length)));
    const bottom = 2 * middle - top;
    const grid = { x: left, y: top, w, h: bottom - top, columns: topics.length, rows: 1 };
    const y = (value) => middle - (Math.max(-largest, Math.min(largest, value)) / largest) * (middle - top);
    const paths = { first: "", second: "" };
    topics.forEach(({ difference }, c) => {
      const look = difference > 0 !== measure.lowerIsBetter ? "first" : "second";
      const [from, to] = [Math.min(y(difference), middle), Math.max(y(difference), middle)];
      if (difference) paths[look] += rectanglePath(left + c * w + (w > 4 ? 0.75 : 0), from, w - (w > 4 ? 1.5 : 0), Math.max(0.5, to - from));
    });
    const ticks = computeTicks(-largest, largest, 6);
    const tickTexts = formatTicks(ticks);
    const parts = ticks.flatMap((value, k) => [
      svgElement("line", { class: "grid", x1: left, x2: width, y1: y(value), y2: y(value) }),
      textElement(tickTexts[k], left - 6, y(value) + 4, "end", "soft"),
    ]);
    parts.push(...Object.entries(paths).map(([look, d]) => svgElement("path", { d, class: `for-${look}` })));
    parts.push(svgElement("line", { class: "base", x1: left, x2: width, y1: middle, y2: middle }));
    if (hasNames) {
      topics.forEach((row, c) => {
        parts.push(columnName(data.topicLabels[row.topic], left + (c + 0.5) * w, bottom + 6, w, "end"));
      });
    }
    const labels = pair.map((k) => data.systemLabels[k]);
    return {
      width, height: bottom + (hasNames ? 12 + 5.6 * longest : 8), grid, parts,
      title: `${measure.label} by topic: ${labels[0]} minus ${labels[1]}`,
      note: `Blue: ${labels[0]} is better; orange: ${labels[1]} is better. One bar per topic.`,
      at: (c) => {
        const row = topics[c];
        const scores = [row.first, row.second].map((value, k) => `${labels[k]} ${fixed(value, measure.places)}`);
        return { tip: [`topic ${data.topicLabels[row.topic]}`, ...scores, `difference ${fixed(row.difference, measure.places)}`], systems: pair };
      },
    };
  },
});
