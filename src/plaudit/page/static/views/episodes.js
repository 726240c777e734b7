// The episodes of a run: a table, a scatter plot, the lowest and highest returns, and two side by side.

const { h, section, emptyState } = plaudit.dom;
const { number, toNumber, count, joinAddress, link, shorten, runName, time, signed } = plaudit.format;
const { select, button, facts, tellReturn, tellEnd } = plaudit.controls;
const { named, makePositions, colour, dash, swatch, read } = plaudit.palette;

async function show(page) {
  const [source, run] = page.parts;
  const found = await page.get(joinAddress("episodes", source, run));
  const rows = makeRows(found);
  const title = h("h1", {}, "Episodes");
  if (rows.length === 0)
    return [
      title,
      emptyState(
        "No episodes in this run yet.",
        "Episodes appear here once steps are recorded with episode=.",
      ),
    ];
  const reward = await loadReward(page, source, run);
  const numbers = listNumbers(found);
  return [
    title,
    h("p.lead", {}, tellShown(found, run)),
    await showPair(page, reward),
    h(
      "div.columns",
      {},
      section("Scatter plot", {}, drawScatter(page, rows, numbers)),
      section("Lowest and highest returns", {}, listExtremes(page, rows)),
    ),
    section("All episodes", {}, listRows(page, rows, numbers, makePositions(reward))),
  ];
}

function tellShown({ shown, of, unfinished, chosen, embedded }, run) {
  const open = unfinished ? ` ${count(unfinished, "unfinished episode")} not counted in returns.` : "";
  const all =
    shown === of
      ? `${count(of, "episode")} in ${runName(run)}.${open}`
      : `${number(shown)} of ${count(of, "episode")}: ${chosen}.${open}`;
  return embedded ? `${all} This report contains the steps of ${embedded.length === of ? `all ${number(of)}` : number(embedded.length)}.` : all;
}

async function loadReward(page, source, run) {
  const known = page.index.sources.find((each) => each.id === source)?.runs?.find((each) => (each.run ?? "") === run);
  return known?.rewards.length ? page.getReward(known.rewards.at(-1)).catch(() => null) : null;
}

/** A row for each episode, its terms by name. */
function makeRows({ columns, embedded }) {
  const open = embedded ? new Set(embedded.map(String)) : null;
  return columns.episode.map((episode, at) => ({
    episode,
    at,
    return: columns.return[at],
    soFar: columns.so_far[at],
    isFinished: columns.so_far[at] === null,
    length: columns.length[at],
    end: columns.end[at],
    time: columns.time?.[at],
    native: columns.native?.[at],
    opens: open === null || open.has(String(episode)),
    terms: Object.fromEntries(Object.entries(columns.terms).map(([name, values]) => [name, values[at]])),
  }));
}

/** What can be drawn: return, length and each term. */
function listNumbers({ columns }) {
  const found = { return: (row) => row.return, length: (row) => row.length };
  if (columns.native) found["environment reward"] = (row) => row.native;
  for (const name of Object.keys(columns.terms)) found[name] = (row) => row.terms[name];
  return found;
}

function drawScatter(page, every, numbers) {
  const rows = every.filter((row) => row.isFinished);
  if (rows.length === 0) return emptyState("No finished episodes yet.");
  const names = Object.keys(numbers).map((name) => [name, name]);
  const pick = (name, other) => (Object.hasOwn(numbers, page.options[name] ?? "") ? page.options[name] : other);
  const [across, up] = [pick("x", "length"), pick("y", "return")];
  const points = rows
    .map((row) => ({ x: toNumber(numbers[across](row)), y: numbers[up](row), row }))
    .filter((each) => Number.isFinite(each.x))
    .sort((a, b) => a.x - b.x);
  const tell = h("p.quiet", { role: "status" }, `${up} vs. ${across}. Click a point to open its episode.`);
  const made = plaudit.charts.chart({
    label: `${up} vs. ${across}, ${count(points.length, "episode")}`,
    x: points.map((each) => each.x),
    xTitle: across,
    height: 300,
    legend: false,
    series: [{ name: up, values: points.map((each) => each.y), colour: read("term-0"), kind: "points" }],
    onPick: (at) => {
      location.hash = link("episode", ...page.parts, points[at].row.episode);
    },
  });
  return [
    h(
      "div.bar",
      {},
      select("X axis", names, across, (value) => page.redraw({ x: value })),
      select("Y axis", names, up, (value) => page.redraw({ y: value })),
    ),
    made.element,
    tell,
  ];
}

function listExtremes(page, rows) {
  const order = rows
    .filter((row) => Number.isFinite(toNumber(row.return)))
    .sort((a, b) => toNumber(a.return) - toNumber(b.return));
  if (order.length === 0) return emptyState("No finished episodes yet.");
  const most = Math.min(5, Math.ceil(order.length / 2));
  const line = (row) =>
    h(
      "tr",
      {},
      h("td", {}, openLink(page, row)),
      h("td.number", {}, number(row.return)),
      h("td.number", {}, count(row.length, "step")),
    );
  const list = (title, found) => h("div", {}, h("h3", {}, title), h("table.even", {}, h("tbody", {}, found.map(line))));
  return [list("Lowest", order.slice(0, most)), h("p", {}), list("Highest", order.slice(-most).reverse())];
}

