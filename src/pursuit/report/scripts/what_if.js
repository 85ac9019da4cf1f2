// A row that the reader fills in, its prediction, and the nearest support points.

const FIELDS = 12;
const NEAREST = 6;
const inputs = []; // for each column: its input, its hint, and the text of the hint

function prepareForm() {
  const form = byId("form");
  const truths = rows.map((_, i) => targetText(model.names.map((_, t) => targetOf(i, t))));
  const starts = rows.map((_, i) => `Row ${held.rows.numbers[i]} (true: ${truths[i]})`);
  const start = chooser("start", ["Typical row", ...starts], 0, (k) => {
    state.row = k ? rowAt(k - 1) : typicalRow();
    fillForm();
    writeAnswer(true);
  });
  const fields = state.ranked.map(fieldOf);
  form.append(field("Start from", start));
  form.append(make("div", { class: "fields" }, ...fields.slice(0, FIELDS)));
  if (fields.length > FIELDS) {
    const text = `${plural(fields.length - FIELDS, "further column")}, of less importance`;
    const others = make("div", { class: "fields" }, ...fields.slice(FIELDS));
    form.append(make("details", {}, make("summary", {}, text), others));
  }
  form.addEventListener("submit", (event) => event.preventDefault());
  fillForm();
}

function fieldOf(j) {
  const column = columns[j];
  const id = `field-${j}`;
  const input = column.words ? wordInput(id, column) : make("input", { id, ...kindOf(column) });
  const text = hintOf(column);
  const hint = make("small", { id: `hint-${j}` }, text);
  input.dataset.column = j;
  input.setAttribute("aria-describedby", hint.id);
  input.addEventListener("input", () => {
    const number = column.isDate ? daysOf : Number;
    state.row[j] = input.value === "" ? NaN : number(input.value);
    writeAnswer(true);
  });
  inputs[j] = { input, hint, text };
  const made = field(column.name, input);
  made.append(hint);
  return made;
}

const NUMBER_INPUT = { type: "number", step: "any", inputmode: "decimal" };

function kindOf({ isDate, isWhole }) {
  if (!isDate) return NUMBER_INPUT;
  return isWhole ? { type: "date" } : { type: "datetime-local", step: "any" };
}

function wordInput(id, { words, takesOthers, takesMissing }) {
  const options = words.map((word, k) => make("option", { value: k }, word));
  if (takesOthers) options.push(make("option", { value: -1 }, "(another word)"));
  if (takesMissing) options.push(make("option", { value: "" }, "(missing)"));
  return make("select", { id }, ...options);
}

function hintOf({ words, low, high, takesMissing, isDate }) {
  if (words) return plural(words.length, "word");
  const text = isDate ? dateText : shown;
  const range = low === null ? "no values seen" : `${text(low)} to ${text(high)}`;
  return takesMissing ? `${range}, may be empty` : range;
}

function fillForm() {
  for (const j of used) {
    const value = state.row[j];
    const { isDate, isWhole } = columns[j];
    const text = isDate ? dateValue(value, !isWhole) : String(value);
    inputs[j].input.value = Number.isNaN(value) ? "" : text;
  }
}

// Says at each field what is wrong with it; returns whether all can be used.
function checkForm() {
  const bad = used.filter((j) => {
    const column = columns[j];
    const { input, hint, text } = inputs[j];
    const value = state.row[j];
    const isEmpty = Number.isNaN(value);
    const isBad =
      input.validity.badInput ||
      (isEmpty && !column.takesMissing) ||
      (!isEmpty && !Number.isFinite(value)) ||
      (column.words !== null && value < 0 && !column.takesOthers);
    const isFar = !column.words && (value < column.low || value > column.high);
    input.setAttribute("aria-invalid", isBad);
    hint.className = isBad ? "bad" : isFar ? "far" : "";
    const needs = `needs a ${column.words ? "word" : column.isDate ? "date" : "number"}`;
    hint.textContent = isBad ? `${needs}: ${text}` : isFar ? `outside ${text}` : text;
    return isBad;
  });
  return !bad.length;
}

// Writes the prediction; it is spoken if the reader has changed the row.
function writeAnswer(isSpoken = false) {
  const holder = byId("answer");
  const functions = checkForm() ? model.functionsAt(state.row) : null;
  const f = functions && model.outputs(functions, stage());
  if (!f || f.some((value) => !Number.isFinite(value))) {
    delete holder.dataset.values;
    byId("spoken").textContent = "A field has no value that the model can use.";
    holder.replaceChildren(
      make("p", { class: "result" }, "–"),
      make("p", { class: "note" }, byId("spoken").textContent),
    );
    byId("nearest").replaceChildren();
    byId("nearest-note").textContent = "";
    byId("is-far").hidden = true;
    return;
  }
  const answer = model.answer(f);
  const values = answer.numbers ?? answer.probabilities ?? f;
  holder.dataset.values = JSON.stringify([...values]);
  const parts = model.isClasses ? classParts(f, answer) : numberParts(answer);
  holder.replaceChildren(...parts, ...truthParts());
  const result = holder.querySelector(".result").textContent;
  if (isSpoken) byId("spoken").textContent = `Prediction: ${result}`;
  writeNearest(functions, answer);
}

