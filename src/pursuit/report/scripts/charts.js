// Small charts in SVG, drawn at the width that they have on the screen, so that text
// keeps its size. Colors come from the style sheet by class names.

const SVG = "http://www.w3.org/2000/svg";

// Returns an SVG element; children are elements or text.
function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    element.setAttribute(name, typeof value === "number" ? +value.toFixed(2) : value);
  }
  element.append(...children);
  return element;
}

// Returns a number as a reader likes it: few digits, powers of ten where needed.
function shown(value, digits = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e6 || size < 1e-4)) {
    const [base, power] = value.toExponential(Math.max(0, digits - 2)).split("e");
    return `${+base}e${+power}`.replaceAll("-", "−");
  }
  return String(+value.toPrecision(digits)).replace("-", "−");
}

// Returns a share as percent; only 0 and 1 themselves are shown as 0 % and 100 %.
function percent(value) {
  if (value === null || Number.isNaN(value)) return "–";
  if (value > 0 && value < 1e-4) return "< 0.01 %";
  if (value < 1 && value > 0.9995) return "> 99.9 %";
  return `${shown(100 * value, 3)} %`;
}

// Returns the lowest and highest finite number of a list.
function extent(values) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : [0, 1];
}

// Returns the extent with room at both ends.
function roomy(values) {
  const [low, high] = extent(values);
  const margin = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
  return [low - margin, high + margin];
}

// ---- scales ----------------------------------------------------------------------

// A scale is a function from values to pixels, with low, high and round ticks.

function linearScale(low, high, from, to, count = 5) {
  if (!(high > low)) {
    const margin = Math.abs(low) * 0.1 || 1;
    [low, high] = [low - margin, high + margin];
  }
  const place = (value) => from + ((value - low) / (high - low)) * (to - from);
  const step = tickStep(high - low, Math.max(1, count));
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) {
    ticks.push(+(i * step).toPrecision(12));
  }
  return Object.assign(place, { low, high, ticks });
}

function tickStep(span, count) {
  const rough = span / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= rough * (1 - 1e-9));
}

// Of value + shift: with a shift of 1, sizes begin at 0.
function logScale(low, high, from, to, shift = 0, count = 6) {
  const first = Math.log(low + shift);
  const span = Math.max(Math.log(high + shift) - first, 1e-9);
  const place = (value) => from + ((Math.log(value + shift) - first) / span) * (to - from);
  const ticks = shift ? [0] : [];
  for (let power = Math.floor(Math.log10(shift || low)); 10 ** power <= high; power++) {
    for (const factor of [1, 2, 5]) {
      const tick = +(factor * 10 ** power).toPrecision(12);
      if (tick >= low && tick <= high) ticks.push(tick);
    }
  }
  const every = Math.ceil(ticks.length / (count + 1));
  const kept = ticks.filter((_, i) => i % every === 0);
  return Object.assign(place, { low, high, ticks: kept.length > 1 ? kept : [low, high] });
}

// ---- frames ----------------------------------------------------------------------

// About the width of a text in the charts' font.
const textWidth = (text) => 6.7 * text.length;

const widthOf = (holder) => Math.max(240, Math.floor(holder.clientWidth || 600));

function picture(holder, width, height, label, ...parts) {
  const size = { width, height, viewBox: `0 0 ${width} ${height}` };
  const made = svg("svg", { ...size, role: "img", "aria-label": label }, ...parts);
  holder.replaceChildren(made);
  return made;
}

// Draws axes, grid and names, and returns the picture with its scales. x and y make a
// scale for pixels (from, to); label describes the picture to those who do not see it.
function frame(holder, { x, y, xName, yName, label, xText = shown, yText = shown }) {
  const width = widthOf(holder);
  const height = width < 440 ? 280 : 340;
  const [top, bottom, right] = [26, height - 42, width - 14];
  const ys = y(bottom, top);
  const left = 14 + Math.max(...ys.ticks.map((tick) => textWidth(yText(tick))), 12);
  const xs = x(left, right);
  const grid = svg("g", { class: "grid" });
  const axes = svg("g", { class: "axes" });
  for (const tick of ys.ticks) {
    const at = ys(tick);
    grid.append(svg("line", { x1: left, x2: right, y1: at, y2: at }));
    axes.append(svg("text", { x: left - 8, y: at + 4, class: "end" }, yText(tick)));
  }
  for (const tick of xs.ticks) {
    const at = xs(tick);
    const text = xText(tick);
    const inside = Math.min(at, width - textWidth(text) / 2 - 1);
    axes.append(svg("line", { x1: at, x2: at, y1: bottom, y2: bottom + 4 }));
    axes.append(svg("text", { x: inside, y: bottom + 18, class: "middle" }, text));
  }
  axes.append(
    svg("line", { x1: left, x2: right, y1: bottom, y2: bottom, class: "base" }),
    svg("text", { x: right, y: height - 4, class: "name end" }, shortened(xName, right - left)),
    svg("text", { x: 0, y: 12, class: "name" }, shortened(yName, width)),
  );
  const made = picture(holder, width, height, label, grid, axes);
  return { picture: made, xs, ys, left, right, top, bottom };
}

// As frame, with a line of its own for each word instead of a vertical scale.
function frameOfWords(holder, { words, x, name, label, xText = shown }) {
  const width = widthOf(holder);
  const height = 34 * words.length + 62;
  const [top, bottom, right] = [26, height - 36, width - 24];
  const texts = words.map((word) => shortened(word, width * 0.4));
  const left = 14 + Math.max(...texts.map(textWidth));
  const xs = x(left, right);
  const step = (bottom - top) / words.length;
  const grid = svg("g", { class: "grid" });
  const axes = svg("g", { class: "axes" });
  for (const tick of xs.ticks) {
    const at = xs(tick);
    grid.append(svg("line", { x1: at, x2: at, y1: top, y2: bottom }));
    axes.append(svg("text", { x: at, y: bottom + 18, class: "middle" }, xText(tick)));
  }
  texts.forEach((text, k) => {
    const place = { x: left - 8, y: top + step * (k + 0.5) + 4, class: "end" };
    axes.append(svg("text", place, text, svg("title", {}, words[k])));
  });
  axes.append(svg("text", { x: 0, y: 12, class: "name" }, shortened(name, width)));
  const made = picture(holder, width, height, label, grid, axes);
  return { picture: made, xs, step, centerOf: (k) => top + step * (k + 0.5) };
}

function shortened(text, width) {
  const most = Math.floor(width / 6.7);
  return text.length > most ? `${text.slice(0, Math.max(1, most - 1))}…` : text;
}

// ---- marks -----------------------------------------------------------------------

// Returns a line through points [x, y]; points without a number break it.
function curve(xs, ys, points, name) {
  let path = "";
  let isDown = false;
  for (const [a, b] of points) {
    const isPoint = Number.isFinite(a) && Number.isFinite(b);
    if (isPoint) path += `${isDown ? "L" : "M"}${xs(a).toFixed(1)},${ys(b).toFixed(1)}`;
    isDown = isPoint;
  }
  return svg("path", { d: path, class: name });
}

function dot(cx, cy, r, name, title) {
  const circle = svg("circle", { cx, cy, r, class: name });
  if (title) circle.append(svg("title", {}, title));
  return circle;
}
