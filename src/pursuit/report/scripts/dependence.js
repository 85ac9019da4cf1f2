// How the prediction depends on one column: the mean over rows, and each row by itself.

const MOST_CURVES = 40;
const GRID = 33;
// Values of the functions on the grid of a column, once it was drawn: all sizes use them.
const functionsOnGrids = new Map();

function prepareDependence() {
  const names = state.ranked.map((j) => columns[j].name);
  const input = chooser("column", names, 0, (k) => {
    state.column = state.ranked[k];
    drawDependence();
  });
  const choices = [field("Column", input), outputChooser("dependence-output")];
  byId("dependence-controls").append(...choices.filter(Boolean));
  const n = Math.min(nRows, MOST_CURVES);
  byId("dependence-note").textContent = n
    ? `The prediction for ${plural(n, "row")} if only this column had another value in each: ` +
      "every row by itself, faint, and the mean of all."
    : "The prediction for the typical row if this column had another value.";
}

function gridOf({ words, few, span, missing, takesMissing }) {
  if (!words) return few ?? spaced(...span, GRID);
  const codes = words.map((_, k) => k);
  return missing && takesMissing ? [...codes, NaN] : codes;
}

const spaced = (low, high, n) =>
  Array.from({ length: n }, (_, k) => low + ((high - low) * k) / (n - 1));

// Returns the places of the rows that are drawn, the same each time.
function curveRows() {
  return shuffledPlaces(nRows, 5).slice(0, MOST_CURVES);
}

function functionsOnGrid(j) {
  if (!functionsOnGrids.has(j)) {
    const some = nRows ? curveRows().map((i) => rows[i]) : [typicalRow()];
    const onGrid = some.map((row) =>
      gridOf(columns[j]).map((value) => {
        const changed = row.slice();
        changed[j] = value;
        return model.functionsAt(changed);
      }),
    );
    functionsOnGrids.set(j, onGrid);
  }
  return functionsOnGrids.get(j);
}

function drawDependence() {
  const holder = byId("dependence-chart");
  const column = columns[state.column];
  const grid = column ? gridOf(column) : [];
  if (!grid.length) {
    holder.replaceChildren(make("p", { class: "note" }, "There are no values to draw."));
    return;
  }
  const now = stage();
  const value = (functions) => model.quantity(model.outputs(functions, now), state.output);
  const curves = functionsOnGrid(state.column).map((onGrid) => onGrid.map(value));
  const mean = grid.map((_, k) => curves.reduce((sum, each) => sum + each[k], 0) / curves.length);
  const name = model.quantityName(state.output);
  const text = (number) => model.quantityText(number);
  const texts = grid.map((each) => valueText(column, each));
  const [least, most] = extent(mean);
  const range = `the mean is between ${text(least)} and ${text(most)}`;
  const label = `${name} against ${column.name}: ${range}.`;
  const span = model.hasProbabilities ? [0, 1] : roomy(curves.flat());
  const drawing = { column, grid, texts, curves, mean, name, span, text, label };
  if (column.words) drawWords(holder, drawing);
  else drawNumbers(holder, drawing);
  byId("dependence-caption").textContent = column.words
    ? "Bars: the mean. Dots: single rows."
    : "Ticks above the axis: values of the rows of this page.";
  const lines = () => texts.map((each, k) => [each, text(mean[k])]);
  tableBelow(holder, label, [column.name, `${name}, mean`], lines);
}

function drawNumbers(holder, { column, grid, curves, mean, name, span, text, label }) {
  const [first, last] = extent(grid);
  const drawn = frame(holder, {
    x: (a, b) => (column.isDate ? dateScale : linearScale)(first, last, a, b, b / 80),
    xText: column.isDate ? dateText : shown,
    y: (a, b) => linearScale(...span, a, b),
    xName: column.name,
    yName: name,
    yText: text,
    label,
  });
  const { picture: made, xs, ys, bottom } = drawn;
  const through = (values) => grid.map((value, k) => [value, values[k]]);
  for (const each of curves) made.append(curve(xs, ys, through(each), "faint"));
  made.append(curve(xs, ys, through(mean), "line strong"));
  if (grid.length === 1) made.append(dot(xs(first), ys(mean[0]), 5, "mark"));
  const ticks = svg("g", { class: "rug" });
  for (const row of rows) {
    const value = row[state.column];
    if (!(value >= first && value <= last)) continue;
    ticks.append(svg("line", { x1: xs(value), x2: xs(value), y1: bottom - 6, y2: bottom }));
  }
  made.append(ticks);
}

function drawWords(holder, { texts, curves, mean, name, span, text, label }) {
  const [low, high] = [Math.min(0, span[0]), Math.max(0, span[1])];
  const x = (a, b) => linearScale(low, high, a, b, Math.min(5, (b - a) / 70));
  const drawn = frameOfWords(holder, { words: texts, x, name, label, xText: text });
  const { picture: made, xs, step, centerOf } = drawn;
  mean.forEach((value, k) => {
    const [a, b] = [xs(0), xs(value)].sort((p, q) => p - q);
    const height = step * 0.6;
    const place = { x: a, width: Math.max(1, b - a), y: centerOf(k) - height / 2, height };
    made.append(svg("rect", { ...place, class: "word-bar" }));
    for (const each of curves) made.append(dot(xs(each[k]), centerOf(k), 2, "faint-dot"));
  });
}
