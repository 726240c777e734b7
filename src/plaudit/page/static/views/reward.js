// A reward: its terms as text, formulas and curves; its best-paid behaviors; its findings.

const { h, section, emptyState } = plaudit.dom;
const { number, toNumber, interval, shorten, link, value: formatValue } = plaudit.format;
const { facts, finding } = plaudit.controls;
const { named } = plaudit.palette;

async function show(page) {
  const reward = await page.get(plaudit.format.joinAddress("reward", page.parts[0]));
  const scale = findScale(reward);
  return [
    h("h1", {}, reward.name, " ", h("span.quiet", {}, reward.version)),
    h("p.lead", {}, reward.doc || "No description."),
    facts([
      ["Terms", number(reward.terms.length)],
      ["Fields", number(reward.fields.length)],
      ["Lowest total", number(reward.total.bounds?.[0])],
      ["Highest total", number(reward.total.bounds?.[1])],
      ["Findings", number(reward.findings.length)],
      ["Fingerprint", h("code", { title: reward.fingerprint }, reward.fingerprint.slice(0, 12))],
    ]),
    section("Total", {}, plaudit.terms.formula(reward.total), summarise(reward, scale)),
    showIncentives(reward),
    showFindings(reward),
    reward.task && showTask(reward.task),
    section(
      "Terms",
      {},
      reward.terms.map((term, at) => showTerm(term, at)),
      reward.adjustments.map((each, at) => showAdjustment(each, reward.terms.length + at)),
    ),
    section("Fields", {}, listFields(reward.fields)),
    reward.knobs.length > 0 && section("Knobs", {}, listKnobs(reward.knobs), adviseWhatIf(page, reward)),
    h(
      "details",
      {},
      h("summary", {}, "Reward as JSON"),
      h("pre.text", { tabindex: "0" }, JSON.stringify(reward.spec, null, 2).slice(0, 200000)),
    ),
  ];
}

/** One scale for the bars of all terms: as far as any of them, and the total, can go. */
function findScale(reward) {
  const ends = [reward.total.bounds, ...reward.terms.map((term) => term.bounds)]
    .flat()
    .map(toNumber)
    .filter(Number.isFinite);
  return [Math.min(0, ...ends), Math.max(0, ...ends)];
}

function summarise(reward, scale) {
  const rows = [
    ...reward.terms.map((term, at) => ({ ...term, at })),
    { name: "total", doc: "", weight: null, clamp: null, bounds: reward.total.bounds, at: null },
  ];
  return plaudit.table({
    label: "Terms, weights and bounds",
    rows,
    columns: [
      {
        name: "Term",
        value: (row) => row.name,
        show: (row) => (row.at === null ? h("strong", {}, "total") : named(row.at, row.name)),
      },
      {
        name: "Weight",
        number: true,
        value: (row) => row.weight,
        show: (row) => (row.weight === null ? "" : formatValue(row.weight)),
      },
      {
        name: "Clamp",
        number: true,
        value: (row) => row.clamp?.[0],
        show: (row) => (row.clamp ? interval(row.clamp) : row.at === null ? "" : "–"),
      },
      { name: "Min", number: true, value: (row) => row.bounds?.[0] },
      { name: "Max", number: true, value: (row) => row.bounds?.[1] },
      {
        name: "Range",
        sortable: false,
        value: () => null,
        show: (row) =>
          row.bounds &&
          plaudit.charts.boundsBar(row.bounds, scale, row.at === null ? null : plaudit.palette.colour(row.at)),
      },
    ],
  });
}

function showIncentives(reward) {
  const lines = reward.incentives?.text ?? [];
  const summary = reward.incentives?.summary;
  return section(
    "Best-paid behaviors",
    {},
    summary && h("p", {}, summary),
    lines.length
      ? h(
          "ul",
          {},
          lines.map((line) => h("li", {}, line)),
        )
      : emptyState("No behavior found that pays more than others."),
  );
}

function showFindings(reward) {
  if (reward.findings.length === 0) return section("Findings", {}, emptyState("No findings."));
  return section(
    "Findings",
    {},
    h(
      "div.findings",
      {},
      reward.findings.map((each) => finding(each, each.witness && showWitness(each.witness))),
    ),
  );
}

