
const label = (field, at) => (Number.isInteger(at) && field.labels[at] !== undefined ? field.labels[at] : `${field.labels.join()}?`);
const read = (field, value) => (field.kind === "category" ? label(field, value) : field.kind === "flag" ? value !== 0 : value);
const put = (object, key, value) => Object.defineProperty(object, key, { value, enumerable: true });
const list = (scores) => [scores.total, ...TERMS.map((term) => scores.values[term]), ...TERMS.map((term) => scores.scores[term])];

function nest(entries, shape) {
  if (shape.length === 0) return entries[0];
  const size = entries.length / shape[0];
  return Array.from({ length: shape[0] }, (_, at) => nest(entries.slice(at * size, (at + 1) * size), shape.slice(1)));
}

function isNear(found, wanted, allowed) {
  if (Number.isNaN(found) || Number.isNaN(wanted)) return Number.isNaN(found) && Number.isNaN(wanted);
  return found === wanted || Math.abs(found - wanted) <= allowed;
}

// One row alone; a reward with states takes a step.
function scoreRow(inputs) {
  const row = {};
  const states = STATES.map((state) => state.reset.slice());
  FIELDS.forEach((field, at) => {
    if (field.state === null) put(row, field.name, read(field, inputs[at]));
    else states[field.state][field.entry] = read(field, inputs[at]);
  });
  if (STATES.length === 0) return { scores: reward.score(row, undefined, { onBad: "raise" }), after: [] };
  const before = {};
  STATES.forEach((state, at) => put(before, state.name, nest(states[at], state.shape)));
  const scores = reward.step(row, before, undefined, { onBad: "raise" });
  return { scores, after: STATES.flatMap((state) => [scores.state[state.name]].flat(Infinity).map(Number)) };
}

function testRow([inputs, refused, numbers, states, allowed]) {
  const unknown = FIELDS.some((field, at) => field.other && field.labels[inputs[at]] === undefined);
  if (unknown) return ""; // a string that counts as `other` has no position
  try {
    const { scores, after } = scoreRow(inputs);
    const found = [...list(scores), ...after], wanted = [...numbers, ...states];
    if (refused === null && wanted.every((number, at) => isNear(found[at], number, allowed))) return "";
    return refused === null ? `${found.join(", ")}, not ${wanted.join(", ")}` : `${found.join(", ")}, not ${refused}`;
  } catch (error) {
    return error.name === refused ? "" : `${error.name}, not ${refused ?? numbers.join(", ")}: ${error.message}`;
  }
}

function testBatch() {
  const columns = {};
  FIELDS.forEach((field, at) => put(columns, field.name, Float64Array.from(ROWS, ([inputs]) => inputs[at])));
  const scores = reward.scoreBatch(columns, undefined, undefined, { onBad: "mask" });
  const found = list(scores);
  return ROWS.map(([, refused, numbers, , allowed], row) => {
    const same = numbers.every((number, at) => isNear(found[at][row], number, allowed));
    if (same && scores.ok[row] === Number(refused === null)) return "";
    return `in a batch ok is ${scores.ok[row]}, and ${found.map((each) => each[row]).join(", ")}, not ${numbers.join(", ")}`;
  });
}

const alone = ROWS.map(testRow);
const together = FIELDS.length > 0 ? testBatch() : ROWS.map(() => "");
let differ = 0;
ROWS.forEach(([inputs], at) => {
  if (!alone[at] && !together[at]) return;
  differ++;
  console.log(`row ${at} (${FIELDS.map((field, k) => `${field.name} = ${inputs[k]}`).join(", ")}): ${alone[at] || together[at]}`);
});
console.log(`${reward.name}@${reward.version}: ${ROWS.length} rows, ${differ} differ`);
if (differ > 0) process.exitCode = 1;
