// One step: its attribution to terms, and what other branches would have paid.

const { h, section, emptyState } = plaudit.dom;
const {
  number,
  exact,
  signed,
  toNumber,
  isNumber,
  joinAddress,
  link,
  shorten,
  time,
  value: formatValue,
} = plaudit.format;
const { facts, tellMasked } = plaudit.controls;
const { named, makePositions } = plaudit.palette;

async function show(page) {
  const [source, run, name, step] = page.parts;
  const found = await load(page);
  const reward = await page.getReward(found.reward).catch(() => null);
  const place = makePositions(reward);
  const masked = tellMasked(found.masked);
  page.onKey((event) => {
    const other = { ArrowLeft: found.previous, ArrowRight: found.next }[event.key];
    if (other !== undefined && other !== null) location.hash = link("step", source, run, name, other);
  });
  return [
    h("h1", {}, `Step ${shorten(step, 40)} of episode ${shorten(name, 40)}`, " ", tellVerified(found.verified)),
    h("div.bar", {}, neighbour(page, found.previous, "← Previous step"), neighbour(page, found.next, "Next step →")),
    found.partial && h("p.note", {}, tellPartial(page.index, found)),
    masked && h("p.note", {}, masked),
    facts([
      ["Total", masked ? "not scored" : exactly(found.total)],
      ["Record", number(found.record)],
      found.time && ["Time (UTC)", time(found.time)],
      [
        "Reward",
        h("code", { title: found.fingerprint }, String(found.fingerprint ?? "").slice(0, 12)),
        reward && h("a", { href: link("reward", found.reward) }, reward.name),
      ],
    ]),
    !masked && section("Attribution", {}, listTerms(found, place)),
    found.texts?.length > 0 && section("Rollout", {}, found.texts.map(showText)),
    h("div.columns", {}, section("Inputs", {}, listInputs(found, reward)), showContext(found)),
    !masked &&
      section(
        "Terms",
        {},
        found.terms.map((term) => showTerm(term, reward, place)),
      ),
    found.why && section("Explanation as text", {}, h("pre.text", { id: "why-text", tabindex: "0" }, found.why)),
  ];
}

/** What a report leaves out of a step without full details, and how to see it. */
function tellPartial({ embedded }, { context }) {
  const explained = plaudit.format.count(embedded?.explained ?? 0, "step");
  const rest = context ? "Verification and branches not taken" : "Verification, branches not taken and context";
  return [
    `This report has full details for ${explained}, the lowest-paid of each episode first, but not for this one. `,
    `${rest} are left out. Use a larger --max-size for more steps, or plaudit dashboard for every step.`,
  ];
}

const exactly = (value) => h("span", { title: exact(value), "data-exact": exact(value) }, number(value, 7));

const neighbour = (page, step, text) =>
  step !== null && step !== undefined && h("a", { href: link("step", ...page.parts.slice(0, 3), step) }, text);

function tellVerified(verified) {
  if (verified === true) return h("span.tag.good", {}, "verified");
  if (verified === false) return h("span.tag.error", {}, "does not verify");
  return h("span.tag", {}, "not verified here");
}

/** The document of the step, or what its episode contains of it. */
async function load(page) {
  const address = joinAddress("step", ...page.parts);
  if (plaudit.store.has(address)) return page.get(address);
  const episode = await page.get(joinAddress("episode", ...page.parts.slice(0, 3)));
  const ids = episode.step_ids ?? episode.steps.map(String);
  const [, record] = /^record-(\d+)$/.exec(page.parts[3]) ?? [];
  const at = record ? episode.record_ids.indexOf(Number(record)) : ids.indexOf(page.parts[3]);
  if (at < 0) throw new plaudit.store.Missing(`This episode has no step ${shorten(page.parts[3])}.`);
  const reward = await page.getReward(episode.reward).catch(() => null);
  return takeStep(episode, reward, ids, at);
}

