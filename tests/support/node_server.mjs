// Evaluates generated modules: a request a line, {module, calls: [[name, arguments...]]}; what each call gave, a line back.
import { createInterface } from "node:readline";

const TYPED = { f64: Float64Array, f32: Float32Array, i32: Int32Array, u8: Uint8Array, i64: BigInt64Array };

function decode(value) {
  if (Array.isArray(value)) return value.map(decode);
  if (typeof value !== "object" || value === null) return value;
  if ("$number" in value) return Number(value.$number);
  if ("$bigint" in value) return BigInt(value.$bigint);
  if ("$undefined" in value) return undefined;
  if ("$previous" in value) return previous;
  for (const [tag, Kind] of Object.entries(TYPED)) {
    if (`$${tag}` in value) return Kind.from(value[`$${tag}`].map(decode), tag === "i64" ? BigInt : undefined);
  }
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, decode(part)]));
}

function encode(value) {
  if (typeof value === "number" && (!Number.isFinite(value) || Object.is(value, -0))) {
    return { $number: Object.is(value, -0) ? "-0" : String(value) };
  }
  if (Array.isArray(value)) return value.map(encode);
  if (ArrayBuffer.isView(value)) return { $typed: value.constructor.name, values: Array.from(value, encode) };
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, encode(part)]));
}

let previous;
const loaded = new Map();

async function load(text) {
  if (!loaded.has(text)) {
    loaded.set(text, await import(`data:text/javascript;base64,${Buffer.from(text).toString("base64")}`));
  }
  return loaded.get(text);
}

function call(module, [name, ...given]) {
  try {
    const found = module[name];
    previous = typeof found === "function" ? found(...given.map(decode)) : found;
    return { value: encode(previous) };
  } catch (error) {
    return { error: error.name, message: error.message };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const { module, calls } = JSON.parse(line);
  let answer;
  try {
    const made = await load(module);
    answer = calls.map((each) => call(made, each));
  } catch (error) {
    answer = { failed: String(error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
