// Reads a model file of pursuit; runtime.js must stand before it.
//
//   const { header, formula } = readModelFile(await file.arrayBuffer());
//   const model = new Model(formula);

// Returns the header of a model file and its formula, null if the model has none.
function readModelFile(buffer) {
  const magic = [0x89, 0x50, 0x55, 0x52, 0x53, 0x55, 0x49, 0x54]; // \x89PURSUIT
  const start = new Uint8Array(buffer, 0, Math.min(16, buffer.byteLength));
  if (start.length < 16 || magic.some((byte, i) => byte !== start[i])) {
    throw new Error("This is not a model file of pursuit.");
  }
  const numbers = new DataView(buffer);
  const version = numbers.getUint32(8, true);
  const length = numbers.getUint32(12, true);
  if (version !== 1) {
    throw new Error(`The file has format ${version}; this reader knows format 1.`);
  }
  const first = 16 + length; // of the arrays
  if (first > buffer.byteLength) throw new Error("The model file is cut off.");
  const text = new TextDecoder("utf-8", { fatal: true }).decode(
    new Uint8Array(buffer, 16, length),
  );
  const header = JSON.parse(text);
  if (first + header.bytes !== buffer.byteLength) {
    throw new Error("The model file is cut off, or something follows it.");
  }
  const arrayOf = ({ array }) => {
    const { dtype, shape, offset } = header.arrays[array];
    return typedArray(buffer, first + offset, dtype, shape);
  };
  return { header, formula: decode(header.formula, arrayOf) };
}