function takeStep(episode, reward, ids, at) {
  const lines = episode.paths?.[episode.path?.[at]] ?? {};
  const term = ([name, values]) => {
    const known = reward?.terms.find((each) => each.name === name),
      score = episode.scores?.[name]?.[at];
    return {
      name,
      score,
      clamped: clamp(score, known),
      weight: isNumber(known?.weight) ? known.weight : null,
      value: values[at],
      lines: lines[name] ?? [],
      conditions: [],
      nearest: [],
    };
  };
  const ranges = new Map((reward?.fields ?? []).map((field) => [field.name, field.range]));
  const fieldOf = (name) => name.replace(/^(prev|curr)\./, "").replace(/\[.*$/, "");
  const labelled = (name, value) => episode.labels?.[name]?.[value] ?? value;
  return {
    partial: true,
    record: episode.record_ids[at],
    verified: null,
    reward: episode.reward,
    fingerprint: episode.reward,
    total: episode.total[at],
    masked: episode.masked[at] ?? null,
    terms: Object.entries(episode.values).map(term),
    adjustments: Object.entries(episode.adjustments).map(term),
    context: takeContext(episode, at),
    inputs: Object.entries(episode.inputs).map(([name, values]) => ({
      name,
      value: labelled(name, values[at]),
      unit: episode.units?.[name],
      range: ranges.get(fieldOf(name)) ?? null,
    })),
    previous: ids[at - 1],
    next: ids[at + 1],
  };
}

/** What was recorded with a step, by name; null if the report does not contain all of it. */
function takeContext({ actor, native, masked, contexts }, at) {
  if (contexts === null) return null;
  const rest = contexts[at] ?? {};
  const known = { actor, original_reward: native?.[at], masked: masked[at] };
  const given = Object.entries(known).filter(([, value]) => value !== null && value !== undefined);
  return { ...Object.fromEntries(given), ...(isPlainObject(rest) ? rest : { context: rest }) };
}

const isPlainObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** A score within the clamps of its term; null where they are not plain numbers. */
function clamp(score, term) {
  if (!term || !isNumber(score)) return null;
  const [low, high] = term.clamp ?? [null, null];
  if ([low, high].some((each) => each !== null && !isNumber(each))) return null;
  return Math.min(
    high === null ? Infinity : toNumber(high),
    Math.max(low === null ? -Infinity : toNumber(low), toNumber(score)),
  );
}

function listTerms(found, place) {
  const rows = [...found.terms, ...(found.adjustments ?? [])];
  const cells = (row) =>
    [row.score, row.clamped, row.weight, row.value].map((value) =>
      h("td.number", {}, value === null || value === undefined ? "–" : exactly(value)),
    );
  return h(
    "div.table",
    { tabindex: "0", role: "region", "aria-label": "Terms" },
    h(
      "table",
      { id: "terms" },
      h("caption.hidden", {}, "Score, clamped, weight and value of each term"),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ["Term", "Score", "Clamped", "Weight", "Value"].map((each, at) =>
            h("th", { scope: "col", class: at ? "number" : null }, each),
          ),
        ),
      ),
      h(
        "tbody",
        {},
        rows.map((row) =>
          h("tr", { "data-term": row.name }, h("th", { scope: "row" }, named(place(row.name), row.name)), cells(row)),
        ),
        h(
          "tr",
          {},
          h("th", { scope: "row" }, "total"),
          h("td"),
          h("td"),
          h("td"),
          h("td.number", {}, h("strong", {}, exactly(found.total))),
        ),
      ),
    ),
  );
}

function listInputs(found, reward) {
  if (found.inputs.length === 0) return emptyState("No inputs were recorded.");
  const docs = new Map((reward?.fields ?? []).map((field) => [field.name, field.doc]));
  return plaudit.table({
    label: "Inputs of this step",
    rows: found.inputs,
    columns: [
      {
        name: "Input",
        value: (input) => input.name,
        show: (input) => h("code", { title: docs.get(input.name) || null }, shorten(input.name, 60)),
      },
      {
        name: "Value",
        number: true,
        value: (input) => input.value,
        show: (input) =>
          input.value === null
            ? h("span.quiet", {}, "not given")
            : [formatValue(input.value), input.unit && h("span.quiet", {}, ` ${input.unit}`)],
      },
      { name: "Range", sortable: false, value: () => null, show: (input) => drawRange(input) },
    ],
  });
}

