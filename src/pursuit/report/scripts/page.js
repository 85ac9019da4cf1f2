// What the sections share: the data of the page, what the reader has chosen, elements.
//
// Everything is inserted as text, never as HTML: names may hold anything.

const held = decode(JSON.parse(byId("held").textContent), base64Array);
const model = new SizedModel(held);
const { columns } = held;
const nColumns = columns.length;
const used = columns.map((_, j) => j).filter((j) => columns[j].isUsed);

const nRows = held.rows.X.shape[0];
const rowAt = (i) => held.rows.X.slice(i * nColumns, (i + 1) * nColumns);
const rows = Array.from({ length: nRows }, (_, i) => rowAt(i));
const functionsOfRows = rows.map((row) => model.functionsAt(row));
const targetOf = (i, t = 0) => held.rows.targets[i * held.rows.targets.shape[1] + t];
const typicalRow = () => Float64Array.from(columns, (column) => column.typical);

const state = {
  stage: held.chosen, // place among the sizes
  output: model.isClasses && model.names.length === 2 ? 1 : 0, // or class
  column: 0, // whose dependence is drawn
  row: typicalRow(), // of the form
  ranked: used, // columns from the most to the least important
};
const stage = () => model.stages[state.stage];

// ---- texts -----------------------------------------------------------------------

const plural = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;
const bytes = (n) => (n < 1024 ? `${n} bytes` : `${shown(n / 1024, 3)} KiB`);
const errorText = (value) => (model.isClasses ? percent(value) : shown(value));
// Within a sentence.
const errorName = held.curve.name[0].toLowerCase() + held.curve.name.slice(1);
const judgedRows =
  `${plural(held.rows.n, "row")} that the fit has ` + (held.isHeldOut ? "not seen" : "seen");

// Returns a value of a column as text; words of a column are null if it holds numbers.
function valueText({ words, isDate, isWhole }, value) {
  if (Number.isNaN(value)) return "missing";
  if (isDate) return dateText(value, !isWhole);
  if (!words) return shown(value, 6);
  return value < 0 ? "another word" : words[value];
}

function targetText(numbers) {
  if (model.isClasses) return model.names[numbers[0]];
  return Array.from(numbers, (value) => shown(value)).join(", ");
}

// ---- elements --------------------------------------------------------------------

function byId(id) {
  return document.getElementById(id);
}

// Returns an element; attributes of null are left out, children are elements or text.
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

// Returns a table; the first cell of a row is its head. Kinds are classes of columns.
function table(caption, heads, lines, kinds = [], isTitled = false) {
  const cell = (tag, value, j, scope = null) =>
    make(tag, { class: kinds[j] || null, scope }, value);
  const head = make("tr", {}, ...heads.map((text, j) => cell("th", text, j, "col")));
  const body = lines.map(([first, ...others]) =>
    make(
      "tr",
      {},
      cell("th", first, 0, "row"),
      ...others.map((value, j) => cell("td", value, j + 1)),
    ),
  );
  return make(
    "table",
    {},
    make("caption", { class: isTitled ? null : "hidden" }, caption),
    make("thead", {}, head),
    make("tbody", {}, ...body),
  );
}

const numberKinds = (heads) => heads.map((_, j) => (j ? "number" : ""));

// Returns what may be wider than the screen, to be scrolled with keys too.
function scrolling(label, ...children) {
  const how = { class: "scroll", role: "region", "aria-label": label, tabindex: "0" };
  return make("div", how, ...children);
}

// Returns bars as a table, which a screen reader reads as one.
function bars(caption, heads, items) {
  const most = Math.max(...items.map((item) => Math.abs(item.value)));
  const lines = items.map(({ name, value, text }) => {
    const bar = make("span", { class: value < 0 ? "bar negative" : "bar" });
    bar.style.width = `${most > 0 ? (100 * Math.abs(value)) / most : 0}%`;
    return [name, make("span", { class: "track" }, bar), text];
  });
  const [first, last] = heads;
  const made = table(caption, [first, "", last], lines, ["", "bars", "number"]);
  made.className = "bar-table";
  made.querySelectorAll(".bars").forEach((cell) => cell.setAttribute("aria-hidden", "true"));
  return made;
}

function field(text, input) {
  return make("div", { class: "field" }, make("label", { for: input.id }, text), input);
}

function chooser(id, names, value, react) {
  const options = names.map((name, i) => make("option", { value: i }, name));
  const input = make("select", { id }, ...options);
  input.value = value;
  input.addEventListener("change", () => react(+input.value));
  return input;
}

// Returns the choice of an output or a class, which all sections share; null for one.
function outputChooser(id) {
  if (model.names.length < 2) return null;
  const input = chooser(id, model.names, state.output, (t) => {
    state.output = t;
    update();
  });
  input.classList.add("output-chooser");
  return field(model.isClasses ? "Class" : "Output", input);
}

// Fills the table below a chart if its reader has opened it, else when it is opened.
function tableBelow(holder, caption, heads, linesNow) {
  const details = holder.parentElement.querySelector("details.numbers");
  const fill = () => {
    if (!details.open) return;
    const made = table(caption, heads, linesNow(), numberKinds(heads));
    details.lastElementChild.replaceChildren(made);
  };
  details.ontoggle = fill;
  fill();
}
