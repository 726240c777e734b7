// The overview: every ledger with its runs, and every reward.

const { h, section, emptyState } = plaudit.dom;
const { number, count, aside, time, link, shorten, runName } = plaudit.format;

async function show(page) {
  const index = await page.get("index");
  const ledgers = index.sources.filter((each) => each.kind === "ledger");
  const rewards = collectRewards(index.sources);
  return [
    h("h1", {}, index.title || "Overview"),
    h("p.lead", {}, describe(index)),
    index.sources.length === 0 &&
      emptyState(
        "Nothing to show.",
        "Pass a ledger or a reward: plaudit report LEDGER, plaudit dashboard REWARD.",
      ),
    ledgers.map(showLedger),
    rewards.length > 0 &&
      section(
        rewards.length === 1 ? "Reward" : "Rewards",
        {},
        listRewards(rewards),
        rewards.length > 2 &&
          plaudit.store.has("matrix") &&
          h("p", {}, h("a", { href: "#/matrix" }, "Distances between rewards")),
      ),
  ];
}

function describe(index) {
  const made = `${index.live ? "Updated" : "Generated"} ${time(index.made)} UTC by plaudit ${index.plaudit}.`;
  const { embedded } = index;
  if (!embedded || embedded.of === 0) return made;
  const all = embedded.episodes === embedded.of;
  return `${made} This file contains the steps of ${all ? `all ${count(embedded.of, "episode")}` : `${number(embedded.episodes)} of ${count(embedded.of, "episode")}`}, and summaries of every run.`;
}

function collectRewards(sources) {
  const found = new Map();
  for (const source of sources) for (const each of source.rewards ?? []) found.set(each.id, each);
  return [...found.values()];
}

function showLedger(source) {
  const runs = source.runs ?? [];
  const title = h("span", { title: source.name }, shorten(source.name, 80));
  if (runs.length === 0) {
    return section(
      title,
      {},
      emptyState("This ledger is empty.", "Runs appear here once steps are recorded."),
    );
  }
  const table = plaudit.table({
    label: `Runs of ${shorten(source.name)}`,
    columns: [
      {
        name: "Run",
        value: (run) => run.run,
        show: (run) => h("a", { href: link("run", source.id, run.run) }, runName(run.run)),
      },
      {
        name: "Episodes",
        number: true,
        value: (run) => run.episodes,
        show: (run) => [number(run.episodes), h("span.quiet", {}, aside(run.unfinished, "unfinished"))],
      },
      {
        name: "Steps",
        number: true,
        value: (run) => run.steps,
        show: (run) => [number(run.steps), h("span.quiet", {}, aside(run.masked, "not scored"))],
      },
      { name: "Mean return", number: true, value: (run) => run.return?.mean },
      { name: "Lowest", number: true, value: (run) => run.return?.min },
      { name: "Highest", number: true, value: (run) => run.return?.max },
      { name: "Last record (UTC)", time: true, value: (run) => run.last, show: (run) => time(run.last) },
    ],
    rows: runs,
  });
  return section(
    title,
    {},
    h("p.quiet", {}, count(source.records ?? 0, "record"), " in ", count(runs.length, "run")),
    table,
  );
}

function listRewards(rewards) {
  return h(
    "ul.tiles",
    {},
    rewards.map((each) =>
      h(
        "li",
        {},
        h(
          "a.tile",
          { href: link("reward", each.id) },
          h("strong", {}, shorten(each.name, 40)),
          h("span.quiet", {}, shorten(each.version ?? "", 40)),
          h("code.quiet", {}, String(each.fingerprint).slice(0, 12)),
        ),
      ),
    ),
  );
}

plaudit.views.index = { show };
