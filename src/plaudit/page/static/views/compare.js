// Two rewards on the same history: steps, episodes, sign flips, ranks, largest changes; and distances between many.

const { h, section, emptyState } = plaudit.dom;
const { number, toNumber, count, aside, share, joinAddress, link, shorten, signed } = plaudit.format;
const { select, facts } = plaudit.controls;
const { read, mix } = plaudit.palette;

const nameReward = (reward) => `${shorten(reward.name, 30)} ${shorten(reward.version ?? "", 20)}`;

async function show(page) {
  const [source, run, a, b] = page.parts;
  const rewards = listRewards(page.index);
  const title = h("h1", {}, "Compare rewards");
  const chooser = makeChooser(source, run, a, b, rewards);
  if (a === undefined || b === undefined)
    return [title, h("p.lead", {}, "Compare two rewards on the recorded steps of this run."), chooser, await showMatrixIfAny(page)];
  const found = await page.get(joinAddress("compare", source, run, a, b));
  const names = [a, b].map((id) => nameReward(rewards.get(id) ?? { name: id.slice(0, 12) }));
  return [
    h("h1", {}, names[0], h("span.quiet", {}, " vs. "), names[1]),
    h("p.lead", {}, tellScope(found)),
    chooser,
    facts([
      ["Step correlation", number(found.steps?.pearson, 4), "Pearson"],
      ["Step rank correlation", number(found.steps?.spearman, 4), "Spearman"],
      ["Episode rank correlation", number(found.returns?.spearman, 4), "Spearman"],
      [
        "Sign flips",
        share(found.flips?.share),
        found.flips?.of ? `${number(found.flips.count)} of ${number(found.flips.of)}` : "",
      ],
    ]),
    [...(found.remarks ?? []), ...tellLeftOut(found.returns)].map((each) => h("p.note", {}, each)),
    found.scatter.of > 0 && showHistory(found, names, source, run),
    section(
      "Distances",
      {},
      listDistances(found.distances),
      found.distances_note && h("p.quiet", {}, found.distances_note),
    ),
    section("Diff", {}, listDefinitions(found.definitions)),
  ];
}

/** What both paid for the same steps. */
function showHistory(found, names, source, run) {
  return [
    h(
      "div.columns",
      {},
      section("Steps", {}, drawAgainst(found.scatter, names, "Total of each step under both rewards")),
      section(
        "Episodes",
        {},
        drawAgainst(found.returns, names, "Return of each episode under both rewards", (at) =>
          link("episode", source, run, found.returns.ids[at]),
        ),
      ),
    ),
    section("Largest changes", {}, listLargest(found.largest, names)),
    section("Rank changes", {}, listRanks(found.ranks, source, run)),
  ];
}

function tellScope({ scored, scatter }) {
  const part =
    scored && scored.steps < scored.of
      ? `${number(scored.steps)} of ${count(scored.of, "step")}`
      : `all ${count(scatter.of, "step")}`;
  const drawn = scatter.shown < scatter.of ? `; ${number(scatter.shown)} of them plotted` : "";
  return `Both rewards on this run: ${part} scored by each${aside(scored?.masked, "not scored by either")}${drawn}.`;
}

/** Episodes without returns to compare. */
function tellLeftOut({ unfinished = 0, broken = 0 }) {
  return [
    unfinished > 0 && `Left out of returns and ranks: ${count(unfinished, "unfinished episode")}.`,
    broken > 0 && `Left out of returns and ranks: ${count(broken, "episode")} with a step that one of the rewards cannot score.`,
  ].filter(Boolean);
}

function listRewards(index) {
  const found = new Map();
  for (const source of index.sources) for (const each of source.rewards ?? []) found.set(each.id, each);
  return found;
}

/** Select two rewards: any with a server, those in the file in a report. */
function makeChooser(source, run, a, b, rewards) {
  if (!plaudit.store.live) {
    const here = plaudit.store
      .list(`${joinAddress("compare", source, run)}/`)
      .map((address) => address.split("/").slice(3).map(decodeURIComponent));
    if (here.length === 0)
      return emptyState("This report contains no comparison.", "Pass a second reward: plaudit report LEDGER REWARD.");
    return h(
      "div.bar",
      {},
      select(
        "Versions",
        here.map((pair) => [
          pair.join("/"),
          pair.map((id) => nameReward(rewards.get(id) ?? { name: id })).join(" vs. "),
        ]),
        a ? `${a}/${b}` : "",
        (value) => go(source, run, ...value.split("/")),
      ),
      !a && h("a", { href: link("compare", source, run, ...here[0]) }, "Open"),
    );
  }
  if (rewards.size < 2)
    return emptyState(
      "A comparison needs two rewards.",
      "Pass another one: plaudit dashboard LEDGER REWARD.",
    );
  const names = [...rewards].map(([id, reward]) => [id, nameReward(reward)]);
  const [first, second] = [a ?? names[0][0], b ?? names[1][0]];
  return h(
    "div.bar",
    {},
    select("Before", names, first, (value) => go(source, run, value, second)),
    select("After", names, second, (value) => go(source, run, first, value)),
    !a && h("a", { href: link("compare", source, run, first, second) }, "Compare"),
  );
}

function go(source, run, a, b) {
  location.hash = link("compare", source, run, a, b);
}