/** Where in its declared range an input stands. */
function drawRange({ value, range }) {
  const [low, high] = (range ?? []).map(toNumber);
  if (!range || !Number.isFinite(low) || !Number.isFinite(high) || !plaudit.format.isNumber(value))
    return range ? h("span.quiet", {}, plaudit.format.interval(range)) : "";
  const share = Math.min(1, Math.max(0, (toNumber(value) - low) / (high - low || 1)));
  return h(
    "div.track",
    {
      role: "img",
      "aria-label": `${number(value)} between ${number(low)} and ${number(high)}`,
      title: plaudit.format.interval(range),
    },
    h("i", { style: { left: `calc(${100 * share}% - 3px)`, width: "6px" } }),
  );
}

/** A prompt, a completion or what a judge said, whole. */
function showText([name, text]) {
  return [
    h("h3", {}, shorten(name, 100)),
    text === null ? emptyState("This text was forgotten.") : h("pre.text", { tabindex: "0" }, text),
  ];
}

function showContext(found) {
  if (found.context === null) return section("Context", {}, emptyState("This report does not contain it."));
  const isEmpty = (value) => typeof value === "object" && value !== null && Object.keys(value).length === 0;
  const entries = Object.entries(found.context).filter(([name, value]) => !isEmpty(value) && name !== "texts");
  if (entries.length === 0) return section("Context", {}, emptyState("Nothing else was recorded with this step."));
  return section(
    "Context",
    {},
    h(
      "dl.pairs",
      {},
      entries.map(([name, value]) => [
        h("dt", {}, shorten(name, 60)),
        h("dd", {}, h("code", {}, shorten(typeof value === "string" ? value : JSON.stringify(value, null, 1), 4000))),
      ]),
    ),
  );
}

function showTerm(term, reward, place) {
  const known = reward?.terms.find((each) => each.name === term.name);
  return h(
    "article.term",
    {},
    h("h3", {}, named(place(term.name), term.name), " ", h("span.quiet", {}, number(term.value, 7))),
    h(
      "div.term-body.even",
      {},
      h(
        "div",
        {},
        (term.doc || known?.doc) && h("p", {}, term.doc || known.doc),
        known && plaudit.terms.formula(known),
        term.conditions.length > 0 &&
          h(
            "ul.conditions",
            {},
            term.conditions.map((each) =>
              h(
                "li",
                {},
                h("span", { class: each.true ? "good" : "quiet" }, each.true ? "✓ " : "✗ "),
                h("code", {}, shorten(each.text, 300)),
                h("span.hidden", {}, each.true ? " is true" : " is false"),
              ),
            ),
          ),
        listNearest(term),
      ),
      h("div", {}, plaudit.terms.sourceCode(known?.source, term.lines)),
    ),
  );
}

/** The nearest branches that were not taken, and what each would have paid. */
function listNearest(term) {
  if (!term.nearest?.length) return null;
  return h(
    "div.nearest",
    {},
    h("h4", {}, "Nearest branches not taken"),
    h(
      "ul",
      {},
      term.nearest.map((each) =>
        h(
          "li",
          {},
          h("code", {}, `${each.input} ${formatValue(each.from)} → ${formatValue(each.to)}`),
          each.delta !== null &&
            each.delta !== undefined &&
            h("span.quiet", {}, ` (${signed(each.delta)}${each.unit ? ` ${each.unit}` : ""})`),
          `: ${term.name} ${number(each.value)}, total ${number(each.total)}`,
          each.condition && h("span.quiet", {}, "; decided by ", h("code", {}, shorten(each.condition, 120))),
          each.breaks?.length > 0 && h("span.bad", {}, ` breaks ${each.breaks.join(", ")}`),
        ),
      ),
    ),
  );
}

plaudit.views.step = { show };
