// Computes what a formula of pursuit says, in double precision and without other code.
//
//   const model = new Model(decode(tree, arrayOf));
//   model.predict(row)        a number, a list of numbers, or a label
//   model.probabilities(row)  of model.labels, in order; null if the model has none
//   model.values(row)         outputs before the answer: decision values or numbers
//   model.inputs              columns of a row: name, categories, is_used
//
// A row is an array in the order of the inputs, or an object by their names. null,
// undefined, NaN and "" are missing values. Words are strings; numbers may be strings
// that spell one.

// Returns the formula for its tree of JSON. arrayOf turns what stands for an array into
// a typed array with a shape.
function decode(tree, arrayOf) {
  if (Array.isArray(tree)) return tree.map((part) => decode(part, arrayOf));
  if (tree === null || typeof tree !== "object") return tree;
  if ("array" in tree || "base64" in tree) return arrayOf(tree);
  if ("float" in tree && !("type" in tree)) {
    return { nan: NaN, inf: Infinity, "-inf": -Infinity }[tree.float];
  }
  const entries = Object.entries(tree);
  return Object.fromEntries(entries.map(([key, part]) => [key, decode(part, arrayOf)]));
}

// Returns an array that is written as base64 within the tree.
function base64Array({ base64, dtype, shape }) {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  return typedArray(bytes.buffer, 0, dtype, shape);
}

// Returns numbers that lie in a buffer, which is little-endian as all browsers are.
function typedArray(buffer, offset, dtype, shape) {
  const kinds = {
    "<f8": Float64Array,
    "<f4": Float32Array,
    "<i8": BigInt64Array,
    "<i4": Int32Array,
    "|u1": Uint8Array,
    "|b1": Uint8Array,
  };
  const length = shape.reduce((product, n) => product * n, 1);
  let array = new kinds[dtype](buffer, offset, length);
  if (dtype === "<i8") array = Float64Array.from(array, Number);
  array.shape = shape;
  return array;
}

class Model {
  constructor(formula) {
    this.formula = formula;
    this.inputs = formula.inputs;
    this.labels = formula.answer.labels;
    this.codes = formula.inputs.map(
      ({ categories }) => categories && new Map(categories.map((word, i) => [word, i])),
    );
  }

  predict(row) {
    return this.answer(this.values(row)).prediction;
  }

  probabilities(row) {
    return this.answer(this.values(row)).probabilities;
  }

  // Outputs f = coef v + intercept. Other coefficients, as of another size on the path,
  // may be given: a row for each output, of which the first nFunctions numbers count.
  values(row, coef, intercept, nFunctions) {
    const n = nFunctions ?? (coef ? coef.length / intercept.length : Infinity);
    return this.combine(this.functionValues(this.prepare(row), n), coef, intercept);
  }

  // The row that the functions see, with words coded and all steps taken.
  prepare(row) {
    return applySteps(this.formula.steps, this.coded(row));
  }

  // Values of the functions, or of the first n, at a prepared row.
  functionValues(prepared, n = Infinity) {
    const total = this.formula.groups.reduce((sum, g) => sum + groupSize(g), 0);
    const values = new Float64Array(Math.min(n, total));
    let first = 0;
    for (const group of this.formula.groups) {
      const size = Math.min(groupSize(group), values.length - first);
      if (size > 0) fillGroup(group, prepared, values.subarray(first, first + size));
      first += groupSize(group);
    }
    return values;
  }

  combine(v, coef = this.formula.coef, intercept = this.formula.intercept) {
    const stride = coef.length / intercept.length;
    const n = Math.min(v.length, stride);
    return numbers(intercept.length, (output) => {
      let sum = 0;
      for (let i = 0; i < n; i++) sum += coef[output * stride + i] * v[i];
      return sum + intercept[output];
    });
  }

  // What the outputs mean: { prediction, probabilities }.
  answer(f) {
    if (f.some(Number.isNaN)) {
      throw new Error(
        "The row has no answer: it misses a value that the model needs, or holds a " +
          "category that it does not know.",
      );
    }
    const { kind, link, labels, is_single: isSingle, factor = 1 } = this.formula.answer;
    if (kind === "numbers") {
      const answers = Array.from(f, link === "exp" ? Math.exp : (x) => x);
      return { prediction: isSingle ? answers[0] : answers, probabilities: null };
    }
    const winner = f.length === 1 ? Number(f[0] > 0) : f.indexOf(Math.max(...f));
    if (link === "identity") return { prediction: labels[winner], probabilities: null };
    const scaled = Array.from(f, (value) => factor * value);
    return { prediction: labels[winner], probabilities: classProbabilities(link, scaled) };
  }

