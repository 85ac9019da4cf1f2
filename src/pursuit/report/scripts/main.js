// Writes the page, and again what depends on the size when the reader changes it.

function update() {
  writeSize();
  writeImportance();
  if (!importance.isReady) return;
  document.querySelectorAll(".output-chooser").forEach((input) => {
    input.value = state.output;
  });
  drawDependence();
  writeAnswer();
  writeErrors();
}

writeHeader();
prepareSlider();
prepareErrors();
writeData();
writeSettings();
writeFile();
writeSize();
writeImportance();
prepareImportance();

let lastWidth = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === lastWidth) return;
  lastWidth = innerWidth;
  update();
});

// The model of the slider, for those who open the console: rows are arrays of numbers.
window.pursuitReport = {
  sizes: model.stages.map((each) => each.steps),
  rows: rows.map((row) => [...row]),
  curveRows: curveRows(), // places of the rows whose dependence is drawn
  moveTo,
  outputs(row) {
    const numbers = Float64Array.from(row, (value) => value ?? NaN);
    return [...model.outputs(model.functionsAt(numbers), stage())];
  },
};
