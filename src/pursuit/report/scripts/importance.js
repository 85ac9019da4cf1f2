// The importance of columns: by how much the error rises if a column is shuffled, and
// the shares that the model itself names.

// Limits of one measurement: terms of sums, and values that are kept for other sizes.
const MOST_TERMS = 2e8;
const MOST_KEPT = 4e6;
// Columns in the list, until its reader wants all.
const FEW = 12;

const importance = {
  measure: nRows ? "shuffling" : "gradients",
  isReady: false,
  shows: FEW,
  nShuffled: 0, // rows that are shuffled for each column, perhaps several times
  functions: [], // for each column, the functions at these rows
};

function prepareImportance() {
  if (held.shares && nRows) {
    byId("importance-controls").append(
      make(
        "fieldset",
        { class: "choices" },
        make("legend", { class: "hidden" }, "Measure"),
        measureChoice("shuffling", "By shuffling a column"),
        measureChoice("gradients", "By gradients of the model"),
      ),
    );
  }
  const each = Math.max(1, nColumns * model.nFunctions);
  const most = Math.min(MOST_KEPT / each, MOST_TERMS / (each * nColumns), 4 * nRows);
  importance.nShuffled = Math.max(Math.min(nRows, 20), Math.floor(most));
  measureFrom(0);
}

function measureChoice(value, text) {
  const input = make("input", { type: "radio", name: "measure", value });
  input.checked = value === importance.measure;
  input.addEventListener("change", () => {
    importance.measure = value;
    writeImportance();
  });
  return make("label", {}, input, text);
}

// Shuffles columns from the k-th that is used, and lets the page answer in between.
function measureFrom(k) {
  const until = performance.now() + 30;
  while (k < used.length && nRows && performance.now() < until) shuffle(used[k++]);
  if (k < used.length && nRows) setTimeout(() => measureFrom(k), 0);
  else finishImportance();
}

function shuffle(j) {
  const rounds = Array.from({ length: Math.ceil(importance.nShuffled / nRows) }, (_, round) =>
    shuffledPlaces(nRows, 1 + j * 7919 + round * 104729),
  );
  importance.functions[j] = Array.from({ length: importance.nShuffled }, (_, k) => {
    const row = rows[k % nRows].slice();
    row[j] = rows[rounds[Math.floor(k / nRows)][k % nRows]][j];
    return model.functionsAt(row);
  });
}

// Returns the places 0, 1, ... in a random order, the same for the same seed.
function shuffledPlaces(n, seed) {
  const places = Array.from({ length: n }, (_, i) => i);
  let x = seed >>> 0;
  for (let i = n - 1; i > 0; i--) {
    x = (Math.imul(x, 1664525) + 1013904223) >>> 0;
    const j = Math.floor((x / 2 ** 32) * (i + 1));
    [places[i], places[j]] = [places[j], places[i]];
  }
  return places;
}

// Orders the columns of the other sections, once importances are known.
function finishImportance() {
  importance.isReady = true;
  const shares = held.shares ?? columns.map(() => 0);
  const rises = nRows ? risesByShuffling() : shares;
  state.ranked = [...used].sort((a, b) => rises[b] - rises[a] || shares[b] - shares[a]);
  state.column = state.ranked[0] ?? 0;
  prepareDependence();
  prepareForm();
  update();
  document.body.dataset.ready = "";
}

function risesByShuffling() {
  const now = stage();
  const error = (functions, k) => errorOf(model.outputs(functions, now), k % nRows);
  const count = importance.nShuffled;
  const before = Array.from({ length: count }, (_, k) => error(functionsOfRows[k % nRows], k));
  const base = meanError(before);
  return columns.map((column, j) =>
    column.isUsed ? meanError(importance.functions[j].map(error)) - base : 0,
  );
}

// Several outputs count in units of their variances, one in its own unit.
const targetScales = model.names.map((_, t) => {
  if (model.isClasses || model.names.length === 1 || !nRows) return 1;
  const values = rows.map((_, i) => targetOf(i, t));
  const mean = values.reduce((a, b) => a + b, 0) / nRows;
  return values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / nRows || 1;
});

// The error of a row: 0 or 1 for classes, else the mean square over outputs.
function errorOf(f, i) {
  const { place, numbers } = model.answer(f);
  if (model.isClasses) return place === targetOf(i) ? 0 : 1;
  const squares = numbers.map((value, t) => (value - targetOf(i, t)) ** 2 / targetScales[t]);
  return squares.reduce((a, b) => a + b, 0) / numbers.length;
}

function meanError(errors) {
  const mean = errors.reduce((a, b) => a + b, 0) / errors.length;
  return model.isClasses || model.names.length > 1 ? mean : Math.sqrt(mean);
}

function writeImportance() {
  const holder = byId("importance-bars");
  const isShuffling = importance.measure === "shuffling";
  byId("importance-note").textContent = isShuffling
    ? `How much the ${errorName} rises if a column is shuffled among the ` +
      `${plural(nRows, "row")} of this page, at the size of the slider.`
    : "The share of a column in how much the chosen model varies over training rows: " +
      "feature_importances_, summed for columns that come from one raw column. It does not " +
      "follow the slider.";
  if (isShuffling && !importance.isReady) {
    holder.replaceChildren(make("p", { class: "note" }, "Shuffling columns …"));
    return;
  }
  if (!isShuffling && !held.shares) {
    byId("importance-note").textContent =
      "This page holds no rows to shuffle, and the model has no importances of its own.";
    return;
  }
  const values = isShuffling ? risesByShuffling() : held.shares;
  const ranked = [...used].sort((a, b) => values[b] - values[a]);
  const items = ranked.slice(0, importance.shows).map((j) => ({
    name: columns[j].name,
    value: values[j],
    text: isShuffling ? riseText(values[j]) : percent(values[j]),
  }));
  const rise = model.isClasses ? "Rise, % points" : "Rise";
  const heads = ["Column", isShuffling ? rise : "Share"];
  holder.replaceChildren(bars("Importance of the columns", heads, items));
  if (ranked.length > items.length) holder.append(showAll(ranked.length));
}

function riseText(value) {
  const text = shown(model.isClasses ? 100 * value : value, 3);
  return value > 0 ? `+${text}` : text;
}

function showAll(n) {
  const button = make("button", { type: "button", class: "after" }, `Show all ${n} columns`);
  button.addEventListener("click", () => {
    importance.shows = n;
    writeImportance();
  });
  return button;
}