/** The task: goals, preferences and what can happen, and the source of each line. */
function showTask(task) {
  return section(
    "Task",
    {},
    h(
      "p",
      {},
      h("strong", {}, task.name, " "),
      h("span.quiet", {}, task.version, " "),
      h("code", { title: task.fingerprint }, task.fingerprint.slice(0, 12)),
      task.source && ` seen in ${task.source}`,
    ),
    task.doc && h("p", {}, task.doc),
    plaudit.table({
      label: "Parts of the task",
      rows: task.said,
      columns: [
        { name: "Part", value: (row) => row.part },
        { name: "Name", value: (row) => row.of, show: (row) => row.of && h("code", {}, shorten(row.of, 60)) },
        { name: "Value", value: (row) => row.says, show: (row) => shorten(row.says, 400) },
        { name: "Source", value: (row) => row.from },
      ],
    }),
  );
}

function showWitness(steps) {
  const list = Array.isArray(steps) ? steps : [steps];
  const tell = (step) =>
    Object.entries(step.inputs ?? step)
      .map(([name, value]) => `${name}=${formatValue(value)}`)
      .join(", ");
  return h(
    "details",
    {},
    h("summary", {}, "Witness"),
    list.map((step) =>
      h(
        "p",
        {},
        step.note && `${step.note}: `,
        h("code", {}, shorten(tell(step), 1000)),
        step.total !== undefined && ` earns ${number(step.total)}`,
      ),
    ),
  );
}

function showTerm(term, at) {
  const about = [
    ["Weight", formatValue(term.weight)],
    term.clamp && ["Clamp", interval(term.clamp)],
    ["Range", term.bounds ? interval(term.bounds) : "–"],
    ["Inputs", term.inputs.join(", ") || "none"],
    term.unit && ["Unit", term.unit],
    term.terminal && ["Scored", "at the end of an episode"],
  ].filter(Boolean);
  const chart = plaudit.terms.curve(term, at);
  return h(
    "article.term",
    { id: `term-${at}` },
    h("h3", {}, named(at, term.name)),
    h(
      "div.term-body",
      {},
      h(
        "div",
        {},
        h("p", {}, term.doc || h("span.quiet", {}, "No description.")),
        plaudit.terms.formula(term),
        h(
          "dl.pairs",
          {},
          about.map(([name, value]) => [h("dt", {}, name), h("dd", {}, shorten(value, 400))]),
        ),
        term.source && h("details", {}, h("summary", {}, "Source"), plaudit.terms.sourceCode(term.source)),
      ),
      h("div", {}, chart ?? h("p.note", {}, "No curve: this term reads no number, or more than two.")),
    ),
  );
}

function showAdjustment(each, at) {
  return h(
    "article.term",
    {},
    h("h3", {}, named(at, each.name), " ", h("span.tag", {}, "adjustment")),
    h("p", {}, each.doc),
    plaudit.terms.formula(each),
  );
}

function listFields(fields) {
  return plaudit.table({
    label: "Fields",
    rows: fields,
    columns: [
      { name: "Field", value: (field) => field.name, show: (field) => h("code", {}, shorten(field.name, 60)) },
      { name: "Kind", value: (field) => field.kind },
      {
        name: "Range",
        value: (field) => field.range?.[0],
        show: (field) =>
          field.range ? interval(field.range) : (field.labels ?? []).map(formatValue).join(", ") || "–",
      },
      { name: "Unit", value: (field) => field.unit || "" },
      {
        name: "Better",
        value: (field) => field.better ?? "",
        show: (field) => field.better ?? (field.aim === null || field.aim === undefined ? "" : `near ${number(field.aim)}`),
      },
      { name: "Description", value: (field) => field.doc || "" },
    ],
  });
}

function listKnobs(knobs) {
  return plaudit.table({
    label: "Knobs, weights and clamps",
    rows: knobs,
    columns: [
      { name: "Name", value: (knob) => knob.name, show: (knob) => h("code", {}, shorten(knob.name, 80)) },
      { name: "Kind", value: (knob) => knob.kind },
      { name: "Value", number: true, value: (knob) => knob.value, show: (knob) => formatValue(knob.value) },
    ],
  });
}

/** Link to the runs on this page where the knobs of this reward can be changed. */
function adviseWhatIf(page, reward) {
  const runs = page.index.sources.flatMap((source) =>
    (source.runs ?? []).filter((run) => run.rewards.includes(reward.id)).map((run) => [source, run]),
  );
  if (runs.length === 0) return h("p.quiet", {}, "Record a run with this reward to try other values.");
  return h(
    "p",
    {},
    "Try other values: ",
    runs
      .slice(0, 5)
      .map(([source, run], at) => [
        at ? ", " : "",
        h("a", { href: link("whatif", source.id, run.run) }, plaudit.format.runName(run.run)),
      ]),
  );
}

plaudit.views.reward = { show };
