// A map of a number over two inputs, and the marks on maps and curves.

const { h } = plaudit.dom;
const { number, toNumber, extent } = plaudit.format;
const { read, mix } = plaudit.palette;

/**
 * A map of a number over two inputs: what pays in blue, what costs in vermilion, nothing in the colour of the page.
 * @param {{label: string, x: number[], y: number[], z: any[][], xTitle: string, yTitle: string, marks?: Array<{x: number, y: number}>}} spec
 */
function heatMap(spec) {
  const values = spec.z.map((row) => row.map(toNumber));
  const [low, high] = extent(values.flat());
  const most = Math.max(Math.abs(low), Math.abs(high), 1e-12);
  const shade = (value) =>
    Number.isFinite(value)
      ? mix(read("surface"), read(value < 0 ? "term-3" : "term-0"), Math.sqrt(Math.abs(value) / most))
      : read("sunken");
  const value = h("output", {});
  /** Half a cell more on either side, so that the first and the last are as wide as the others. */
  const edges = (list) =>
    list.length < 2
      ? [list[0] - 0.5, list[0] + 0.5]
      : [list[0] - (list[1] - list[0]) / 2, list.at(-1) + (list.at(-1) - list.at(-2)) / 2];
  const fillCells = (plot, draw) => {
    const across = cells(spec.x, (each) => plot.valToPos(each, "x", true));
    const down = cells(spec.y, (each) => plot.valToPos(each, "y", true));
    values.forEach((row, j) =>
      row.forEach((each, i) => {
        draw.fillStyle = shade(each);
        draw.fillRect(across[i][0], down[j][1], across[i][1] - across[i][0] + 1, down[j][0] - down[j][1] + 1);
      }),
    );
  };
  const drawMarks = (plot, draw) => {
    for (const mark of spec.marks ?? [])
      drawDiamond(draw, plot.valToPos(mark.x, "x", true), plot.valToPos(mark.y, "y", true));
  };
  const made = plaudit.charts.chart({
    ...spec,
    series: [
      {
        name: spec.yTitle,
        values: spec.x.map((_, at) => (at ? spec.y.at(-1) : spec.y[0])),
        colour: "transparent",
        kind: "none",
      },
    ],
    range: () => edges(spec.y),
    xRange: () => edges(spec.x),
    legend: false,
    zoom: false,
    under: fillCells,
    over: drawMarks,
    caption: [
      `Y axis: ${spec.yTitle}. Colors from ${number(low)} (orange: costs) to ${number(high)} (blue: pays). `,
      value,
    ],
  });
  made.element.addEventListener("mousemove", (event) => {
    const over = made.element.querySelector(".u-over")?.getBoundingClientRect();
    if (!over) return;
    const i = Math.floor(((event.clientX - over.left) / over.width) * spec.x.length),
      j = Math.floor((1 - (event.clientY - over.top) / over.height) * spec.y.length);
    const found = values[j]?.[i];
    value.textContent =
      found === undefined
        ? ""
        : `${spec.xTitle} ${number(spec.x[i])}, ${spec.yTitle} ${number(spec.y[j])}: ${number(found)}`;
  });
  return made;
}

/** Each value's cell: from half way to the one before it to half way to the next. */
function cells(list, place) {
  const half = (at) =>
    list.length < 2
      ? 0.5
      : Math.abs(list[at + 1 < list.length ? at + 1 : at] - list[at + 1 < list.length ? at : at - 1]) / 2;
  return list.map((each, at) => [place(each - half(Math.max(0, at - 1))), place(each + half(at))]);
}

function drawDiamond(draw, x, y) {
  const size = 6 * devicePixelRatio;
  draw.beginPath();
  draw.moveTo(x, y - size);
  draw.lineTo(x + size, y);
  draw.lineTo(x, y + size);
  draw.lineTo(x - size, y);
  draw.closePath();
  draw.fillStyle = read("bad");
  draw.strokeStyle = read("surface");
  draw.lineWidth = 2 * devicePixelRatio;
  draw.stroke();
  draw.fill();
}

plaudit.heat = { heatMap, drawDiamond };