  // The row as numbers; words become their codes, -1 if unknown.
  coded(row) {
    const isList = Array.isArray(row) || ArrayBuffer.isView(row);
    if (isList && row.length !== this.inputs.length) {
      const wanted = this.inputs.length;
      throw new Error(`The row has ${row.length} values instead of ${wanted}.`);
    }
    return numbers(this.inputs.length, (i) => {
      const input = this.inputs[i];
      if (!input.is_used) return NaN;
      if (!isList && !Object.hasOwn(row, input.name)) {
        throw new Error(
          `The row lacks ${JSON.stringify(input.name)}; null is a missing value.`,
        );
      }
      return this.code(i, isList ? row[i] : row[input.name]);
    });
  }

  code(i, value) {
    if (typeof value === "number" && this.codes[i] === null) return value;
    const known = this.codes[i];
    if (known?.has(value)) return known.get(value);
    if (value === null || value === undefined || value === "") return NaN;
    if (Number.isNaN(value)) return NaN;
    if (known) return -1;
    const isBlank = typeof value === "object" || String(value).trim() === "";
    const number = isBlank ? NaN : Number(value);
    if (Number.isNaN(number)) {
      const name = JSON.stringify(this.inputs[i].name);
      throw new Error(`${name} must be a number, not ${JSON.stringify(value)}.`);
    }
    return number;
  }
}

// ---- preparation -----------------------------------------------------------------

function applySteps(steps, row) {
  return steps.reduce((x, step) => STEPS[step.type](step, x), row);
}

// Returns length numbers; quicker than Float64Array.from and map.
function numbers(length, numberAt) {
  const out = new Float64Array(length);
  for (let j = 0; j < length; j++) out[j] = numberAt(j);
  return out;
}

const STEPS = {
  Affine: ({ scale, shift }, x) => numbers(x.length, (j) => x[j] * scale[j] + shift[j]),
  Linear: ({ matrix }, x) => product(x, matrix),
  Clip: ({ low, high }, x) =>
    numbers(x.length, (j) => Math.min(Math.max(x[j], low[j]), high[j])),
  Take: ({ columns }, x) => numbers(columns.length, (j) => x[columns[j]]),
  Fill: ({ values, missing }, x) =>
    numbers(x.length, (j) => (isSame(x[j], missing) ? values[j] : x[j])),
  Flag: ({ missing }, x) => numbers(x.length, (j) => Number(isSame(x[j], missing))),
  OneHot({ categories, places, unknown, n_outputs: length }, x) {
    const out = new Float64Array(length);
    for (let j = 0; j < x.length; j++) {
      const place = lookUp(x[j], categories[j], places[j], unknown[j]);
      if (place === -2) return out.fill(NaN);
      if (place >= 0) out[place] = 1;
    }
    return out;
  },
  Encode: ({ categories, codes, unknown }, x) =>
    numbers(x.length, (j) => lookUp(x[j], categories[j], codes[j], unknown[j])),
  Power: ({ powers, method }, x) =>
    numbers(x.length, (j) => {
      if (method === "box-cox") return power(Math.log(x[j]), powers[j]);
      if (x[j] < 0) return -power(Math.log1p(-x[j]), 2 - powers[j]);
      return power(Math.log1p(x[j]), powers[j]);
    }),
  Quantiles: ({ quantiles, references, is_normal: isNormal }, x) =>
    numbers(x.length, (j) => {
      const quantile = (i) => quantiles[i * x.length + j];
      const share = shareBelow(x[j], quantile, references, isNormal);
      if (!isNormal) return share;
      return Math.min(Math.max(normalQuantile(share), LOWEST), HIGHEST);
    }),
  Branches({ branches }, x) {
    const parts = branches.map((steps) => applySteps(steps, x));
    const out = new Float64Array(parts.reduce((sum, part) => sum + part.length, 0));
    let first = 0;
    for (const part of parts) {
      out.set(part, first);
      first += part.length;
    }
    return out;
  },
};

