// Tables that are sorted by a click on a heading; numbers to the right.

const { h, replace } = plaudit.dom;
const { number, toNumber, isNumber, value: formatValue } = plaudit.format;

/**
 * Make a table.
 * @param {Object} spec
 * @param {string} spec.label what the table holds, for those who cannot see it
 * @param {Array<{name: any, number?: boolean, time?: boolean, value: (row: any) => any, show?: (row: any) => any, sortable?: boolean}>} spec.columns
 * @param {any[]} spec.rows
 * @param {{column: number, down: boolean}} [spec.sort] how it is sorted at first; as given where it is left out
 * @param {(sort: {column: number, down: boolean}) => void} [spec.onSort]
 * @param {number} [spec.most] rows that are shown at first
 * @param {(row: any, element: HTMLElement) => void} [spec.decorate]
 */
function makeTable({ label, columns, rows, sort = null, onSort = () => {}, most = 100, decorate = null }) {
  let shown = most;
  const head = h("tr", {});
  const body = h("tbody", {});
  const more = h("p", {});

  function draw() {
    const order = sort === null ? rows : sortRows(rows, columns[sort.column], sort.down);
    replace(head, columns.map(makeHeading));
    replace(body, order.slice(0, shown).map(makeRow));
    replace(
      more,
      rows.length > shown &&
        h(
          "button.plain",
          {
            type: "button",
            onclick: () => {
              shown *= 4;
              draw();
            },
          },
          `Show more (${number(rows.length - shown)} hidden)`,
        ),
    );
  }

  function makeHeading(column, at) {
    const cell = { scope: "col", class: column.number ? "number" : null };
    if (column.sortable === false) return h("th", cell, column.name);
    const sorted = sort?.column === at ? (sort.down ? "descending" : "ascending") : null;
    const turn = () => {
      sort = { column: at, down: sort?.column === at ? !sort.down : Boolean(column.number) };
      onSort(sort);
      draw();
      head.children[at].querySelector("button").focus();
    };
    return h("th", { ...cell, "aria-sort": sorted }, h("button", { type: "button", onclick: turn }, column.name));
  }

  function makeRow(row) {
    const made = h(
      "tr",
      {},
      columns.map((column) => makeCell(column, row)),
    );
    decorate?.(row, made);
    return made;
  }

  draw();
  return h(
    "div.table",
    { role: "region", "aria-label": label, tabindex: "0" },
    h("table", {}, h("caption.hidden", {}, label), h("thead", {}, head), body),
    more,
  );
}

function makeCell(column, row) {
  const value = column.show
    ? column.show(row)
    : column.number
      ? number(column.value(row))
      : formatValue(column.value(row));
  return h("td", { class: column.number ? "number" : column.time ? "time" : null }, value);
}

/** Rows by a column, up or down; those that have no value there come last either way. */
function sortRows(rows, column, down) {
  const keyed = rows.map((row, at) => [column.value(row), at, row]);
  const known = keyed.filter(([value]) => !isNothing(value));
  known.sort(([a, i], [b, j]) => (down ? compareValues(b, a) : compareValues(a, b)) || i - j);
  return [...known, ...keyed.filter(([value]) => isNothing(value))].map(([, , row]) => row);
}

const isNothing = (value) =>
  value === null || value === undefined || (isNumber(value) && Number.isNaN(toNumber(value)));

function compareValues(a, b) {
  if (isNumber(a) && isNumber(b)) return Math.sign(toNumber(a) - toNumber(b)) || 0; // of two infinities, 0
  return String(a).localeCompare(String(b), "en", { numeric: true });
}

plaudit.table = makeTable;
