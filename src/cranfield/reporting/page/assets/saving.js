// Charts as files: SVG with the colours of the page, and CSV of the data.

const STYLE_PROPERTIES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "font-size", "font-family", "font-weight", "opacity"];

/** Create the two save buttons of a chart. */
function saveButtons(chart) {
  return [["SVG", () => exportSvg(chart), "image/svg+xml"], ["CSV", () => exportCsv(chart.rows()), "text/csv"]].map(([format, makeText, type]) => {
    const button = element("button", "keep", format);
    button.type = "button";
    button.setAttribute("aria-label", `${format} of ${chart.name}`);
    button.addEventListener("click", () => saveFile(`${chart.name}.${format.toLowerCase()}`, makeText(), type));
    return button;
  });
}

/** Save a file on the reader's computer. */
function saveFile(name, text, type) {
  const link = element("a");
  link.href = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** Return a chart as a standalone SVG that contains its styles. */
function exportSvg(chart) {
  const sources = chart.svg ? [chart.svg] : [...chart.canvas.querySelectorAll("svg:not(svg svg)")];
  const frame = chart.canvas.querySelector(".intervals, svg").parentElement.getBoundingClientRect();
  const boxes = sources.map((source) => source.getBoundingClientRect());
  const [left, top] = [Math.min(...boxes.map((box) => box.left)), Math.min(...boxes.map((box) => box.top))];
  const size = { width: Math.ceil(frame.width), height: Math.ceil(Math.max(...boxes.map((box) => box.bottom)) - top) };
  const image = svgElement("svg", { ...size, viewBox: `0 0 ${size.width} ${size.height}` });
  image.append(svgElement("title", {}, chart.title.textContent), svgElement("rect", { ...size, fill: colour("paper") }));
  sources.forEach((source, k) => {
    const copy = source.cloneNode(true);
    const [from, to] = [source, copy].map((root) => [root, ...root.querySelectorAll("*")]);
    from.forEach((element, at) => {
      const style = getComputedStyle(element);
      for (const name of STYLE_PROPERTIES) to[at].setAttribute(name, style.getPropertyValue(name));
      for (const name of ["class", "tabindex", "data-row"]) to[at].removeAttribute(name);
    });
    const bounds = { x: boxes[k].left - left, y: boxes[k].top - top, width: boxes[k].width, height: boxes[k].height };
    for (const [name, value] of Object.entries(bounds)) copy.setAttribute(name, value.toFixed(1));
    copy.setAttribute("overflow", source.classList.contains("names") ? "hidden" : "visible");
    image.append(copy);
  });
  return new XMLSerializer().serializeToString(image);
}

/** Format rows as CSV, with all digits of numbers. */
function exportCsv(rows) {
  const cell = (value) => {
    if (typeof value === "number") return Number.isNaN(value) ? "" : String(value);
    return /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
  };
  return rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}
