// A term in several views: its formula, its source with the executed lines, its curve.

const { h } = plaudit.dom;
const { number, shorten } = plaudit.format;
const { colour, read } = plaudit.palette;

/** A formula as mathematics where there is markup for it, else as it is written. */
function formula({ mathml, formula: written }) {
  const drawn = plaudit.sanitise(mathml ?? "", "math");
  if (!drawn && !written) return null;
  drawn?.querySelectorAll("mtable").forEach(braceCases);
  return h("div.formula", { tabindex: "0", role: "region", "aria-label": "Formula" }, drawn ?? h("code", {}, written));
}

/** A brace before cases grows only with a font for mathematics, which few systems have: a rounded edge stands for it. */
function braceCases(table) {
  const brace = table.previousElementSibling;
  if (brace?.localName !== "mo" || brace.textContent.trim() !== "{") return;
  brace.setAttribute("class", "hidden");
  table.setAttribute("class", "cases");
}

/**
 * The source of a term.
 * @param {{text: string, first_line: number, file?: string} | null} source
 * @param {number[]} taken numbers of the lines that were taken
 */
function sourceCode(source, taken = []) {
  if (!source?.text) return null;
  const first = source.first_line ?? 1;
  const lines = source.text
    .replace(/\n$/, "")
    .split("\n")
    .map((line, at) =>
      h(
        taken.includes(first + at) ? "span.taken" : "span",
        { "data-line": first + at },
        line || " ",
        taken.includes(first + at) && h("em.hidden", {}, " (executed)"),
      ),
    );
  return h("pre.source", { tabindex: "0", role: "region", "aria-label": "Source" }, h("code", {}, lines));
}

/** The curve of a term over its input, or the map over two, with zones and the witnesses of findings. */
function curve(term, at, { height = 230 } = {}) {
  const { curve: found } = term;
  if (!found) return null;
  const unit = (name, which) => (which ? `${name} (${which})` : name);
  const held = Object.entries(found.held ?? {}).map(([name, value]) => `${name} = ${plaudit.format.value(value)}`);
  const marks = (term.witnesses ?? []).filter((each) => plaudit.format.isNumber(each.x));
  const legend = [
    held.length > 0 && `With ${held.join(", ")}. `,
    marks.length > 0 && `◆ witnesses of findings (${[...new Set(marks.map((each) => each.code))].join(", ")}).`,
  ];
  if (found.kind === "heat") {
    return plaudit.heat.heatMap({
      label: `${term.name} over ${found.x_input} and ${found.y_input}`,
      x: found.x,
      y: found.y,
      z: found.z,
      height,
      xTitle: unit(found.x_input, found.x_unit),
      yTitle: unit(found.y_input, found.y_unit),
      marks,
    }).element;
  }
  const zones = found.zones ?? [];
  return plaudit.charts.chart({
    label: `${term.name} over ${found.input}: ${zones.map((zone) => `${zone.label} from ${number(zone.from)} to ${number(zone.to)}`).join("; ")}`,
    x: found.x,
    xTitle: unit(found.input, found.unit),
    height,
    range: (low, high) => [low - 0.08 * (high - low || 1), high + 0.08 * (high - low || 1)],
    series: [{ name: term.name, values: found.y, colour: colour(at), width: 2.25, mark: plaudit.palette.swatch(at) }],
    under: (plot, draw) => shadeZones(plot, draw, zones),
    over: (plot, draw) =>
      marks.forEach((mark) =>
        plaudit.heat.drawDiamond(
          draw,
          plot.valToPos(mark.x, "x", true),
          plot.valToPos(plaudit.format.toNumber(mark.y), "y", true),
        ),
      ),
    caption: [legend, zones.length > 1 && listZones(zones)],
  }).element;
}

function shadeZones(plot, draw, zones) {
  zones.forEach((zone, at) => {
    const [from, to] = [zone.from, zone.to].map((each) => plot.valToPos(each, "x", true));
    if (at % 2) {
      draw.fillStyle = read("sunken");
      draw.fillRect(from, plot.bbox.top, to - from, plot.bbox.height);
    }
    if (at) plaudit.charts.drawLine(plot, draw, { x: zone.from, colour: read("line"), dash: [3, 3] });
  });
}

function listZones(zones) {
  const last = zones.length - 1;
  return h(
    "ol.zones",
    {},
    zones.map((zone, at) =>
      h("li", {}, h("code", {}, shorten(zone.label, 70)), ` ${at === last ? "up to" : "to"} ${number(zone.to)}`),
    ),
  );
}

plaudit.terms = { formula, sourceCode, curve };