// NaN is the same as NaN.
function isSame(a, b) {
  return a === b || (Number.isNaN(a) && Number.isNaN(b));
}

function lookUp(value, known, results, other) {
  const place = known.findIndex((category) => isSame(value, category));
  return place < 0 ? other : results[place];
}

// (exp(λ log) - 1) / λ, the logarithm itself for λ = 0.
function power(log, lambda) {
  return Math.abs(lambda) < Number.EPSILON ? log : Math.expm1(lambda * log) / lambda;
}

function product(x, matrix) {
  const width = matrix.shape[1];
  const out = new Float64Array(width);
  for (let j = 0; j < x.length; j++) {
    for (let k = 0; k < width; k++) out[k] += x[j] * matrix[j * width + k];
  }
  return out;
}

// The share of the training rows below a value: the mean of the interpolations from
// below and from above, which differ where quantiles are equal.
function shareBelow(value, quantile, references, isNormal) {
  const last = references.length - 1;
  const [lowest, highest] = [quantile(0), quantile(last)];
  if (Number.isNaN(value)) return NaN;
  if (isNormal ? value - 1e-7 < lowest : value === lowest) return 0;
  if (isNormal ? value + 1e-7 > highest : value === highest) return 1;
  if (value < lowest) return references[0];
  if (value > highest) return references[last];
  let above = 0; // the last quantile that is not larger
  for (let low = 0, high = last; low <= high; ) {
    const middle = (low + high) >> 1;
    if (quantile(middle) <= value) low = (above = middle) + 1;
    else high = middle - 1;
  }
  if (quantile(above) !== value) {
    const gap = quantile(above + 1) - quantile(above);
    const step = (value - quantile(above)) / gap;
    return references[above] + step * (references[above + 1] - references[above]);
  }
  let below = above; // the first quantile that is equal
  while (below > 0 && quantile(below - 1) === value) below--;
  return 0.5 * (references[below] + references[above]);
}

// scikit-learn cuts normal quantiles here.
const LOWEST = -5.199337582605575;
const HIGHEST = 5.19933758270342;

// The quantile of the normal law: Wichura's algorithm AS 241 (1988), 16 digits.
function normalQuantile(share) {
  const q = share - 0.5;
  if (Math.abs(q) <= 0.425) {
    const r = 0.180625 - q * q;
    return (q * polynomial(r, CENTER[0])) / polynomial(r, CENTER[1]);
  }
  const r = Math.sqrt(-Math.log(q < 0 ? share : 1 - share));
  const [shift, above, below] = r <= 5 ? [1.6, ...MIDDLE] : [5, ...TAIL];
  if (r === Infinity) return q < 0 ? -Infinity : Infinity;
  return (Math.sign(q) * polynomial(r - shift, above)) / polynomial(r - shift, below);
}

function polynomial(x, coefficients) {
  return coefficients.reduceRight((sum, c) => sum * x + c, 0);
}

const CENTER = [
  [
    3.387132872796366608, 133.14166789178437745, 1971.5909503065514427,
    13731.693765509461125, 45921.953931549871457, 67265.770927008700853,
    33430.575583588128105, 2509.0809287301226727,
  ],
  [
    1, 42.313330701600911252, 687.1870074920579083, 5394.1960214247511077,
    21213.794301586595867, 39307.89580009271061, 28729.085735721942674,
    5226.495278852854561,
  ],
];
const MIDDLE = [
  [
    1.42343711074968357734, 4.6303378461565452959, 5.7694972214606914055,
    3.64784832476320460504, 1.27045825245236838258, 0.24178072517745061177,
    0.0227238449892691845833, 7.7454501427834140764e-4,
  ],
  [
    1, 2.05319162663775882187, 1.6763848301838038494, 0.68976733498510000455,
    0.14810397642748007459, 0.0151986665636164571966, 5.475938084995344946e-4,
    1.05075007164441684324e-9,
  ],
];
const TAIL = [
  [
    6.6579046435011037772, 5.4637849111641143699, 1.7848265399172913358,
    0.29656057182850489123, 0.026532189526576123093, 0.0012426609473880784386,
    2.71155556874348757815e-5, 2.01033439929228813265e-7,
  ],
  [
    1, 0.59983220655588793769, 0.13692988092273580531, 0.0148753612908506148525,
    7.868691311456132591e-4, 1.8463183175100546818e-5, 1.4215117583164458887e-7,
    2.04426310338993978564e-15,
  ],
];

