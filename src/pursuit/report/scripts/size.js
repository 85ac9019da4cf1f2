// Header, slider, and the error against the size.

const slider = byId("slider");
const stepsOf = (each) => each.steps ?? each.points;

function writeHeader() {
  const { chosen, names, isClasses } = model;
  const kind = isClasses ? `${names.length} classes` : "regression";
  byId("kicker").textContent = `Model report · ${held.estimator} · ${kind}`;
  const target = isClasses ? held.outputs.target : names.slice(0, 5).join("”, “");
  const verb = chosen.points === 1 ? "predicts" : "predict";
  const empty = model.stages[0];
  const baseline = chosen.points && !empty.points;
  byId("summary").textContent = [
    `${plural(chosen.points, "support point")} ${verb} “${target}” from`,
    `${plural(used.length, "column")}. ${held.curve.name}: ${errorText(chosen.error)} on`,
    judgedRows + (baseline ? `; a constant has ${errorText(empty.error)}.` : "."),
    held.isHeldOut ? "" : "Expect larger errors for new rows.",
  ].join(" ");
}

function prepareSlider() {
  slider.max = model.stages.length - 1;
  slider.disabled = model.stages.length < 2;
  slider.addEventListener("input", () => moveTo(+slider.value));
  byId("back").addEventListener("click", () => {
    moveTo(held.chosen);
    slider.focus();
  });
  const { steps, shown: kept } = held.path;
  const texts = ["Move the slider, or click into the chart: everything below follows."];
  if (model.stages.length < kept + 1) {
    texts.push(`Of larger sizes, the slider has some (${model.stages.length} in all).`);
  }
  if (kept < steps) {
    texts.push(`The path goes on to ${steps} steps; this file holds the first ${kept}.`);
  }
  byId("size-note").textContent = texts.join(" ");
}

function moveTo(place) {
  state.stage = Math.max(0, Math.min(model.stages.length - 1, place));
  update();
}

function writeSize() {
  const now = stage();
  const isChosen = state.stage === held.chosen;
  slider.value = state.stage;
  const error = `${held.curve.name} ${errorText(now.error)}`;
  slider.setAttribute("aria-valuetext", `${plural(now.points, "support point")}, ${error}`);
  const output = byId("size-text");
  output.replaceChildren(
    make("strong", {}, String(now.points)),
    ` of ${model.largest.points} · error ${errorText(now.error)}`,
  );
  output.dataset.points = now.points;
  output.dataset.error = now.error;
  byId("back").hidden = isChosen;
  byId("is-chosen").hidden = !isChosen;
  writeFigures(now);
  drawErrors(now);
}

function writeFigures(now) {
  const items = [["Support points", now.points.toLocaleString("en")]];
  for (const [name, value, kind] of now.figures) {
    const isList = Array.isArray(value);
    const one = isList ? value[state.output] : value;
    const of = isList && value.length > 1 ? ` of ${model.names[state.output]}` : "";
    items.push([name + of, kind === "share" ? percent(one) : shown(one)]);
  }
  items.push(["Numbers in the model", now.numbers.toLocaleString("en")]);
  items.push(["As float32 or float64", `${bytes(4 * now.numbers)}, ${bytes(8 * now.numbers)}`]);
  const parts = items.map(([name, value]) =>
    make("div", {}, make("dt", {}, name), make("dd", {}, value)),
  );
  byId("figures").replaceChildren(...parts);
}

function drawErrors(now) {
  const { sizes, errors, name } = held.curve;
  const most = sizes[sizes.length - 1];
  const [low, high] = extent(errors);
  const isLogX = most > 60;
  const isLogY = low > 0 && high / low > 30;
  const [below, above] = roomy(errors);
  const holder = byId("curve");
  const last = errors[errors.length - 1];
  const drawn = frame(holder, {
    x: (a, b) =>
      isLogX
        ? logScale(0, most, a, b, 1, b / 70)
        : linearScale(0, Math.max(1, most), a, b, Math.min(most, b / 70)),
    y: (a, b) =>
      isLogY
        ? logScale(low / 1.1, high * 1.1, a, b)
        : linearScale(low >= 0 ? Math.max(0, below) : below, above, a, b),
    xName: "steps of the path",
    yName: name,
    yText: errorText,
    label:
      `${name} against size: ${errorText(errors[0])} at size ${sizes[0]}, ` +
      `${errorText(last)} at size ${most}, lowest ${errorText(low)}. ` +
      `Now ${plural(now.points, "point")} with ${errorText(now.error)}.`,
  });
  markErrors(drawn, now);
  byId("curve-caption").textContent = [
    `${name} on ${judgedRows}. Ring and dotted line: the size that the fit chose. Orange dot:`,
    "the model that this page runs now.",
    isLogX ? "Sizes on a logarithmic axis." : "",
    isLogY ? "Errors on a logarithmic axis." : "",
  ].join(" ");
  const lines = () => sizes.map((size, i) => [String(size), errorText(errors[i])]);
  tableBelow(holder, `${name} at each size`, ["Steps", name], lines);
}

function markErrors({ picture: made, xs, ys, top, bottom }, now) {
  const { sizes, errors } = held.curve;
  const { chosen } = model;
  const at = xs(stepsOf(chosen));
  made.append(
    svg("line", { x1: at, x2: at, y1: top, y2: bottom, class: "chosen" }),
    curve(xs, ys, sizes.map((size, i) => [size, errors[i]]), "line"),
  );
  if (sizes.length < 80) {
    sizes.forEach((size, i) => {
      const title = `${plural(size, "step")}: ${errorText(errors[i])}`;
      made.append(dot(xs(size), ys(errors[i]), 2.2, "small", title));
    });
  }
  const title = (each, word) => `${word}: ${plural(each.points, "point")}`;
  made.append(
    dot(at, ys(chosen.error), 7, "ring", title(chosen, "chosen")),
    dot(xs(stepsOf(now)), ys(now.error), 5, "mark", title(now, "now")),
  );
  followPointer(made, xs);
}

// Lets a pointer that is pressed over the curve move the slider.
function followPointer(made, xs) {
  const follow = (event) => {
    const place = event.clientX - made.getBoundingClientRect().left;
    const gaps = model.stages.map((each) => Math.abs(xs(stepsOf(each)) - place));
    const nearest = gaps.indexOf(Math.min(...gaps));
    if (nearest !== state.stage) moveTo(nearest);
  };
  made.addEventListener("pointerdown", follow);
  made.addEventListener("pointermove", (event) => {
    if (event.buttons & 1) follow(event);
  });
}
