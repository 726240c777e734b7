// Shared by every reward: arithmetic as in Python, errors, and the conversion of inputs to columns of numbers.

const copySign = (sign) => (sign < 0 || Object.is(sign, -0) ? -0.0 : 0.0);

function takeModulo(left, right) {
  const rest = left % right;
  if (rest === 0) return copySign(right);
  return (right < 0) !== (rest < 0) ? rest + right : rest;
}

function divideDown(left, right) {
  const rest = left % right;
  let quotient = (left - rest) / right;
  if (rest !== 0 && (right < 0) !== (rest < 0)) quotient -= 1;
  if (quotient === 0) return copySign(left / right);
  const whole = Math.floor(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}

// A Python integer has no negative zero: + 0 removes it.
const roundDown = (x) => Math.floor(x) + 0;
const roundUp = (x) => Math.ceil(x) + 0;

function roundHalfToEven(x) {
  const below = Math.floor(x);
  const rest = x - below;
  const up = rest > 0.5 || (rest === 0.5 && below % 2 !== 0);
  return (up ? below + 1 : below) + 0;
}

const findSign = (x) => (x > 0 ? 1 : x < 0 ? -1 : x === 0 ? 0 : x);

function raiseTo(base, exponent) {
  if (!(base > 0 || (base === 0 && exponent > 0)) || base === 1) return 1;
  return Math.pow(base, exponent);
}

// Errors, named as in plaudit.errors.

export class PlauditError extends Error { name = "PlauditError"; }
export class DefinitionError extends PlauditError { name = "DefinitionError"; }
export class UnknownParameter extends DefinitionError { name = "UnknownParameter"; }
export class TargetError extends PlauditError { name = "TargetError"; }
export class InputError extends PlauditError { name = "InputError"; }
export class MissingField extends InputError { name = "MissingField"; }
export class UnknownInput extends InputError { name = "UnknownInput"; }
export class WrongType extends InputError { name = "WrongType"; }
export class NotFinite extends InputError { name = "NotFinite"; }
export class OutOfRange extends InputError { name = "OutOfRange"; }
export class UnknownCategory extends InputError { name = "UnknownCategory"; }
export class OutsideDomain extends InputError { name = "OutsideDomain"; }
export class ShapeMismatch extends InputError { name = "ShapeMismatch"; }

function formatNumber(x) {
  if (!Number.isFinite(x)) return Number.isNaN(x) ? "nan" : x > 0 ? "inf" : "-inf";
  const [digits, power] = Math.abs(x).toExponential().split("e");
  const sign = x < 0 || Object.is(x, -0) ? "-" : "";
  const exponent = Number(power), all = digits.replace(".", "");
  if (exponent < -4 || exponent >= 16) {
    return `${sign}${digits}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
  }
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${all}`;
  return `${sign}${all.slice(0, exponent + 1).padEnd(exponent + 1, "0")}.${all.slice(exponent + 1) || "0"}`;
}

function formatString(text) {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escapes = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", [quote]: `\\${quote}` };
  return quote + Array.from(text, (each) => escapes[each] ?? each).join("") + quote;
}

function formatValue(value) {
  if (typeof value === "number") return formatNumber(value);
  if (typeof value === "string") return formatString(value);
  let text;
  try {
    text = String(value);
  } catch {
    text = typeof value;
  }
  return text.length > 40 ? `${text.slice(0, 40)}\u2026` : text;
}

const REWARD = formatString(name);
const startOf = (input, where = "") => `reward ${REWARD}, field ${formatString(input)}${where}: `;
const isObject = (value) => typeof value === "object" && value !== null;
const isTyped = (value) => ArrayBuffer.isView(value) && !(value instanceof DataView);
const isVector = (value) => Array.isArray(value) || isTyped(value);

function makeMissingError(input) {
  return new MissingField(`${startOf(input)}a value is null. Give a value, or declare the field with missing=.`);
}

function makeTypeError(input, value, wanted) {
  const kind = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
  return new WrongType(`${startOf(input)}${formatValue(value)} is a ${kind}; ${wanted} is needed.`);
}

function makeRangeError(input, field, value, where) {
  const start = startOf(input, where);
  if (field.kind === "category") {
    const values = field.labels.join(", ");
    return new UnknownCategory(`${start}${formatValue(value)} is not one of its values.\nIts values: ${values}.`);
  }
  if (Number.isNaN(value)) {
    return new NotFinite(`${start}the value is NaN. Fix it where it is computed; a reward never guesses.`);
  }
  if (field.allowed) return new OutOfRange(`${start}${formatNumber(value)} is not one of ${field.allowed}.`);
  if (!Number.isFinite(value)) {
    const advice = "Declare the field with infinite=True if it can happen.";
    return new NotFinite(`${start}${formatNumber(value)} is not allowed. ${advice}`);
  }
  const advice = "Fix the value, widen the range, or declare the field with outside='clip' or outside='allow'.";
  return new OutOfRange(`${start}${formatNumber(value)} is outside its declared range ${field.range}.\n${advice}`);
}

// Inputs by name.

const COLUMN_AT = new Map(COLUMNS.map((column, at) => [column.name, at]));
const SLOTS = COLUMNS.flatMap((column, at) => column.slots.map((slot) => ({ ...slot, column, at })));
const SLOT_NAMES = new Set(SLOTS.map((slot) => slot.name));
const DECLARED = new Set(COLUMNS.map((column) => column.key));
const STATES = new Map(CARRIED.map((state) => [state.name, state]));
const STARTS = COLUMNS.map((_, at) => COLUMNS.slice(0, at).reduce((sum, column) => sum + column.size, 0));
const WIDTH = COLUMNS.reduce((sum, column) => sum + column.size, 0);

function readRecord(record, value) {
  if (!isObject(value) || isVector(value)) {
    throw new WrongType(`reward ${REWARD}: \`prev\` and \`curr\` must be objects with fields, not ${formatValue(value)}`);
  }
  return Object.entries(value).map(([key, part]) => [`${record}.${key}`, part]);
}

function flatten(inputs) {
  if (!isObject(inputs) || isVector(inputs)) {
    throw new WrongType(`inputs must be an object from names to values, not ${formatValue(inputs)}`);
  }
  const flat = new Map();
  for (const [key, value] of Object.entries(inputs)) {
    if (value === undefined) continue;
    const parts = key === "prev" || key === "curr" ? readRecord(key, value) : [[key, value]];
    for (const [part, each] of parts) {
      if (each === undefined) continue;
      if (flat.has(part)) throw makeDuplicateError(part);
      flat.set(part, each);
    }
  }
  return flat;
}

function makeDuplicateError(input) {
  return new UnknownInput(`reward ${REWARD}: ${formatString(input)} is given twice, in two forms.`);
}

function adviseState(state) {
  return (
    `${formatString(state)} is a state that the reward carries. For the first step of an episode, pass ` +
    "reward.initial_state(); after each step, pass signal.state or the second result of step()."
  );
}

function makeAbsentError(slot, flat) {
  const given = [...flat.keys()].join(", ") || "nothing";
  if (slot.counter) {
    return new MissingField(
      `reward ${REWARD} needs ${formatString(slot.name)}, which was not given: its schedules depend on it. Pass the ` +
        `number of training steps so far; environment wrappers count it themselves.\nGiven: ${given}.`,
    );
  }
  const apart = slot.column.entries.some((entry) => flat.has(slot.column.name + entry));
  const shown = formatString(apart ? slot.name : slot.column.name);
  const advice = STATES.has(slot.column.key) ? `\n${adviseState(slot.column.key)}` : "";
  return new MissingField(`reward ${REWARD} needs ${shown}, which was not given.\nGiven: ${given}.${advice}`);
}

function collect(inputs) {
  const flat = flatten(inputs);
  for (const given of [...flat.keys()]) {
    if (!COLUMN_AT.has(given) && !SLOT_NAMES.has(given)) moveToOtherEnd(flat, given);
  }
  for (const slot of SLOTS) {
    const { column } = slot;
    if (slot.entry !== null && flat.has(slot.name) && flat.has(column.name)) throw makeDuplicateError(column.name);
    if (flat.has(slot.name) || flat.has(column.name)) continue;
    const standIn = findStandIn(slot, flat.get("terminal"));
    if (standIn === null) throw makeAbsentError(slot, flat);
    flat.set(slot.name, standIn);
  }
  return flat;
}

// A whole record may hold fields that are read only at the other end of a step; a plain field is its value after it.
// Declared fields that make no difference are left out.
function moveToOtherEnd(flat, given) {
  const dot = given.lastIndexOf(".");
  const record = given.slice(0, Math.max(dot, 0)), key = given.slice(dot + 1);
  if (UNUSED.includes(key.split("[")[0])) {
    flat.delete(given);
    return;
  }
  const start = `reward ${REWARD} does not read ${formatString(given)}`;
  if (STATES.has(key.split("[")[0]) && record !== "prev") {
    throw new UnknownInput(`${start}: it computes the state after a step itself.`);
  }
  if ((record !== "prev" && record !== "curr") || !DECLARED.has(key)) {
    throw new UnknownInput(`${start}.\nIt reads: ${[...COLUMN_AT.keys()].sort().join(", ")}.`);
  }
  const value = flat.get(given);
  flat.delete(given);
  if (record === "curr" && COLUMN_AT.has(key)) {
    if (flat.has(key)) throw makeDuplicateError(key);
    flat.set(key, value);
  }
}

function findStandIn(slot, terminal) {
  if (slot.column.missing !== null) return slot.column.missing;
  if (slot.name === "terminal") return false;
  const goesOn = terminal === undefined || (!isVector(terminal) && !terminal);
  return slot.terminal && goesOn ? slot.column.rest : null;
}

function convert(input, column, value) {
  if (value === null) {
    if (column.missing === null) throw makeMissingError(input);
    value = column.missing;
  }
  if (column.kind === "category") {
    if (typeof value !== "string") throw makeTypeError(input, value, `a string, one of ${column.labels.join(", ")}`);
    const at = column.labels.indexOf(value);
    if (at >= 0) return at;
    if (column.other === null) throw makeRangeError(input, column, value);
    return column.labels.indexOf(column.other);
  }
  if (column.kind === "flag") {
    if (value === true || value === 1 || value === 1n) return 1;
    if (value === false || value === 0 || value === 0n) return 0;
    throw makeTypeError(input, value, "a bool (true, false, 1 or 0)");
  }
  if (typeof value === "bigint") return convertInteger(input, value);
  if (typeof value !== "number") throw makeTypeError(input, value, "a number");
  return value;
}

function convertInteger(input, value) {
  if (value > 2n ** 53n || value < -(2n ** 53n)) {
    const shown = value < 10n ** 40n && value > -(10n ** 40n) ? value : "an integer";
    throw new OutOfRange(`${startOf(input)}${shown} is beyond 2**53, so a float cannot hold it exactly.`);
  }
  return Number(value);
}

function listEntries(start, shape, value, Kind = ShapeMismatch) {
  let level = [value];
  for (const size of shape) {
    const found = [];
    for (const part of level) {
      if (!isVector(part) || part.length !== size) {
        const wanted = shape.length === 1 ? `${shape[0]} values are` : `values of the shape (${shape.join(", ")}) are`;
        const given = isVector(value) ? `${value.length} values` : `a ${typeof value}`;
        throw new Kind(`${start}${wanted} needed, ${given} given.`);
      }
      for (const each of part) found.push(each);
    }
    level = found;
  }
  return level;
}

function listColumnEntries(column, value) {
  if (value === null && column.missing !== null) return Array(column.size).fill(null);
  return listEntries(startOf(column.name), column.shape, value);
}

function convertRow(inputs) {
  const flat = collect(inputs);
  const ended = SLOT_NAMES.has("terminal") && convert("terminal", COLUMNS[COLUMN_AT.get("terminal")], flat.get("terminal"));
  const row = new Float64Array(WIDTH);
  const vectors = new Map();
  for (const slot of SLOTS) {
    const { column } = slot;
    let value = flat.has(slot.name) ? flat.get(slot.name) : flat.get(column.name);
    if (slot.terminal && !ended) {
      value = column.rest; // inputs of terminal terms are not required before the end
    } else if (slot.entry !== null && !flat.has(slot.name)) {
      if (!vectors.has(column)) vectors.set(column, listColumnEntries(column, value));
      value = vectors.get(column)[slot.entry];
    }
    row[STARTS[slot.at] + (slot.entry ?? 0)] = convert(slot.name, column, value);
  }
  return row;
}

// Knobs.

const KNOBS = Object.keys(defaults);
const KNOB_AT = new Map(KNOBS.map((knob, at) => [knob, at]));
const VECTORS = new Map(KNOB_VECTORS);
const DEFAULTS = Float64Array.from(KNOBS, (knob) => Number(defaults[knob]));

function fillKnobs(knobs) {
  if (knobs === defaults || knobs === undefined || knobs === null) return DEFAULTS;
  if (!isObject(knobs) || isVector(knobs)) {
    throw new WrongType(`reward ${REWARD}: knobs must be an object from names to numbers, not ${formatValue(knobs)}`);
  }
  const filled = DEFAULTS.slice();
  for (const [knob, value] of Object.entries(knobs)) {
    if (VECTORS.has(knob)) {
      const { shape, entries } = VECTORS.get(knob);
      const values = listEntries(`${knob}: `, shape, value, DefinitionError);
      entries.forEach((entry, at) => setKnob(filled, knob + entry, values[at]));
    } else {
      setKnob(filled, knob, value);
    }
  }
  return filled;
}

function setKnob(filled, knob, value) {
  if (!KNOB_AT.has(knob)) {
    const known = [...new Set(KNOBS.map((each) => each.split("[")[0]))].join(", ");
    throw new UnknownParameter(`reward ${REWARD} has no parameter ${formatString(knob)}.\nIts parameters: ${known}.`);
  }
  const flag = typeof defaults[knob] === "boolean";
  if (flag ? typeof value !== "boolean" : typeof value !== "number" || !Number.isFinite(value)) {
    throw new DefinitionError(`${knob}=${formatValue(value)}: ${flag ? "a bool" : "a finite number"} is needed`);
  }
  filled[KNOB_AT.get(knob)] = Number(value);
}

function readOnBad(options) {
  const onBad = options?.onBad ?? ON_BAD;
  if (onBad !== "raise" && onBad !== "mask") {
    throw new TargetError(`onBad=${formatValue(onBad)} is not one of raise, mask.`);
  }
  return onBad;
}

// Why a row cannot be scored: the first condition that it fails.

function explain(row, p, where) {
  const { held, scores, states } = diagnose(row, p);
  let guard = GUARDS[held.indexOf(false)];
  if (guard === undefined) return new InputError(`reward ${REWARD}${where}: a number overflows`);
  if (guard.input !== null) return explainRange(SLOTS.find((slot) => slot.name === guard.input), row, where);
  if (guard.where === "total") {
    const culprit = TERMS.findIndex((term, at) => !Number.isFinite(scores[at]) && !ADJUSTMENTS.includes(term));
    if (culprit >= 0) {
      const owner = `term ${formatString(TERMS[culprit])} of `;
      guard = { ...guard, owner, why: "scores a number that is not finite", line: "" };
    }
  }
  const shown = `\n  inputs: ${SHOWN.map((input) => formatInput(input, row)).join(", ")}\n`;
  if (guard.state !== null) {
    const value = states[guard.state.at];
    const Kind = Number.isFinite(value) ? OutOfRange : NotFinite;
    return new Kind(
      `reward ${REWARD}, state ${formatString(guard.state.name)}${where}: after this step it is ${formatNumber(value)}, ` +
        `outside its declared range ${guard.state.range}.${shown}` +
        "Widen the range, clamp the value in the update (`min`, `max`), or fix the inputs of the update.",
    );
  }
  const line = guard.line ? `\n  ${guard.line}` : "";
  if (guard.owner === null) {
    const advice = "Fix the row or correct the fact.";
    return new OutOfRange(`reward ${REWARD}${where}: the row ${guard.why}.${line}${shown}${advice}`);
  }
  const advice = "Guard the operation with an `if`, or narrow the field's declared range.";
  return new OutsideDomain(`${guard.owner}reward ${REWARD} ${guard.why}${where}.${line}${shown}${advice}`);
}

function explainRange(slot, row, where) {
  const value = row[STARTS[slot.at] + (slot.entry ?? 0)];
  const error = makeRangeError(slot.name, slot.column, value, where);
  if (STATES.has(slot.column.key)) {
    const advice = "The reward's own update computes this state. Widen its range if the value is right.";
    error.message = `${error.message.split("\n")[0]}\n${advice}`;
  }
  return error;
}

function formatInput(input, row) {
  const slot = SLOTS.find((each) => each.name === input);
  const value = row[STARTS[slot.at] + (slot.entry ?? 0)];
  return `${input}=${slot.column.kind === "flag" ? (value ? "True" : "False") : formatNumber(value)}`;
}

// One row.

const chooseKernel = (p) => (p === DEFAULTS ? FIXED : GENERAL);

function runRow(row, p) {
  const kernel = chooseKernel(p);
  const outputs = Array.from({ length: kernel.outputs }, () => new Float64Array(1));
  const columns = STARTS.map((start) => row.subarray(start));
  if (kernel.run(columns, p, outputs, new Uint8Array(1), 1)) throw explain(row, p, "");
  return kernel.arrange(outputs.map((output) => output[0]), true);
}

const runMasked = () => GENERAL.arrange(Array(GENERAL.outputs).fill(NaN), false);

export function score(row, knobs = defaults, options = undefined) {
  const onBad = readOnBad(options);
  const p = fillKnobs(knobs);
  try {
    return runRow(convertRow(row), p);
  } catch (error) {
    if (onBad === "raise" || !(error instanceof InputError) || error instanceof UnknownInput) throw error;
    return runMasked();
  }
}

// Steps of an episode.

function nest(values, shape) {
  for (const size of shape.slice(1).reverse()) {
    values = Array.from({ length: values.length / size }, (_, at) => values.slice(at * size, (at + 1) * size));
  }
  return shape.length ? [...values] : values[0];
}

function initialState() {
  return Object.fromEntries(CARRIED.map((state) => [state.name, nest(state.reset, state.shape)]));
}

function checkState(state) {
  if (!isObject(state) || isVector(state)) {
    throw new WrongType(`reward ${REWARD}: a state must be an object from names to values, not ${formatValue(state)}`);
  }
  for (const key of Object.keys(state)) {
    if (!STATES.has(key)) {
      const known = [...STATES.keys()].join(", ");
      throw new UnknownInput(`reward ${REWARD} carries no state ${formatString(key)}.\nIts states: ${known}.`);
    }
  }
  for (const key of STATES.keys()) {
    if (!Object.hasOwn(state, key)) {
      throw new MissingField(`reward ${REWARD}: the state ${formatString(key)} is not given. ${adviseState(key)}`);
    }
  }
}

function joinState(inputs, state) {
  const flat = flatten(inputs);
  for (const key of STATES.keys()) {
    if (flat.has(`prev.${key}`)) {
      throw new UnknownInput(
        `reward ${REWARD}: ${formatString(`prev.${key}`)} is given twice: as an input and as the state.`,
      );
    }
    flat.set(`prev.${key}`, state[key]);
  }
  return Object.fromEntries(flat);
}

function step(row, state, knobs = defaults, options = undefined) {
  const onBad = readOnBad(options);
  const p = fillKnobs(knobs);
  if (!options?.reset) checkState(state);
  const before = options?.reset ? initialState() : { ...state };
  try {
    const converted = convertRow(joinState(row, before));
    const scores = runRow(converted, p);
    const { entries } = carry(converted, p);
    let at = 0;
    const after = CARRIED.map((each) => [each.name, nest(entries.slice(at, (at += each.reset.length)), each.shape)]);
    return { ...scores, state: Object.fromEntries(after) };
  } catch (error) {
    if (onBad === "raise" || !(error instanceof InputError) || error instanceof UnknownInput) throw error;
    return { ...runMasked(), state: before };
  }
}

// Batches.

export function encode(columns) {
  const encoded = {};
  for (const [key, value] of collect(columns)) {
    const slot = SLOTS.find((each) => each.name === key || each.column.name === key);
    const whole = slot.entry !== null && slot.name !== key;
    const put = (made) => Object.defineProperty(encoded, key, { value: made, enumerable: true });
    if (!Array.isArray(value)) {
      put(value);
    } else if (whole) {
      put(Float64Array.from(value.flatMap((each) => listColumnEntries(slot.column, each)), (each) => convert(key, slot.column, each)));
    } else {
      put(Float64Array.from(value, (each) => convert(key, slot.column, each)));
    }
  }
  return encoded;
}

// A number that float32 rounds a declared bound to counts as that bound.
function widen(values, column) {
  const wide = Float64Array.from(values);
  if (!(values instanceof Float32Array) || column.kind !== "number") return wide;
  for (const declared of column.declared) {
    const near = Math.fround(declared);
    if (near === declared || !Number.isFinite(near)) continue;
    for (let at = 0; at < values.length; at++) if (values[at] === near) wide[at] = declared;
  }
  return wide;
}

// A column as float64, and the positions of values that float64 cannot hold or that are not flags.
function convertColumn(column, values) {
  const wrong = [];
  if (values instanceof BigInt64Array || values instanceof BigUint64Array) {
    const wide = new Float64Array(values.length);
    for (let at = 0; at < values.length; at++) {
      wide[at] = Number(values[at]);
      if (values[at] > 2n ** 53n || values[at] < -(2n ** 53n)) wrong.push(at);
    }
    return checkFlags(column, wide, wrong);
  }
  return checkFlags(column, values instanceof Float64Array ? values : widen(values, column), wrong);
}

function checkFlags(column, values, wrong) {
  if (column.kind === "flag") {
    for (let at = 0; at < values.length; at++) if (values[at] !== 0 && values[at] !== 1) wrong.push(at);
  }
  return { values, wrong };
}

function gather(columns) {
  const flat = collect(columns);
  const lengths = new Map();
  const parts = COLUMNS.map((column) => {
    const names = flat.has(column.name) ? [column.name] : column.slots.map((slot) => slot.name);
    return names.map((input) => gatherPart(input, column, flat.get(input), lengths));
  });
  if (new Set(lengths.values()).size > 1) {
    const shown = [...lengths].map(([input, length]) => `${input} (${length},)`).join(", ");
    throw new ShapeMismatch(`reward ${REWARD}: the columns differ in shape: ${shown}.`);
  }
  const [rows = 1] = lengths.values();
  return { rows, columns: COLUMNS.map((column, at) => joinParts(column, parts[at], rows)) };
}

function gatherPart(input, column, value, lengths) {
  const whole = column.shape.length > 0 && input === column.name;
  const size = whole ? column.size : 1;
  if (isTyped(value)) {
    if (value.length % size) {
      throw new ShapeMismatch(`${startOf(input)}${size} values per row are needed, ${value.length} values given.`);
    }
    lengths.set(input, value.length / size);
    return { input, size, single: false, ...convertColumn(column, value) };
  }
  if (Array.isArray(value) && !whole) {
    const advice = "Score columns as typed arrays; encode(columns) makes them.";
    throw new WrongType(`${startOf(input)}an array does not hold ${column.holds}. ${advice}`);
  }
  const given = whole ? listColumnEntries(column, value) : [value];
  const one = (each) => (column.kind === "category" && typeof each === "number" ? each : convert(input, column, each));
  return { input, size, single: true, values: Float64Array.from(given, one), wrong: [] };
}

// One value applies to every row; a vector that is given entry by entry becomes one column.
function joinParts(column, parts, rows) {
  const { size } = column;
  if (parts.length === 1 && parts[0].size === size && (!parts[0].single || rows === 1)) return parts[0];
  const values = new Float64Array(rows * size);
  const wrong = [];
  parts.forEach((part, k) => {
    const first = part.size === size ? 0 : column.slots[k].entry;
    for (let row = 0; row < rows; row++) {
      const from = part.single ? 0 : row * part.size;
      for (let at = 0; at < part.size; at++) values[row * size + first + at] = part.values[from + at];
    }
    for (const at of part.wrong) wrong.push(at * size + first);
  });
  return { input: column.name, size, values, wrong };
}

function takeRow(columns, at) {
  const row = new Float64Array(WIDTH);
  columns.forEach(({ values, size }, k) => row.set(values.subarray(at * size, (at + 1) * size), STARTS[k]));
  return row;
}

// Rows with values that no float holds exactly, or flags that are neither 0 nor 1, are always bad.
function markWrong(columns, ok) {
  let bad = 0;
  for (const { wrong, size } of columns) {
    for (const at of wrong) {
      const row = Math.floor(at / size);
      bad += ok[row];
      ok[row] = 0;
    }
  }
  return bad;
}

function explainBatch(columns, ok, p) {
  const bad = ok.indexOf(0);
  const where = `, row ${bad}`;
  for (const [k, column] of columns.entries()) {
    if (column.wrong.some((at) => Math.floor(at / column.size) === bad)) {
      const flag = COLUMNS[k].kind === "flag";
      const problem = flag ? "is neither 0 nor 1" : "is an integer that the dtype cannot hold exactly";
      return new OutOfRange(`${startOf(column.input, where)}the value ${problem}.`);
    }
  }
  return explain(takeRow(columns, bad), p, where);
}

// Outputs that shared an array but differ under other knobs get separate arrays.
function reuse(kernel, out, rows) {
  const outputs = kernel.takeApart(out);
  const fit = outputs.every((output) => output instanceof Float64Array && output.length === rows);
  if (!fit || !(out.ok instanceof Uint8Array) || out.ok.length !== rows) {
    throw new ShapeMismatch(`reward ${REWARD}: out must be an earlier result of scoreBatch for ${rows} rows.`);
  }
  return outputs.map((output, at) => (outputs.indexOf(output) < at ? new Float64Array(rows) : output));
}

export function scoreBatch(columns, knobs = defaults, out = undefined, options = undefined) {
  const onBad = readOnBad(options);
  const p = fillKnobs(knobs);
  const kernel = chooseKernel(p);
  const { rows, columns: given } = gather(columns);
  const outputs = out ? reuse(kernel, out, rows) : Array.from({ length: kernel.outputs }, () => new Float64Array(rows));
  const ok = out ? out.ok : new Uint8Array(rows);
  const bad = kernel.run(given.map((column) => column.values), p, outputs, ok, rows) + markWrong(given, ok);
  if (bad && onBad === "raise") throw explainBatch(given, ok, p);
  if (bad) {
    for (const output of outputs) ok.forEach((fine, row) => fine || (output[row] = NaN));
  }
  return kernel.arrange(outputs, ok);
}
