// Where the model errs: confusions and calibration, or residuals.

function prepareErrors() {
  const body = byId("errors-body");
  if (model.isClasses) {
    byId("errors-note").textContent = `Counts of ${judgedRows}, at the size of the slider.`;
    body.append(make("div", {}, make("h3", {}, "Confusions"), confusionHolder()));
    if (model.hasProbabilities) body.append(chartParts("calibration", "Calibration"));
    return;
  }
  const choice = outputChooser("errors-output");
  if (choice) byId("errors-controls").append(choice);
  byId("errors-note").textContent = nRows
    ? `The ${plural(nRows, "row")} of this page, of ${judgedRows}, at the size of the slider.`
    : "This page holds no rows to draw.";
  if (!nRows) return;
  body.append(chartParts("against", "Predicted against true"));
  body.append(chartParts("residuals", "Residuals"));
}

function confusionHolder() {
  const made = scrolling("Confusions");
  made.id = "confusions";
  return made;
}

function chartParts(id, title) {
  const details = make("details", { class: "numbers" });
  details.append(make("summary", {}, "Show as table"), make("div"));
  return make(
    "figure",
    {},
    make("h3", {}, title),
    make("div", { class: "chart", id }),
    make("figcaption", { id: `${id}-caption` }),
    details,
  );
}

function writeErrors() {
  if (model.isClasses) {
    writeConfusions();
    if (model.hasProbabilities) drawCalibration();
  } else if (nRows) {
    drawResiduals();
  }
}

// ---- classes ---------------------------------------------------------------------

// Above this number of classes, the most frequent confusions stand for the matrix.
const MOST_CLASSES = 12;

function writeConfusions() {
  const { confusions } = stage();
  const isSmall = model.names.length <= MOST_CLASSES;
  byId("confusions").replaceChildren(isSmall ? matrixOf(confusions) : listOf(confusions));
}

function listOf(confusions) {
  const wrong = confusions.filter(([a, b]) => a !== b).slice(0, 15);
  if (!wrong.length) return make("p", {}, "No row has a wrong class.");
  const lines = wrong.map(([a, b, n]) => [model.names[a], model.names[b], String(n)]);
  const heads = ["True", "Predicted", "Rows"];
  return table("The most frequent confusions", heads, lines, ["", "", "number"], true);
}

function matrixOf(confusions) {
  const { names } = model;
  const counts = names.map(() => names.map(() => 0));
  for (const [a, b, n] of confusions) counts[a][b] = n;
  const heads = ["True ↓ predicted →", ...names, "Recall"];
  const lines = counts.map((line, a) => {
    const total = line.reduce((x, y) => x + y, 0);
    const cells = line.map((n, b) => countCell(n, total, a === b));
    return [names[a], ...cells, total ? percent(line[a] / total) : "–"];
  });
  const caption = "Rows by true and predicted class";
  const made = table(caption, heads, lines, numberKinds(heads), true);
  made.className = "confusion";
  return made;
}

function countCell(n, total, isRight) {
  const cell = make("span", { class: `count ${isRight ? "right" : "wrong"}` }, String(n));
  // At most half of the color, so that the number stays legible.
  const strength = n ? 12 + (38 * n) / Math.max(1, total) : 0;
  cell.style.setProperty("--strength", `${strength}%`);
  return cell;
}

function drawCalibration() {
  const bins = stage().calibration;
  const holder = byId("calibration");
  const about = model.names.length === 2 ? model.names[1] : "the predicted class";
  const drawn = frame(holder, {
    x: (a, b) => linearScale(0, 1, a, b, (b - a) / 70),
    y: (a, b) => linearScale(0, 1, a, b),
    xName: "stated probability",
    yName: "share of rows",
    xText: percent,
    yText: percent,
    label: `Calibration of the probability of ${about}, ${plural(bins.length, "group")} of rows.`,
  });
  const { picture: made, xs, ys } = drawn;
  made.append(curve(xs, ys, [[0, 0], [1, 1]], "ideal"), curve(xs, ys, bins, "line"));
  const most = Math.max(...bins.map((bin) => bin[2]));
  for (const [stated, found, n] of bins) {
    const title = `stated ${percent(stated)}, found ${percent(found)} of ${plural(n, "row")}`;
    made.append(dot(xs(stated), ys(found), 3 + 5 * Math.sqrt(n / most), "mark", title));
  }
  byId("calibration-caption").textContent =
    `Stated probability of ${about} against how often it is so. The dotted line is ideal; ` +
    "larger dots stand for more rows.";
  const lines = () => bins.map(([p, s, n]) => [percent(p), percent(s), String(n)]);
  tableBelow(holder, "Calibration", ["Stated", "Found", "Rows"], lines);
}

// ---- numbers ---------------------------------------------------------------------

function drawResiduals() {
  const t = state.output;
  const now = stage();
  const points = functionsOfRows.map((functions, i) => {
    const predicted = model.answer(model.outputs(functions, now)).numbers[t];
    const truth = targetOf(i, t);
    const number = held.rows.numbers[i];
    const title = `row ${number}: true ${shown(truth)}, predicted ${shown(predicted)}`;
    return { predicted, truth, residual: truth - predicted, number, title };
  });
  drawAgainst(points, model.names[t]);
  drawGaps(points, model.names[t]);
  const heads = ["Row", "True", "Predicted", "Residual"];
  const lines = () =>
    points.map((p) => [String(p.number), shown(p.truth), shown(p.predicted), shown(p.residual)]);
  for (const id of ["against", "residuals"]) tableBelow(byId(id), "Rows", heads, lines);
}

function drawAgainst(points, name) {
  const span = roomy(points.flatMap((p) => [p.predicted, p.truth]));
  const { picture: made, xs, ys } = frame(byId("against"), {
    x: (a, b) => linearScale(...span, a, b, b / 90),
    y: (a, b) => linearScale(...span, a, b),
    xName: `true ${name}`,
    yName: `predicted ${name}`,
    label: `Predicted against true ${name} for ${plural(points.length, "row")}.`,
  });
  const [low, high] = span;
  made.append(curve(xs, ys, [[low, low], [high, high]], "ideal"));
  for (const p of points) made.append(dot(xs(p.truth), ys(p.predicted), 3.2, "point", p.title));
  byId("against-caption").textContent =
    "Each dot is a row; on the dotted line, the prediction is the true value.";
}

function drawGaps(points, name) {
  const [low, high] = extent(points.map((p) => p.residual));
  const reach = 1.08 * Math.max(Math.abs(low), Math.abs(high)) || 1;
  const { picture: made, xs, ys, left, right } = frame(byId("residuals"), {
    x: (a, b) => linearScale(...roomy(points.map((p) => p.predicted)), a, b, b / 90),
    y: (a, b) => linearScale(-reach, reach, a, b),
    xName: `predicted ${name}`,
    yName: "true − predicted",
    label: `Residuals of ${plural(points.length, "row")}, from ${shown(low)} to ${shown(high)}.`,
  });
  made.append(svg("line", { x1: left, x2: right, y1: ys(0), y2: ys(0), class: "ideal" }));
  for (const p of points) {
    made.append(dot(xs(p.predicted), ys(p.residual), 3.2, "point second", p.title));
  }
  byId("residuals-caption").textContent =
    "A pattern, such as a bend or a funnel, is something that the model misses.";
}
