// Precision by rank.

addChart({
  id: "ranks",
  name: "precision by rank",
  available: () => data.ranks !== null,
  rows: () => {
    const values = array(data.ranks, "precision");
    const rows = data.systems.map((name, k) => [name, ...data.ranks.at.map((_, j) => values[j * data.systems.length + k])]);
    return [["system", ...data.ranks.at.map((rank) => `P@${rank}`)], ...rows];
  },
  draw: (measure, width) => {
    const systems = data.systems.length;
    const { at: ranks } = data.ranks;
    const values = array(data.ranks, "precision");
    const order = ranking(measure);
    const [left, top, bottom, height] = [34, 10, 40, Math.min(420, Math.max(260, 0.75 * width))];
    const right = width - 14;
    const x = (rank) => left + 6 + (Math.log(rank) / Math.log(ranks.at(-1))) * (right - left - 6);
    const y = (value) => height - bottom - value * (height - bottom - top);
    const line = (k) => {
      const coordinates = ranks.flatMap((rank, j) => {
        const value = values[j * systems + k];
        return Number.isNaN(value) ? [] : [`${x(rank).toFixed(1)} ${y(value).toFixed(1)}`];
      });
      return coordinates.length ? `M${coordinates.join("L")}` : "";
    };
    const parts = computeTicks(0, 1).flatMap((value) => [
      svgElement("line", { class: "grid", x1: left, x2: right, y1: y(value), y2: y(value) }),
      textElement(String(value), left - 6, y(value) + 4, "end", "soft"),
    ]);
    const roundRanks = ranks.filter((rank) => /^[125]0*$/.test(String(rank)));
    const tens = roundRanks.filter((rank) => /^10*$/.test(String(rank)));
    const labelledRanks = width > 420 || tens.length < 3 ? roundRanks : tens;
    parts.push(...labelledRanks.map((rank) => textElement(String(rank), x(rank), height - bottom + 16, "middle", "soft")));
    parts.push(textElement("rank", (left + right) / 2, height - 6, "middle", "soft"));
    const [first, second] = selectedPair();
    parts.push(svgElement("path", { d: order.filter((k) => k !== first && k !== second).map(line).join(""), class: "curve" }));
    parts.push(svgElement("path", { d: line(second), class: "curve second" }), svgElement("path", { d: line(first), class: "curve first" }));
    // The names of the pair are at the top right, where there is space above the curves.
    [["first", first], ["second", second]].forEach(([look, k], row) => {
      parts.push(textElement(cut(data.systemLabels[k], 190), right, top + 12 + 15 * row, "end", look));
    });
    const counts = ranks.map((_, j) => order.filter((k) => !Number.isNaN(values[j * systems + k])).length);
    const depth = counts.at(-1) === systems ? `at rank ${ranks.at(-1)}` : `where the runs end, at rank ${ranks.at(-1)} at the latest`;
    const grid = { x: left, y: top, w: (right - left) / ranks.length, h: 1, columns: ranks.length, rows: order.length };
    return {
      width, height, grid, parts,
      title: "Mean precision by rank",
      note: `Curves end ${depth}. The two selected systems are in colour.`,
      nearest: (px, py) => {
        if (px < left - 4 || px > right + 8 || py < top || py > height - bottom + 4) return null;
        const column = ranks.reduce((best, rank, j) => (Math.abs(x(rank) - px) < Math.abs(x(ranks[best]) - px) ? j : best), 0);
        const distance = (r) => {
          const value = values[column * systems + order[r]];
          return Number.isNaN(value) ? Infinity : Math.abs(y(value) - py);
        };
        return [column, order.reduce((best, _, r) => (distance(r) < distance(best) ? r : best), 0)];
      },
      spot: (c, r) => y(values[c * systems + order[r]] || 0),
      at: (c, r) => {
        const k = order[r];
        return {
          tip: [data.systemLabels[k], `P@${ranks[c]} ${fixed(values[c * systems + k], 4)}`],
          systems: [k],
          choose: (asFirst) => choosePair(k, asFirst),
        };
      },
      mark: (system) => [svgElement("path", { d: line(system), class: "curve lit" })],
    };
  },
});