// Returns the true target, as long as the row is the one that the form started from.
function truthParts() {
  const i = +byId("start").value - 1;
  if (i < 0 || rows[i].some((value, j) => !Object.is(value, state.row[j]))) return [];
  const truth = targetText(model.names.map((_, t) => targetOf(i, t)));
  return [make("p", { class: "note" }, `True: ${truth}`)];
}

function numberParts({ numbers }) {
  if (numbers.length === 1) return resultParts(model.names[0], shown(numbers[0], 5));
  const lines = numbers.map((value, t) => [model.names[t], shown(value, 5)]);
  const t = state.output;
  return [
    ...resultParts(model.names[t], shown(numbers[t], 5)),
    table("Prediction of each output", ["Output", "Value"], lines, ["", "number"]),
  ];
}

function resultParts(label, text) {
  return [make("p", { class: "label" }, label), make("p", { class: "result" }, text)];
}

function classParts(f, { place, probabilities }) {
  byId("answer").dataset.place = place;
  const values = model.names.map((_, t) => model.quantity(f, t));
  const ranked = values.map((_, t) => t).sort((a, b) => values[b] - values[a]);
  const items = ranked.slice(0, 8).map((t) => ({
    name: model.names[t],
    value: values[t],
    text: model.quantityText(values[t]),
  }));
  const list = probabilities
    ? bars("Probabilities of the classes", ["Class", "Probability"], items)
    : bars("Decision values; the largest wins", ["Class", "Decision value"], items);
  return [...resultParts(held.outputs.target, model.names[place]), list];
}

// ---- support points --------------------------------------------------------------

function writeNearest(functions, { place }) {
  const now = stage();
  const { points } = held;
  // Contributions to the predicted class, or to the output that the reader has chosen.
  const t = model.nOutputs === 1 ? 0 : (place ?? state.output);
  const active = Array.from({ length: now.nKnown }, (_, j) => j).filter(
    (j) => points.isCentered[j] && weights(now, j).some((weight) => weight !== 0),
  );
  const nearest = active.sort((a, b) => functions[b] - functions[a]).slice(0, NEAREST);
  byId("nearest-note").textContent = nearest.length
    ? nearestText(now, t)
    : "A model of this size has no support points.";
  byId("is-far").hidden = !(isLocal && nearest.length && functions[nearest[0]] < FAR);
  if (!nearest.length) {
    byId("nearest").replaceChildren();
    return;
  }
  const kept = shownPlaces();
  const lines = nearest.map((j) => [
    points.labels[j],
    shown(functions[j], 3),
    shown(functions[j] * weights(now, j)[t], 3),
    ...(points.targets ? [targetText([pointTarget(j, t)])] : []),
    ...kept.map((k) => valueText(pointColumn(k), pointValue(j, k))),
  ]);
  const heads = ["Point", "Kernel", "Contribution", ...(points.targets ? ["Target"] : [])];
  heads.push(...kept.map((k) => points.names[k]));
  const made = table("Nearest support points", heads, lines, numberKinds(heads));
  byId("nearest").replaceChildren(made);
}

// Kernels of distances are 1 at a point and vanish far from it.
const isLocal = held.formula.groups.every(
  ({ kernel }) => kernel?.type === "Comparison" && kernel.quantity.endsWith("distance"),
);
const FAR = 0.01;

function nearestText(now, t) {
  const { points } = held;
  let to = model.nOutputs > 1 ? ` to ${model.names[t]}` : "";
  if (model.isClasses && model.nOutputs === 1) to = ` (positive: for ${model.names[1]})`;
  const isPrepared = points.kind === "prepared";
  const what = isPrepared ? " Columns are those that the model sees, after the preparation." : "";
  return (
    "Points whose kernel value with this row is largest. Kernel value times weight is the " +
    `contribution${to}; all contributions and the intercept, ${shown(now.intercept[t], 3)}, ` +
    `make up the value.${what}`
  );
}

const weights = ({ coef, nKnown }, j) =>
  Array.from({ length: model.nOutputs }, (_, t) => coef[t * nKnown + j]);

// Columns of the points that the table shows: the most important ones.
function shownPlaces() {
  const { kind, places, names } = held.points;
  if (kind !== "raw") return names.map((_, k) => k).slice(0, 4);
  const known = state.ranked.map((j) => places.indexOf(j)).filter((k) => k >= 0);
  return known.slice(0, 4);
}

// Columns of points have too few digits for times of the day.
function pointColumn(k) {
  const { kind, places, words } = held.points;
  const isDate = kind === "raw" && columns[places[k]].isDate;
  return { words: words[k], isDate, isWhole: true };
}

// Points have the six digits that the table shows.
const pointValue = (j, k) => +held.points.values[j * held.points.names.length + k].toPrecision(6);

function pointTarget(j, t) {
  const { targets } = held.points;
  return targets[j * targets.shape[1] + (model.isClasses ? 0 : t)];
}