// ---- functions -------------------------------------------------------------------

function groupSize(group) {
  return group.type === "MonomialGroup" ? group.products.length : group.n_functions;
}

function fillGroup(group, x, out) {
  if (group.type === "KernelGroup") return fillKernel(group.kernel, x, out);
  for (let i = 0; i < out.length; i++) {
    out[i] = group.products[i].reduce((value, j) => value * x[j], 1);
  }
}

function fillKernel(node, x, out) {
  if (node.type === "Comparison") return fillComparison(node, x, out);
  if (node.operation === "constant") return out.fill(node.number);
  fillKernel(node.operands[0], x, out);
  if (node.operation === "scaled") {
    for (let i = 0; i < out.length; i++) out[i] *= node.number;
    return;
  }
  const second = new Float64Array(out.length);
  fillKernel(node.operands[1], x, second);
  const isSum = node.operation === "sum";
  for (let i = 0; i < out.length; i++) {
    out[i] = isSum ? out[i] + second[i] : out[i] * second[i];
  }
}

function fillComparison(leaf, x, out) {
  const y = mapped(leaf, x);
  const isCosine = leaf.quantity === "cosine";
  const length = isCosine ? Math.sqrt(y.reduce((sum, v) => sum + v * v, 0)) : 0;
  const quantity = QUANTITIES[leaf.quantity];
  const profile = PROFILES[leaf.profile];
  const { gamma } = leaf;
  for (let i = 0; i < out.length; i++) {
    const q = quantity(y, leaf.centers, i * y.length);
    const width = gamma[gamma.length === 1 ? 0 : i];
    out[i] = profile(length > 0 ? q / length : q, width, leaf);
  }
}

// (x - origin) A
function mapped({ origin, factor }, x) {
  const y = origin === null ? x : numbers(x.length, (j) => x[j] - origin[j]);
  if (factor === null) return y;
  if (factor.shape.length === 2) return product(y, factor);
  return numbers(y.length, (j) => y[j] * factor[j]);
}

// Of y and the center that starts at a place of the array of centers.
const QUANTITIES = {
  "squared-distance"(y, centers, start) {
    let sum = 0;
    for (let j = 0; j < y.length; j++) {
      const difference = y[j] - centers[start + j]; // a square by ** is slow
      sum += difference * difference;
    }
    return sum;
  },
  "absolute-distance"(y, centers, start) {
    let sum = 0;
    for (let j = 0; j < y.length; j++) sum += Math.abs(y[j] - centers[start + j]);
    return sum;
  },
  product(y, centers, start) {
    let sum = 0;
    for (let j = 0; j < y.length; j++) sum += y[j] * centers[start + j];
    return sum;
  },
  cosine: (y, centers, start) => QUANTITIES.product(y, centers, start),
};

const PROFILES = {
  exponential: (q, gamma) => Math.exp(-gamma * q),
  matern(q, gamma, { nu }) {
    const t = Math.sqrt(Math.min(2 * nu * gamma * q, 1e8));
    const square = nu === 2.5 ? (t * t) / 3 : 0;
    return Math.exp(-t) * (nu > 0.5 ? 1 + (t + square) : 1);
  },
  "inverse-multiquadric": (q, gamma) => 1 / Math.sqrt(1 + gamma * q),
  polynomial: (q, gamma, { coef0, degree }) => (gamma * q + coef0) ** degree,
  tanh: (q, gamma, { coef0 }) => Math.tanh(gamma * q + coef0),
  identity: (q) => q,
};

// ---- answer ----------------------------------------------------------------------

function classProbabilities(link, f) {
  if (link === "logistic") {
    return [-2 * f[0], 2 * f[0]].map((z) => 1 / (1 + Math.exp(-z)));
  }
  // Logarithms, so that far from every class the quotient is still defined.
  const log = link === "softmax" ? (value) => value : (value) => logLogistic(2 * value);
  const logs = Array.from(f, log);
  const largest = Math.max(...logs);
  const parts = logs.map((each) => Math.exp(each - largest));
  const sum = parts.reduce((total, part) => total + part, 0);
  return parts.map((part) => part / sum);
}

// log(1 / (1 + exp(-z)))
function logLogistic(z) {
  return -(Math.max(-z, 0) + Math.log1p(Math.exp(-Math.abs(z))));
}
