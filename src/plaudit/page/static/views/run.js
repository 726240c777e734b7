// A run over training: the return, every term and its share, clamps, branches, and where findings begin.

const { h, replace, section, emptyState } = plaudit.dom;
const { number, toNumber, extent, count, aside, joinAddress, link, shorten, runName } = plaudit.format;
const { choose, select, facts, finding } = plaudit.controls;
const { colour, dash, swatch, makePositions, read } = plaudit.palette;

const SMOOTH = [
  ["0", "none"],
  ["5", "5 points"],
  ["20", "20 points"],
  ["100", "100 points"],
];

async function show(page) {
  const [source, name] = page.parts;
  const run = await page.get(joinAddress("run", source, name));
  const reward = run.rewards.length ? await page.getReward(run.rewards.at(-1)).catch(() => null) : null;
  const others = await loadOthers(page);
  const title = h("h1", {}, runName(run.run));
  if (run.episodes === 0) {
    return [
      title,
      emptyState(
        "No episodes in this run yet.",
        run.steps
          ? `${count(run.steps, "record has", "records have")} no episode. Record with episode= and step= to see curves.`
          : "Curves appear here once steps are recorded.",
      ),
    ];
  }
  const options = {
    smooth: Number(page.options.smooth ?? 0),
    log: page.options.axis === "log",
    stacked: page.options.terms !== "single",
  };
  const place = makePositions(reward);
  const marks = [...run.findings];
  const hasReturns = run.x.length > 0;
  const returns = hasReturns ? drawReturns(run, others, options, page, marks) : null;
  return [
    title,
    h(
      "p.lead",
      {},
      `${count(run.episodes, "episode")}${aside(run.unfinished, "unfinished")}, `,
      `${count(run.steps, "step")}${aside(run.masked, "not scored")}. `,
      run.reduced && tellReduction(run.reduced),
    ),
    facts(summarise(run)),
    hasReturns
      ? [
          makeBar(page, options),
          section("Return", {}, returns.element),
          section("Terms", {}, drawTerms(run, place, options)),
          section(
            "Share of each term",
            {},
            drawShares(run, place),
            h("p.quiet", {}, "Of the sum of absolute term values in an episode."),
          ),
          section("Steps per episode", {}, drawLengths(run, options)),
        ]
      : emptyState("No finished episodes in this run yet.", "Returns appear here once an episode ends."),
    plaudit.showSteps(page, place),
    section("Audit", {}, showFindings(page, marks, returns)),
  ];
}

const tellReduction = (reduced) =>
  `Plotted as ${number(reduced.to)} points for ${number(reduced.from)} episodes: ${reduced.how}.`;

/** Other runs laid over this one: `?with=l0/second,l1/third`. */
async function loadOthers(page) {
  const wanted = (page.options.with ?? "").split(",").filter(Boolean).slice(0, 7);
  const found = await Promise.all(wanted.map((each) => page.get(`run/${each}`).catch(() => null)));
  return found.filter((each) => each !== null && each.x.length > 0);
}

/** Summary of finished episodes; dashes if there are none. */
function summarise(run) {
  const means = run.return.mean.map(toNumber);
  const tail = Math.max(1, Math.floor(means.length / 10));
  const average = (list) => (list.length ? list.reduce((sum, each) => sum + each, 0) / list.length : null);
  const edge = (values, at) => (values.length ? extent(values)[at] : null);
  return [
    ["Mean return, first 10%", number(average(means.slice(0, tail)), 4)],
    ["Mean return, last 10%", number(average(means.slice(-tail)), 4)],
    ["Lowest return", number(edge(run.return.min, 0))],
    ["Highest return", number(edge(run.return.max, 1))],
    ["Steps per episode", number(run.mean_length, 3), run.mean_length !== null && "mean"],
  ];
}

/** The axis of curves over a run: the place of each episode in it, from 1; under the cursor, its name. */
const overRun = ({ x, ids, reduced }) => ({
  x: x.map((at) => at + 1),
  xTitle: "episode (position in the run)",
  xFormat: (place) => (Number.isInteger(place) ? number(place) : ""),
  xName: reduced ? "position" : "episode",
  xNames: reduced ? null : ids,
});

function makeBar(page, options) {
  const runs = page.index.sources.flatMap((source) =>
    (source.runs ?? []).map((run) => [joinAddress(source.id, run.run), `${source.name} / ${runName(run.run)}`]),
  );
  const mine = joinAddress(...page.parts);
  const laid = (page.options.with ?? "").split(",").filter(Boolean);
  const free = runs.filter(
    ([address]) => address !== mine && !laid.includes(address) && plaudit.store.has(`run/${address}`),
  );
  return h(
    "div.bar",
    {},
    select("Smoothing", SMOOTH, String(options.smooth), (value) =>
      page.redraw({ smooth: value === "0" ? null : value }),
    ),
    choose("Axis", { linear: "Linear", log: "Log" }, options.log ? "log" : "linear", (value) =>
      page.redraw({ axis: value === "log" ? "log" : null }),
    ),
    choose("Terms", { stacked: "Stacked", single: "Lines" }, options.stacked ? "stacked" : "single", (value) =>
      page.redraw({ terms: value === "single" ? "single" : null }),
    ),
    free.length > 0 &&
      select("Overlay", [["", "select a run"], ...free], "", (value) =>
        page.redraw({ with: [...laid, value].join(",") }),
      ),
    laid.length > 0 && plaudit.controls.button("Clear overlay", () => page.redraw({ with: null })),
  );
}

