// The model of the page: its functions once for the whole path, its coefficients at each
// size. A row is an array of numbers; a word is its place among the words of its column,
// -1 for another word, NaN for a missing value.

class SizedModel {
  constructor(held) {
    this.whole = new Model(held.formula);
    this.order = held.order;
    // nKnown: how many of the path's functions a size can use.
    this.stages = held.stages.map((stage) => ({ ...stage, nKnown: stage.coef.shape[1] }));
    this.chosen = this.stages[held.chosen];
    this.largest = this.stages[this.stages.length - 1];
    this.names = held.outputs.names; // of the outputs, or of the classes
    this.nOutputs = held.formula.intercept.length;
    this.nFunctions = held.order.length;
    this.isClasses = held.task === "classes";
    this.hasProbabilities = this.isClasses && held.formula.answer.link !== "identity";
  }

  // Values of all functions of the path at a row, in the order of choice.
  functionsAt(row) {
    const values = this.whole.functionValues(applySteps(this.whole.formula.steps, row));
    const sorted = new Float64Array(values.length);
    for (let j = 0; j < values.length; j++) sorted[this.order[j]] = values[j];
    return sorted;
  }

  // Outputs f of a size for values of the functions.
  outputs(functions, { coef, intercept, nKnown }) {
    return this.whole.combine(functions.subarray(0, nKnown), coef, intercept);
  }

  // { numbers }, or { place, probabilities } of the classes.
  answer(f) {
    const { prediction, probabilities } = this.whole.answer(f);
    if (!this.isClasses) return { numbers: [prediction].flat() };
    return { place: this.whole.labels.indexOf(prediction), probabilities };
  }

  // What is drawn for an output or a class: a number, probability or decision value.
  quantity(f, t) {
    if (!this.isClasses) return this.answer(f).numbers[t];
    if (this.hasProbabilities) return this.answer(f).probabilities[t];
    if (this.nOutputs === 1) return t === 1 ? f[0] : -f[0];
    return f[t];
  }

  quantityName(t) {
    if (!this.isClasses) return this.names[t];
    const kind = this.hasProbabilities ? "Probability" : "Decision value";
    return `${kind} of ${this.names[t]}`;
  }

  quantityText(value) {
    return this.hasProbabilities ? percent(value) : shown(value);
  }
}
