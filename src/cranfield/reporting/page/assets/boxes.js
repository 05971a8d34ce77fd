// Box plots of the scores of each system over topics.

addChart({
  id: "boxes",
  name: "boxes",
  available: (measure) => array(measure, "boxes").some(Number.isFinite),
  rows: () => {
    const measure = data.measures[selectedMeasure()];
    const [boxes, means] = [array(measure, "boxes"), array(measure, "overall")];
    const statistics = (k) => [0, 1, 2, 3, 4].map((j) => boxes[j * data.systems.length + k]);
    return [["system", "low", "q1", "median", "q3", "high", measure.overallName], ...ranking(measure).map((k) => [data.systems[k], ...statistics(k), means[k]])];
  },
  draw: (measure, width) => {
    const systems = data.systems.length;
    const [boxes, means, scores] = [array(measure, "boxes"), array(measure, "overall"), array(measure, "scores")];
    const order = ranking(measure);
    const { h, room } = rowsFor(order.length, width);
    const grid = { x: room, y: 24, w: width - room, h, columns: 1, rows: order.length };
    const finiteScores = [...scores].filter(Number.isFinite);
    const low = finiteScores.reduce((a, b) => Math.min(a, b), Infinity);
    const high = finiteScores.reduce((a, b) => Math.max(a, b), -Infinity);
    const x = (value) => grid.x + 5 + (high > low ? (value - low) / (high - low) : 0.5) * (grid.w - 10);
    const paths = { whiskers: "", box: "", median: "", mean: "", outliers: "" };
    const end = grid.y + h * order.length;
    order.forEach((k, row) => {
      const y = grid.y + (row + 0.5) * h;
      const [lower, q1, median, q3, upper] = [0, 1, 2, 3, 4].map((j) => boxes[j * systems + k]);
      if (![lower, upper].every(Number.isFinite)) return;
      const half = 0.31 * h;
      paths.whiskers += `M${x(lower).toFixed(1)} ${y}H${x(q1).toFixed(1)}M${x(q3).toFixed(1)} ${y}H${x(upper).toFixed(1)}`;
      paths.box += rectanglePath(x(q1), y - half, Math.max(0.5, x(q3) - x(q1)), 2 * half);
      paths.median += `M${x(median).toFixed(1)} ${y - half}v${2 * half}`;
      const m = Math.min(3.2, 0.3 * h);
      if (means[k] >= low && means[k] <= high) paths.mean += `M${(x(means[k]) - m).toFixed(1)} ${y}l${m} ${-m}l${m} ${m}l${-m} ${m}z`;
      for (let t = 0; t < data.topics.length; t++) {
        const value = scores[t * systems + k];
        if (value < lower || value > upper) paths.outliers += `M${(x(value) - 1.6).toFixed(1)} ${y}a1.6 1.6 0 1 0 3.2 0a1.6 1.6 0 1 0 -3.2 0`;
      }
    });
    const axis = computeTicks(low, high).flatMap((value) => [
      svgElement("line", { class: "grid", x1: x(value), x2: x(value), y1: grid.y - 4, y2: end }),
      textElement(String(value), x(value), grid.y - 9, "middle", "soft"),
    ]);
    const parts = Object.entries(paths).map(([look, d]) => svgElement("path", { d, class: `box-${look}` }));
    return {
      width, height: end + 6, grid, parts: [...axis, ...parts, ...rowNames(order, grid, room - 8)],
      title: `${measure.label} over topics, by system`,
      note: `Box: quartiles; line: median; diamond: ${measure.overallName}; whiskers: scores within 1.5 interquartile ranges of the box; dots: outliers.`,
      hints: namesHint(grid),
      at: (_, r) => {
        const k = order[r];
        const [lower, q1, median, q3, upper] = [0, 1, 2, 3, 4].map((j) => fixed(boxes[j * systems + k], measure.places));
        const tip = [data.systemLabels[k], `median ${median}, quartiles ${q1} and ${q3}`, `whiskers ${lower} to ${upper}`, `${measure.overallName} ${fixed(means[k], measure.places)}`];
        return { tip, systems: [k], choose: (first) => choosePair(k, first) };
      },
      mark: (system) => rowMark(order, grid, width, system),
    };
  },
});
