// The legend of a chart.

const { h } = plaudit.dom;
const { number } = plaudit.format;

/** Names with colours; a click hides a series, and the values under the cursor stand beside them. */
function makeLegend(spec, toggle) {
  const at = h("output", {});
  let place = 0;
  const items = spec.series.map((each) => {
    const mine = ++place;
    if (each.low) place += 2;
    const value = h("output", {});
    const button = h(
      "button",
      { type: "button", "aria-pressed": "true" },
      each.mark ?? h("span.swatch", { "aria-hidden": "true", style: { "--swatch": each.colour } }),
      plaudit.format.shorten(each.name, 60),
      value,
    );
    button.addEventListener("click", () => {
      const on = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(on));
      for (let part = 0; part < (each.low ? 3 : 1); part++) toggle(mine + part, on);
      spec.onToggle?.(each.name, on);
    });
    return { button, value, each };
  });
  const element = h(
    "ul.legend",
    {},
    items.map(({ button }) => h("li", {}, button)),
    h("li", {}, at),
  );
  const update = (index) => {
    for (const { value, each } of items) value.textContent = index === null ? "" : number(each.values[index]);
    at.textContent = index === null ? "" : `${spec.xName ?? spec.xTitle ?? "at"} ${nameX(spec, index)}`;
  };
  return { element, update };
}

const nameX = ({ x, xNames, xFormat }, at) => xNames?.[at] ?? (xFormat ? xFormat(x[at]) : number(x[at]));

plaudit.makeLegend = makeLegend;
