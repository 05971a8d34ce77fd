// Kendall's tau between the rankings of systems by two measures.

addChart({
  id: "tau",
  name: "tau between measures",
  available: () => data.measures.length > 1 && data.systems.length > 2,
  rows: () => {
    const values = array(data, "tau");
    const names = data.measures.map((measure) => measure.name);
    return [["measure", ...names], ...names.map((name, r) => [name, ...names.map((_, c) => values[r * names.length + c])])];
  },
  draw: (measure, width) => {
    const values = array(data, "tau");
    const count = data.measures.length;
    const { room } = rowsFor(count, width);
    const w = Math.min(64, (width - room) / count);
    const h = Math.min(36, Math.max(22, w));
    const grid = { x: room, y: 6, w, h, columns: count, rows: count };
    const parts = [];
    for (let r = 0; r < count; r++) {
      for (let c = 0; c < count; c++) {
        const tau = values[r * count + c];
        if (Number.isNaN(tau)) continue;
        // Colours cover the range from 0.5 to 1, as agreement is rarely lower.
        const fraction = Math.max(0, Math.min(1, 2 * tau - 1));
        const [x, y] = [grid.x + c * w, grid.y + r * h];
        const fill = rampColour(fraction);
        parts.push(svgElement("rect", { x, y, width: w - 1.5, height: h - 1.5, fill }));
        if (w > 27) parts.push(textElement(fixed(tau, 2), x + w / 2 - 0.7, y + h / 2 + 3.5, "middle", textClass(fill)));
      }
      const look = r === selectedMeasure() ? "first" : "";
      parts.push(textElement(cut(data.measures[r].label, room - 8), 0, grid.y + (r + 0.5) * h + 4, "start", look));
    }
    const end = grid.y + count * h;
    for (let c = 0; c < count; c++) {
      const text = textElement(cut(data.measures[c].label, 92), 0, 0, "end", c === selectedMeasure() ? "first" : "soft");
      text.setAttribute("transform", `translate(${(grid.x + (c + 0.5) * w + 4).toFixed(1)} ${end + 6}) rotate(-55)`);
      parts.push(text);
    }
    return {
      width, height: end + 84, grid, parts,
      title: "Kendall's tau between measures",
      note: "Kendall's tau between the rankings of systems by two measures; 1: the same ranking. Empty: undefined.",
      hints: ["Click a row to choose its measure."],
      at: (c, r) => ({
        tip: [`${data.measures[r].label} and ${data.measures[c].label}`, `tau ${fixed(values[r * count + c], 4)}`],
        systems: [],
        choose: () => selectMeasure(r),
      }),
    };
  },
});
