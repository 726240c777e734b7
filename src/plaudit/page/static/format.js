// Numbers, times and addresses as people read them.

/** A number of a document: those that are not finite came as strings. */
function toNumber(value) {
  if (typeof value === "number") return value;
  if (typeof value === "boolean") return value ? 1 : 0;
  return { nan: NaN, inf: Infinity, "-inf": -Infinity }[value] ?? NaN;
}

/** The lowest and the highest of numbers that are finite; `Math.min(...values)` fails for very many. */
function extent(values) {
  let low = Infinity,
    high = -Infinity;
  for (const each of values) {
    const x = each === null ? NaN : toNumber(each);
    if (x < low && x > -Infinity) low = x;
    if (x > high && x < Infinity) high = x;
  }
  return [low, high];
}

const isNumber = (value) => typeof value === "number" || ["nan", "inf", "-inf"].includes(value);

const MINUS = "\u2212";
const GROUPED = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** A number with about `digits` that matter; `exact` writes every one of them. */
function formatNumber(value, digits = 5) {
  if (value === null || value === undefined) return "\u2013";
  const x = toNumber(value) + 0; // a negative zero is a zero
  if (Number.isNaN(x)) return "NaN";
  if (!Number.isFinite(x)) return x > 0 ? "\u221e" : `${MINUS}\u221e`;
  const size = Math.abs(x);
  if (Number.isInteger(x) && size < 1e15) return GROUPED.format(x).replace("-", MINUS);
  if (size >= 1e7 || size < 1e-4)
    return x
      .toExponential(Math.max(digits - 2, 0))
      .replace("-", MINUS)
      .replace("e\u2212", "e-");
  const places = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
  if (places === 0) return GROUPED.format(x).replace("-", MINUS);
  return Number(x.toFixed(Math.min(places, 12)))
    .toString()
    .replace("-", MINUS);
}

/** The shortest text that gives this number again, with Python's spelling of those that are not finite. */
function exact(value) {
  if (!isNumber(value)) return String(value);
  const x = toNumber(value) + 0;
  if (Number.isNaN(x)) return "nan";
  if (!Number.isFinite(x)) return x > 0 ? "inf" : "-inf";
  return Number.isInteger(x) && Math.abs(x) < 1e16 ? x.toFixed(1) : String(x);
}

const signed = (value, digits) => (toNumber(value) > 0 ? "+" : "") + formatNumber(value, digits);
const formatShare = (value) =>
  value === null || value === undefined ? "\u2013" : `${formatNumber(100 * toNumber(value), 3)}%`;
const count = (amount, one, many = `${one}s`) => `${formatNumber(amount)} ${amount === 1 ? one : many}`;
/** What is said beside a count of others: how many of them are something else; nothing where none is. */
const aside = (amount, what) => (amount ? ` (${formatNumber(amount)} ${what})` : "");

/** An input as it was recorded: a label, a bool, or a number. */
function formatValue(value) {
  if (value === null || value === undefined) return "\u2013";
  if (Array.isArray(value)) return value.map(formatValue).join(", ");
  return isNumber(value) ? formatNumber(value, 7) : String(value);
}

function formatTime(text) {
  if (!text) return "\u2013";
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) return String(text);
  return time.toISOString().slice(0, 16).replace("T", " ");
}

/** From a number to a number; one of them may be open. */
function interval(pair) {
  if (!pair) return "\u2013";
  const [low, high] = pair.map((each) => (each === null || each === undefined ? null : formatNumber(each)));
  if (low === null) return high === null ? "\u2013" : `\u2264 ${high}`;
  return high === null ? `\u2265 ${low}` : `${low} \u2026 ${high}`;
}

const runName = (run) => (run ? shorten(run, 40) : "records without a run");
const shorten = (text, most = 60) =>
  String(text).length > most ? `${String(text).slice(0, most - 1)}\u2026` : String(text);

/** A part of an address as Python's `quote` writes it; records without a run have an empty one. */
function quote(part) {
  const text = String(part ?? "").replace(
    /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g,
    "\ufffd",
  );
  return encodeURIComponent(text).replace(/[!'()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** An address of a document from its parts. */
const joinAddress = (...parts) => parts.map(quote).join("/");
const link = (...parts) => `#/${joinAddress(...parts)}`;

plaudit.format = {
  toNumber,
  extent,
  isNumber,
  number: formatNumber,
  exact,
  signed,
  share: formatShare,
  count,
  aside,
  value: formatValue,
  time: formatTime,
  interval,
  shorten,
  runName,
  joinAddress,
  link,
};