/** One reward against the other; equal values lie on the diagonal. */
function drawAgainst({ x, y }, names, label, open = null) {
  if (!x?.length) return emptyState("Nothing to plot.");
  const order = [...x.keys()]
    .filter((at) => Number.isFinite(toNumber(x[at])))
    .sort((i, j) => toNumber(x[i]) - toNumber(x[j]));
  return plaudit.charts.chart({
    label,
    x: order.map((at) => toNumber(x[at])),
    xTitle: names[0],
    height: 300,
    legend: false,
    series: [
      {
        name: names[1],
        values: order.map((at) => y[at]),
        colour: read("term-0"),
        kind: "points",
        size: x.length > 2000 ? 4 : 6,
      },
    ],
    under: plaudit.charts.drawDiagonal,
    onPick: open
      ? (at) => {
          location.hash = open(order[at]);
        }
      : null,
    caption: `Y axis: ${names[1]}. On the dashed line both rewards pay the same.`,
  }).element;
}

function listLargest(largest, names) {
  if (!largest?.length) return emptyState("No step changes.");
  return plaudit.table({
    label: "Largest changes",
    rows: largest.slice(0, 10),
    columns: [
      {
        name: "Step",
        value: (row) => row.address,
        show: (row) => (row.address ? h("a", { href: `#/${row.address}` }, nameStep(row)) : nameStep(row)),
      },
      { name: names[0], number: true, value: (row) => row.before },
      { name: names[1], number: true, value: (row) => row.after },
      {
        name: "Change",
        number: true,
        value: (row) => toNumber(row.after) - toNumber(row.before),
        show: (row) => signed(toNumber(row.after) - toNumber(row.before)),
      },
      { name: "Explanation", sortable: false, value: () => null, show: (row) => tellWhy(row) },
    ],
  });
}

const nameStep = (row) => `${shorten(row.episode ?? "record", 40)} / ${row.step ?? row.record}`;

const tellWhy = (row) =>
  (row.why_before || row.why_after) &&
  h(
    "details",
    {},
    h("summary", {}, "show"),
    [row.why_before, row.why_after].map((why) => h("pre.text", { tabindex: "0" }, why)),
  );

function listRanks(ranks, source, run) {
  if (!ranks?.length) return emptyState("No episode changes rank.");
  return plaudit.table({
    label: "Rank changes",
    rows: ranks,
    most: 12,
    columns: [
      {
        name: "Episode",
        value: (row) => row.episode,
        show: (row) => h("a", { href: link("episode", source, run, row.episode) }, shorten(row.episode, 40)),
      },
      { name: "Rank before", number: true, value: (row) => row.before },
      { name: "Rank after", number: true, value: (row) => row.after },
      {
        name: "Change",
        number: true,
        value: (row) => row.after - row.before,
        show: (row) => signed(row.after - row.before),
      },
    ],
  });
}

function listDistances(distances) {
  if (!distances?.length) return emptyState("No distance could be computed.");
  return plaudit.table({
    label: "Distances",
    rows: distances,
    columns: [
      { name: "Measure", value: (row) => row.measure, show: (row) => h("strong", {}, row.measure) },
      { name: "Value", number: true, value: (row) => row.value },
      { name: "Low", number: true, value: (row) => row.low },
      { name: "High", number: true, value: (row) => row.high },
    ],
  });
}

function listDefinitions(definitions) {
  if (!definitions?.length) return emptyState("The definitions are the same.");
  return plaudit.table({
    label: "Differences between the definitions",
    rows: definitions,
    columns: [
      {
        name: "Part",
        value: (row) => `${row.kind} ${row.name}`,
        show: (row) => [
          h("span.tag", {}, row.kind),
          " ",
          h("code", {}, shorten(row.name, 80)),
          row.what && row.what !== "changed" && h("span.quiet", {}, ` ${row.what}`),
        ],
      },
      { name: "Before", value: (row) => row.before, show: (row) => h("code", {}, tell(row.before)) },
      { name: "After", value: (row) => row.after, show: (row) => h("code", {}, tell(row.after)) },
    ],
  });
}

const tell = (value) =>
  value === null || value === undefined
    ? "–"
    : shorten(typeof value === "object" ? JSON.stringify(value) : String(value), 300);

async function showMatrixIfAny(page) {
  if (!plaudit.store.has("matrix") || listRewards(page.index).size < 2) return null;
  const matrix = await page.get("matrix").catch(() => null);
  return matrix && section("Distances between rewards", {}, drawMatrix(matrix));
}

async function showMatrix(page) {
  const matrix = await page.get("matrix");
  return [h("h1", {}, "Distances between rewards"), h("p.lead", {}, matrix.note), section(matrix.measure, {}, drawMatrix(matrix))];
}

/** A square of numbers, darker where two are further apart. */
function drawMatrix({ names, values, measure }) {
  if (!names?.length) return emptyState("A comparison needs two rewards.");
  const most = Math.max(1e-12, ...values.flat().map(toNumber).filter(Number.isFinite));
  const cell = (value) => {
    const part = Math.min(1, Math.max(0, toNumber(value) / most)) || 0;
    return h(
      "td.number",
      { style: { background: mix(read("surface"), read("term-0"), 0.45 * part) } },
      number(value, 3),
    );
  };
  return h(
    "div.table",
    { tabindex: "0", role: "region", "aria-label": measure },
    h(
      "table",
      {},
      h("caption.hidden", {}, measure),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("td"),
          names.map((name) => h("th.number", { scope: "col" }, shorten(name, 24))),
        ),
      ),
      h(
        "tbody",
        {},
        names.map((name, at) => h("tr", {}, h("th", { scope: "row" }, shorten(name, 40)), values[at].map(cell))),
      ),
    ),
  );
}

plaudit.views.compare = { show };
plaudit.views.matrix = { show: showMatrix };
