// Data, settings, how to repeat the fit, and what the file holds.

function writeData() {
  const seen = held.isHeldOut
    ? "Who wrote the report states that the fit has not seen these rows."
    : "The fit has seen these rows: errors on new ones are larger.";
  const doubt = held.isDoubtful
    ? " But they hold the model's support points, in their places: probably it has."
    : "";
  byId("data-note").textContent =
    `${plural(held.rows.n, "row")} and ${plural(nColumns, "column")} were given to the ` +
    `report. ${seen}${doubt}`;
  const heads = ["Column", "Holds", "Values", "Missing"];
  const made = table("Columns of the data", heads, columns.map(columnLine), ["", "", "", "number"]);
  byId("data-table").append(made);
}

function columnLine(column) {
  const { name, isUsed, words, low, high, isWhole, isDate, typical, missing } = column;
  if (!isUsed) return [name, "not used", "–", "–"];
  if (words) return [name, "words", wordsText(column), String(missing)];
  const kind = isDate ? "dates" : isWhole ? "whole numbers" : "numbers";
  if (low === null) return [name, kind, "–", String(missing)];
  const text = (value) => (isDate ? dateText(value, !isWhole) : shown(value));
  const [first, last, middle] = [low, high, typical].map(text);
  return [name, kind, `${first} to ${last}, median ${middle}`, String(missing)];
}

function wordsText({ words, counts, others }) {
  const ranked = words.map((_, k) => k).sort((a, b) => counts[b] - counts[a]);
  const texts = ranked.slice(0, 4).map((k) => `${words[k]} (${counts[k]})`);
  const rest = words.length - texts.length;
  if (rest > 0) texts.push(`and ${rest} more`);
  if (others) texts.push(`${others} unknown`);
  return texts.join(", ");
}

// ---- settings --------------------------------------------------------------------

function writeSettings() {
  const { parameters, fitted, search } = held.facts;
  const found = fitted.map(([name, value, meaning]) => [
    make("span", {}, name, make("small", {}, meaning)),
    make("code", {}, value),
  ]);
  const attributes = table("Fitted attributes", ["Attribute", "Value"], found, ["", "wrap"]);
  const listed = scrolling("Fitted attributes", attributes);
  byId("settings-body").append(
    make("div", {}, make("h3", {}, "Repeat this"), ...codeParts()),
    make("div", {}, make("h3", {}, "What the fit found"), listed),
  );
  const set = parameters.map(([name, value, isDefault]) => [
    name,
    make("code", {}, value),
    isDefault ? "default" : "set",
  ]);
  const heads = ["Parameter", "Value", ""];
  folded(`Parameters of ${held.estimator}`, table("Parameters", heads, set, ["", "wrap", ""]));
  if (search.length) {
    folded(`Settings that the fit compared (${search.length})`, searchTable(search));
  }
}

function folded(title, content) {
  const made = make("details", {}, make("summary", {}, title), scrolling(title, content));
  byId("settings").append(made);
}

function codeParts() {
  const { code, versions, randomState } = held.facts;
  const source = make("code", {}, code);
  const copy = make("button", { type: "button" }, "Copy");
  copy.addEventListener("click", () => copyText(source, copy));
  const list = versions.map(([name, version]) => `${name} ${version}`).join(", ");
  const note =
    "X_train and y_train are the data of the fit, X and y the rows of this report. " +
    `random_state of the model: ${randomState}. Versions: ${list}.`;
  return [
    make("pre", { tabindex: "0", "aria-label": "Code that repeats the fit" }, source),
    copy,
    make("p", { class: "note" }, note),
  ];
}

function searchTable(search) {
  const names = [...new Set(search.flatMap((trial) => Object.keys(trial.settings)))];
  const lines = search.map(({ settings, error, standardError, size }, i) => [
    String(i + 1),
    ...names.map((name) => settings[name] ?? ""),
    `${shown(error)} ± ${shown(standardError, 2)}`,
    String(size),
  ]);
  const heads = ["", ...names, "Lowest held-out error", "At size"];
  return table("Settings that the fit compared", heads, lines, numberKinds(heads));
}

// Copies the text of an element; selects it where a page may not copy.
function copyText(element, button) {
  const select = () => {
    getSelection().selectAllChildren(element);
    button.textContent = "Selected: copy it";
  };
  const done = () => {
    button.textContent = "Copied";
  };
  if (!navigator.clipboard) select();
  else navigator.clipboard.writeText(element.textContent).then(done, select);
}

// ---- file ------------------------------------------------------------------------

function writeFile() {
  const { kind, targets } = held.points;
  const asWhat =
    kind === "raw"
      ? `with their columns${targets ? " and targets" : ""}`
      : "as the model sees them, after the preparation, which can often be undone";
  const drawn = nRows < held.rows.n ? `, drawn at random from ${held.rows.n}` : "";
  const items = [
    `The model at ${plural(model.stages.length, "size")}, with up to ` +
      `${plural(model.largest.points, "support point")}. Support points are rows of the ` +
      `training data, ${asWhat}.`,
    nRows
      ? `${plural(nRows, "row")} of the data of this report with all columns and targets${drawn}.`
      : "No rows of the data of this report.",
    "Of all other rows sums only: errors, counts and shares, ranges of columns, and how often " +
      "each word occurs.",
    "No link to anything else: the page loads nothing and sends nothing, and its security " +
      "policy forbids both.",
  ];
  byId("file-body").append(
    make("p", { class: "note" }, "Give this file only to those who may see these rows."),
    make("ul", {}, ...items.map((item) => make("li", {}, item))),
  );
  const difference = largestDifference();
  byId("footer").textContent =
    `Written by pursuit ${held.facts.versions[0][1]} on ${held.facts.date}.` +
    (nRows
      ? ` This page has computed its ${plural(nRows, "row")} again: the largest difference ` +
        `from Python is ${shown(difference, 2)}.`
      : "");
  byId("footer").dataset.difference = difference;
}

// How far the values of the page are from Python's, on the rows that it holds.
function largestDifference() {
  const expected = held.rows.values;
  const gaps = functionsOfRows.map((functions, i) => {
    const f = model.outputs(functions, model.chosen);
    const values = model.isClasses ? f : model.answer(f).numbers;
    const first = i * values.length;
    return Math.max(...Array.from(values, (value, t) => Math.abs(value - expected[first + t])));
  });
  return gaps.reduce((a, b) => Math.max(a, b), 0);
}