function openLink(page, row) {
  const name = shorten(row.episode, 40);
  return row.opens
    ? h("a", { href: link("episode", ...page.parts, row.episode) }, name)
    : h("span", { title: "This report does not contain the steps of this episode" }, name);
}

function listRows(page, rows, numbers, place) {
  const terms = Object.keys(rows[0].terms);
  const choose = (row) => {
    const { a, b } = page.options;
    const chosen = [a, b].includes(String(row.episode));
    const set = chosen
      ? { [String(row.episode) === a ? "a" : "b"]: null }
      : a === undefined
        ? { a: row.episode }
        : { b: row.episode };
    return h(
      "button.plain",
      { type: "button", id: `pair-${row.at}`, "aria-pressed": String(chosen), onclick: () => page.redraw(set) },
      chosen ? "selected" : "compare",
    );
  };
  const [column, way] = (page.options.sort ?? "").split(".");
  return plaudit.table({
    label: "Episodes",
    rows,
    sort: column ? { column: Number(column), down: way === "down" } : null,
    onSort: (sort) => page.keep({ sort: `${sort.column}.${sort.down ? "down" : "up"}` }),
    columns: [
      { name: "Episode", value: (row) => row.episode, show: (row) => openLink(page, row) },
      { name: "Return", number: true, value: (row) => row.return, show: showReturn },
      { name: "Steps", number: true, value: (row) => row.length },
      { name: "End", value: nameEnd, show: (row) => nameEnd(row) && h("span.tag", {}, nameEnd(row)) },
      ...terms
        .slice(0, 40)
        .map((name) => ({ name: named(place(name), name), number: true, value: (row) => row.terms[name] })),
      { name: "Started (UTC)", time: true, value: (row) => row.time, show: (row) => time(row.time) },
      {
        name: h("span.hidden", {}, "Compare side by side"),
        sortable: false,
        value: () => null,
        show: (row) => row.opens && choose(row),
      },
    ],
  });
}

const showReturn = (row) =>
  row.isFinished ? number(row.return) : h("span.quiet", {}, `${number(row.soFar)} so far`);
const nameEnd = (row) => row.end ?? (row.isFinished ? null : "unfinished");

/** Two episodes side by side, where two are chosen. */
async function showPair(page, reward) {
  const { a, b } = page.options;
  if (a === undefined && b === undefined) return null;
  if (a === undefined || b === undefined)
    return h(
      "p.note",
      { role: "status" },
      `Episode ${shorten(a ?? b, 40)} is selected. Select another one in the table to see both side by side.`,
    );
  const pair = await Promise.all([a, b].map((each) => page.get(joinAddress("episode", ...page.parts, each))));
  const place = makePositions(reward);
  const sums = pair.map((each) => sumTerms(each));
  const names = [...new Set(sums.flatMap((each) => Object.keys(each)))];
  return section(
    "Side by side",
    {},
    h(
      "div.bar",
      {},
      button("Close", () => page.redraw({ a: null, b: null })),
    ),
    h(
      "div.columns",
      {},
      pair.map((each) =>
        h(
          "div",
          {},
          h(
            "h3",
            {},
            h("a", { href: link("episode", ...page.parts, each.episode) }, `Episode ${shorten(each.episode, 40)}`),
          ),
          facts([tellReturn(each), ["Steps", number(each.of)], tellEnd(each)]),
          drawTimeline(each, place, pair),
        ),
      ),
    ),
    plaudit.table({
      label: "Terms of both episodes",
      rows: names,
      columns: [
        { name: "Term", value: (name) => name, show: (name) => named(place(name), name) },
        ...pair.map((each, at) => ({
          name: `Episode ${shorten(each.episode, 20)}`,
          number: true,
          value: (name) => sums[at][name],
        })),
        {
          name: "Difference",
          number: true,
          value: (name) => difference(sums, name),
          show: (name) => signed(difference(sums, name)),
        },
      ],
    }),
  );
}

const sum = (values) => values.reduce((all, each) => all + (each === null ? 0 : toNumber(each)), 0);
const sumTerms = (episode) =>
  Object.fromEntries(
    Object.entries({ ...episode.values, ...episode.adjustments }).map(([name, values]) => [name, sum(values)]),
  );
const difference = ([first, second], name) => (second[name] ?? 0) - (first[name] ?? 0);

/** The terms of an episode piled up; both of a pair on the same axes. */
function drawTimeline(episode, place, pair) {
  const series = Object.entries({ ...episode.values, ...episode.adjustments }).map(([name, values]) => ({
    name,
    values,
    colour: colour(place(name)),
    dash: dash(place(name)),
    mark: swatch(place(name)),
    kind: "none",
  }));
  const longest = Math.max(...pair.map((each) => each.shown));
  const ranges = pair.map((each) =>
    plaudit.stacks
      .pile(
        Object.entries({ ...each.values, ...each.adjustments }).map(([name, values]) => ({ name, values })),
        "bars",
      )
      .range(),
  );
  const range = () => [Math.min(...ranges.map(([low]) => low)), Math.max(...ranges.map(([, high]) => high))];
  return plaudit.stacks.drawPile(
    {
      range,
      label: `Terms of episode ${episode.episode}`,
      x: episode.steps.map((_, at) => at),
      xTitle: "step",
      series,
      height: 220,
      zoom: false,
      xRange: () => [-0.5, longest - 0.5],
    },
    "bars",
  );
}

plaudit.views.episodes = { show };