/** The mean of a window around each point; fewer at the ends. */
function smooth(values, points) {
  if (points < 2) return values;
  const half = Math.floor(points / 2),
    list = values.map((each) => (each === null ? NaN : toNumber(each)));
  return list.map((_, at) => {
    const window = list.slice(Math.max(0, at - half), at + half + 1).filter(Number.isFinite);
    return window.length ? window.reduce((sum, each) => sum + each, 0) / window.length : null;
  });
}

function drawReturns(run, others, { smooth: points, log }, page, marks) {
  const all = [run, ...others];
  if (all.length > 1) return overlay(all, points, log);
  const band = run.reduced || points ? { low: run.return.min, high: run.return.max } : {};
  const series = [{ name: "return", values: smooth(run.return.mean, points), colour: read("ink"), ...band }];
  return plaudit.charts.chart({
    ...overRun(run),
    label: `Return over ${count(run.episodes, "episode")}`,
    series,
    log,
    height: 280,
    over: (plot, draw) => markFindings(plot, draw, marks),
    onPick: (at) => {
      location.hash = link("episode", ...page.parts, run.ids[at]);
    },
    caption: band.low
      ? "Band: lowest to highest return. Click to open an episode, drag to zoom."
      : "Click to open an episode, drag to zoom.",
  });
}

/** Runs over a common axis; a line spans the places at which only others have a finished episode. */
function overlay(all, points, log) {
  const places = all.map((run) => overRun(run).x);
  const x = [...new Set(places.flat())].sort((a, b) => a - b);
  const series = all.map((run, at) => {
    const values = new Map(smooth(run.return.mean, points).map((each, k) => [places[at][k], each]));
    return {
      name: runName(run.run),
      values: x.map((each) => values.get(each) ?? null),
      spans: true,
      colour: colour(at),
      dash: dash(at),
      mark: swatch(at),
    };
  });
  const { xTitle } = overRun(all[0]);
  return plaudit.charts.chart({ label: "Returns of several runs", x, series, log, height: 300, xTitle, xName: "position" });
}

function markFindings(plot, draw, marks) {
  for (const each of marks) {
    if (each.x !== null && each.x !== undefined)
      plaudit.charts.drawLine(plot, draw, { x: each.x + 1, colour: read("bad"), dash: [5, 3] });
  }
}

function drawTerms(run, place, { smooth: points, log, stacked }) {
  const series = Object.entries(run.terms).map(([name, term]) => {
    const at = place(name);
    return {
      name,
      values: smooth(term.mean, points),
      colour: colour(at),
      dash: dash(at),
      mark: swatch(at),
      kind: stacked ? "none" : "line",
    };
  });
  if (series.length === 0) return emptyState("No terms were recorded.");
  const shared = {
    ...overRun(run),
    label: `Terms over ${count(run.episodes, "episode")}`,
    series,
    height: 280,
  };
  if (!stacked) return plaudit.charts.chart({ ...shared, log }).element;
  return plaudit.stacks.drawPile(shared, "areas");
}

function drawShares(run, place) {
  const series = Object.entries(run.share).map(([name, values]) => ({
    name,
    values,
    colour: colour(place(name)),
    dash: dash(place(name)),
    mark: swatch(place(name)),
    kind: "none",
  }));
  if (series.length === 0) return emptyState("No terms were recorded.");
  return plaudit.stacks.drawPile(
    { ...overRun(run), label: "Share of each term", series, height: 180, range: () => [0, 1] },
    "areas",
  );
}

function drawLengths(run, { smooth: points }) {
  const band = run.reduced || points ? { low: run.length.min, high: run.length.max } : {};
  const series = [{ name: "steps", values: smooth(run.length.mean, points), colour: read("quiet"), ...band }];
  return plaudit.charts.chart({ ...overRun(run), label: "Steps in each episode", series, height: 150 }).element;
}

/** Audit the run; this reads every step, so the findings arrive after the rest. */
function showFindings(page, marks, returns) {
  const holder = h("div", { role: "status" });
  const address = joinAddress("audit", ...page.parts);
  const fill = ({ findings, remarks = [], skipped = {} }) => {
    marks.push(...findings);
    returns?.redraw();
    replace(
      holder,
      listFindings(marks),
      remarks.map((each) => h("p.note", {}, each)),
      listSkipped(skipped),
    );
  };
  if (plaudit.store.has(address)) {
    replace(holder, h("p.quiet", {}, "Auditing the steps of this run …"));
    page
      .get(address)
      .then(fill)
      .catch((error) => replace(holder, h("p.note", {}, error.message)));
  } else {
    fill({ findings: [], remarks: marks.length ? [] : ["This report contains no audit of this run."] });
  }
  return holder;
}

function listFindings(findings) {
  if (findings.length === 0) return emptyState("No findings.");
  const open = (each) =>
    h("a", { href: `#/${each.address}` }, each.episode ? `Open episode ${shorten(each.episode, 40)}` : "Open");
  return h(
    "div.findings",
    {},
    findings.map((each) => finding(each, each.address && h("p", {}, open(each)))),
  );
}

/** Rules that were skipped, and why. */
function listSkipped(skipped) {
  const entries = Object.entries(skipped);
  if (entries.length === 0) return null;
  return h(
    "details",
    {},
    h("summary", {}, `${count(entries.length, "rule")} skipped`),
    h(
      "dl.pairs",
      {},
      entries.map(([code, why]) => [h("dt", {}, code), h("dd", {}, why)]),
    ),
  );
}

plaudit.overRun = overRun;
plaudit.views.run = { show };
