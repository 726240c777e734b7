// Controls that several views have.

const { h } = plaudit.dom;
const { number } = plaudit.format;

/** A few choices side by side, one of them taken. */
function choose(label, choices, taken, onChoose) {
  return h(
    "div.choice",
    { role: "group", "aria-label": label },
    Object.entries(choices).map(([value, name]) =>
      h(
        "button",
        {
          type: "button",
          id: `choose-${label}-${value}`.replace(/\W+/g, "-"),
          "aria-pressed": String(value === taken),
          onclick: () => onChoose(value),
        },
        name,
      ),
    ),
  );
}

/** A list to choose from. */
function select(label, choices, taken, onChoose, { hidden = false } = {}) {
  const id = `select-${label}`.replace(/\W+/g, "-");
  const list = h(
    "select",
    { id, "aria-label": hidden ? label : null, onchange: () => onChoose(list.value) },
    choices.map(([value, name]) =>
      h("option", { value, selected: value === taken ? true : null }, plaudit.format.shorten(name, 50)),
    ),
  );
  return hidden ? list : h("label.field", { for: id }, label, list);
}

function button(text, action, attributes = {}) {
  return h("button.action", { type: "button", onclick: action, ...attributes }, text);
}

/** A button that copies a text, and says so. */
function copyButton(name, makeText) {
  const made = button(name, async () => {
    const done = await copyText(makeText());
    made.textContent = done ? "Copied" : "Not copied";
    setTimeout(() => {
      made.textContent = name;
    }, 1200);
  });
  return made;
}

/** From a file there is no clipboard in some browsers: a selection is copied then. */
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = h("textarea", { value: text });
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

/** Facts about what is shown: a name and a value each. */
function facts(entries) {
  return h(
    "dl.facts",
    {},
    entries
      .filter(Boolean)
      .map(([name, value, more]) =>
        h("div", {}, h("dt", {}, name), h("dd", {}, value, more && [" ", h("small", {}, more)])),
      ),
  );
}

/** What an episode earned; of one that is not finished, what it has earned so far, which is no return. */
const tellReturn = ({ return: all, so_far: soFar }) =>
  soFar === null ? ["Return", number(all)] : ["Earned so far", number(soFar)];
const tellEnd = ({ end, so_far: soFar }) => ["End", end ?? (soFar === null ? "–" : "unfinished")];

/** Why a step has no score; null where it has one. */
function tellMasked(reason) {
  return reason === null || reason === undefined ? null : `Not scored${reason ? `: ${reason}` : "."}`;
}

/** Findings of checks and audits: what is wrong, and what to do. */
function finding(each, ...more) {
  const grave = ["error", "warning"].includes(each.severity) ? each.severity : "advice";
  return h(
    `div.finding.${grave}`,
    {},
    h(
      "p",
      {},
      h("strong", {}, plaudit.format.shorten(each.code, 60)),
      each.where && [" in ", h("code", {}, plaudit.format.shorten(each.where, 80))],
      " ",
      h("span.tag", {}, plaudit.format.shorten(each.severity, 20)),
    ),
    h("p", {}, each.message),
    each.evidence && h("p", {}, each.evidence),
    each.advice && h("p.quiet", {}, each.advice),
    (each.grounds || []).map((ground) => h("p.quiet", {}, ground)),
    more,
  );
}

plaudit.controls = { choose, select, button, copyButton, facts, tellReturn, tellEnd, tellMasked, finding };
