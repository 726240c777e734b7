// Sliders and fields for the numbers of a reward, and what was found with them as text to take along.

const { h } = plaudit.dom;
const { toNumber, shorten } = plaudit.format;
const { copyButton } = plaudit.controls;

/** Knobs of an address that somebody sent: only those that the reward has. */
function readSet(text, knobs) {
  try {
    const given = JSON.parse(text ?? "{}");
    return Object.fromEntries(
      knobs
        .filter((knob) => Object.hasOwn(given, knob.name) && typeof given[knob.name] === typeof knob.value)
        .map((knob) => [knob.name, given[knob.name]]),
    );
  } catch {
    return {};
  }
}

/** A slider and a field for each number, a box for each bool; by term. */
function makeKnobs(knobs, set, onTurn) {
  const turned = { ...set };
  const made = knobs.map((knob, at) => makeKnob(knob, at, turned, onTurn));
  const groups = new Map();
  knobs.forEach((knob, at) =>
    groups.set(knob.term ?? "shared", [...(groups.get(knob.term ?? "shared") ?? []), made[at].element]),
  );
  return {
    element: h(
      "div.knobs",
      { tabindex: "0", role: "region", "aria-label": "Knobs" },
      [...groups].map(([name, elements]) => [h("h3.knob-group", {}, shorten(name, 60)), elements]),
    ),
    values: () =>
      Object.fromEntries(
        knobs
          .filter((knob) => Object.hasOwn(turned, knob.name) && turned[knob.name] !== knob.value)
          .map((knob) => [knob.name, turned[knob.name]]),
      ),
    reset() {
      for (const each of made) each.reset();
    },
  };
}

function makeKnob(knob, at, turned, onTurn) {
  const id = `knob-${at}`;
  const own = knob.term && knob.name.startsWith(`${knob.term}.`) ? knob.name.slice(knob.term.length + 1) : knob.name;
  const start = Object.hasOwn(turned, knob.name) ? turned[knob.name] : knob.value;
  const element = h("div.knob", { "data-knob": knob.name });
  const flag = typeof knob.value === "boolean";
  const [low, high] = flag
    ? [0, 1]
    : [Math.min(toNumber(knob.low), toNumber(start)), Math.max(toNumber(knob.high), toNumber(start))];
  const slider = flag
    ? null
    : h("input", { type: "range", min: low, max: high, step: "any", "aria-label": `${knob.name}, slider` });
  const field = h("input", flag ? { type: "checkbox", id } : { type: "number", id, step: "any" });

  function put(value, from, event) {
    if (!flag && !Number.isFinite(value)) return;
    turned[knob.name] = value;
    if (slider && from !== slider) slider.value = String(value);
    if (from !== field) flag ? (field.checked = value) : (field.value = String(value));
    element.classList.toggle("changed", value !== knob.value);
    if (event) onTurn(event);
  }

  slider?.addEventListener("input", (event) => put(round(Number(slider.value), high - low), slider, event));
  field.addEventListener("input", (event) => put(flag ? field.checked : field.valueAsNumber, field, event));
  element.append(h("label", { for: id, title: knob.name }, shorten(own, 60)), field, ...(slider ? [slider] : []));
  put(start, null, null);
  return { element, reset: () => put(knob.value, null, null) };
}

/** A number as a hand can set it: three digits of the slider's way. */
function round(value, span) {
  const step = 10 ** Math.floor(Math.log10(span / 500 || 1));
  return Number((Math.round(value / step) * step).toPrecision(12));
}

// What was found, to take along.

const bare = (name) => (/^[A-Za-z0-9_-]+$/.test(name) ? name : JSON.stringify(name));
const literal = (value) => (typeof value === "boolean" ? String(value) : plaudit.format.exact(value));

function writeToml(values, reward) {
  const shared = [],
    tables = new Map();
  for (const [name, value] of Object.entries(values)) {
    const knob = reward.knobs.find((each) => each.name === name);
    const dot = name.indexOf(".");
    const owner = knob?.term ?? (dot > 0 ? name.slice(0, dot) : null);
    if (owner === null) shared.push(`${bare(name)} = ${literal(value)}`);
    else tables.set(owner, [...(tables.get(owner) ?? []), `${bare(name.slice(owner.length + 1))} = ${literal(value)}`]);
  }
  return (
    [...shared, ...[...tables].flatMap(([owner, lines]) => ["", `[${bare(owner)}]`, ...lines])].join("\n").trim() + "\n"
  );
}

function writeOptions(values) {
  const quote = (text) => (/^[\w.=+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);
  return Object.entries(values)
    .map(([name, value]) => `--set ${quote(`${name}=${literal(value)}`)}`)
    .join(" ");
}

function writePython(values) {
  const python = (value) => (typeof value === "boolean" ? (value ? "True" : "False") : literal(value));
  return `reward.with_params({${Object.entries(values)
    .map(([name, value]) => `${JSON.stringify(name)}: ${python(value)}`)
    .join(", ")}})\n`;
}

function makeCopies(reward, knobs) {
  return [
    copyButton("TOML", () => writeToml(knobs.values(), reward)),
    copyButton("--set", () => writeOptions(knobs.values())),
    copyButton("Python", () => writePython(knobs.values())),
  ];
}

plaudit.knobs = { readSet, makeKnobs, makeCopies };
