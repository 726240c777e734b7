// The steps of a run: how often clamps applied, which branches were taken, the environment reward.

const { h, replace, section } = plaudit.dom;
const { number, count, joinAddress } = plaudit.format;
const { colour, dash, swatch, named, mix, read } = plaudit.palette;

const MOST_BRANCHES = 12;

/** Clamps and branches over time; they take longer to read than the curves, so they arrive later. */
function showSteps(page, place) {
  const holder = h("div", {});
  const address = joinAddress("steps", ...page.parts);
  if (!plaudit.store.has(address)) return holder;
  page
    .get(address)
    .then((steps) => replace(holder, drawSteps(steps, place)))
    .catch((error) => replace(holder, h("p.note", {}, error.message)));
  return holder;
}

function drawSteps(steps, place) {
  const { sampled } = steps;
  const caption =
    sampled && sampled.episodes < sampled.of
      ? `From ${number(sampled.episodes)} of ${count(sampled.of, "episode")}, spread evenly over the run.`
      : null;
  const shared = { ...plaudit.overRun(steps), caption };
  const clamps = Object.entries(steps.clamps ?? {}).map(([name, values]) => ({
    name,
    values,
    colour: colour(place(name)),
    dash: dash(place(name)),
    mark: swatch(place(name)),
  }));
  const branches = [...groupBranches(steps.branches ?? {})].map(([term, series]) =>
    h("div", {}, h("h3", {}, named(place(term), term)), drawBranches(shared, place(term), series)),
  );
  return [
    clamps.length > 0 &&
      section(
        "Share of steps clamped",
        {},
        plaudit.charts.chart({
          ...shared,
          label: "Share of steps clamped",
          series: clamps,
          height: 200,
          range: () => [0, 1.02],
        }).element,
      ),
    branches.length > 0 && section("Branches taken, share of steps", {}, h("div.columns", {}, branches)),
    steps.native &&
      section(
        "Environment reward",
        {},
        plaudit.charts.chart({
          ...shared,
          label: "Environment reward",
          series: [{ name: "environment reward", values: steps.native, colour: read("ink") }],
          height: 200,
        }).element,
      ),
  ];
}

/** `"term: condition"` by term. */
function groupBranches(branches) {
  const groups = new Map();
  for (const [name, values] of Object.entries(branches)) {
    const at = name.indexOf(": ");
    const [term, condition] = at < 0 ? [name, name] : [name.slice(0, at), name.slice(at + 2)];
    groups.set(term, [...(groups.get(term) ?? []), { name: condition, values }]);
  }
  return groups;
}

/** The branches of one term, in shades of its colour. */
function drawBranches(shared, at, series) {
  const shaded = series.slice(0, MOST_BRANCHES).map((each, k) => {
    const shade = mix(colour(at), read("surface"), (0.85 * k) / Math.max(1, series.length - 1));
    return { ...each, colour: shade, kind: "none" };
  });
  return plaudit.stacks.drawPile(
    {
      ...shared,
      label: `Branches taken: ${series.map((each) => each.name).join("; ")}`,
      series: shaded,
      height: 150,
      range: () => [0, 1],
    },
    "areas",
  );
}

plaudit.showSteps = showSteps;
