// Pictures as files: SVG with the colours it has on the page, and CSV of the numbers behind it.

const LOOK = ["fill", "stroke", "stroke-width", "stroke-dasharray", "font-size", "font-family", "font-weight", "opacity"];

/** The two buttons of a picture. */
function keepButtons(one) {
  return [["SVG", () => svgOf(one), "image/svg+xml"], ["CSV", () => csvOf(one.rows()), "text/csv"]].map(([kind, made, type]) => {
    const button = element("button", "keep", kind);
    button.type = "button";
    button.setAttribute("aria-label", `${kind} of ${one.name}`);
    button.addEventListener("click", () => keep(`${one.name}.${kind.toLowerCase()}`, made(), type));
    return button;
  });
}

/** Hand a file to the reader. */
function keep(name, text, type) {
  const link = element("a");
  link.href = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** A drawing by itself: what the style says of it stands in it. */
function svgOf(one) {
  const sources = one.svg ? [one.svg] : [...one.canvas.querySelectorAll("svg:not(svg svg)")];
  const frame = one.canvas.querySelector(".intervals, svg").parentElement.getBoundingClientRect();
  const boxes = sources.map((source) => source.getBoundingClientRect());
  const [left, top] = [Math.min(...boxes.map((box) => box.left)), Math.min(...boxes.map((box) => box.top))];
  const size = { width: Math.ceil(frame.width), height: Math.ceil(Math.max(...boxes.map((box) => box.bottom)) - top) };
  const whole = drawn("svg", { ...size, viewBox: `0 0 ${size.width} ${size.height}` });
  whole.append(drawn("title", {}, one.title.textContent), drawn("rect", { ...size, fill: colour("paper") }));
  sources.forEach((source, k) => {
    const copy = source.cloneNode(true);
    const [from, to] = [source, copy].map((root) => [root, ...root.querySelectorAll("*")]);
    from.forEach((element, at) => {
      const style = getComputedStyle(element);
      for (const name of LOOK) to[at].setAttribute(name, style.getPropertyValue(name));
      for (const name of ["class", "tabindex", "data-row"]) to[at].removeAttribute(name);
    });
    const place = { x: boxes[k].left - left, y: boxes[k].top - top, width: boxes[k].width, height: boxes[k].height };
    for (const [name, value] of Object.entries(place)) copy.setAttribute(name, value.toFixed(1));
    copy.setAttribute("overflow", source.classList.contains("names") ? "hidden" : "visible");
    whole.append(copy);
  });
  return new XMLSerializer().serializeToString(whole);
}

/** Rows as CSV; numbers as they are, to the last digit. */
function csvOf(rows) {
  const cell = (value) => {
    if (typeof value === "number") return Number.isNaN(value) ? "" : String(value);
    return /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
  };
  return rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}
