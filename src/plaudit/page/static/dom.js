// Elements made from data: text goes in as text, and no string is ever read as HTML.

/**
 * Make an element.
 * @param {string} kind a tag, with classes after dots: "p.quiet"
 * @param {Object<string, any>} [attributes] `on…` are listeners, `style` an object, null and false are left out
 * @param {...any} children nodes, strings, numbers, lists of them; null and false are left out
 * @returns {HTMLElement}
 */
function h(kind, attributes = {}, ...children) {
  const [tag, ...classes] = kind.split(".");
  return fill(document.createElement(tag), classes, attributes, children);
}

function fill(element, classes, attributes, children) {
  if (classes.length) element.setAttribute("class", classes.join(" "));
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") setStyle(element, value);
    else if (name === "href") setLink(element, String(value));
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

/** Set styles one by one: a `style` attribute is what the policy of the page forbids. */
function setStyle(element, styles) {
  for (const [name, value] of Object.entries(styles)) element.style.setProperty(name, String(value));
}

/** Links stay on the page, or go to an address that was written out; `javascript:` is not one. */
function setLink(element, address) {
  if (address.startsWith("#")) element.setAttribute("href", address);
  if (!/^https:\/\//.test(address)) return;
  element.setAttribute("href", address);
  element.setAttribute("rel", "noopener noreferrer");
}

/** Characters that are not seen and turn the writing round are spelt out: no name can reorder its neighbours. */
function spell(text) {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (each) => {
    return `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

function append(parent, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    parent.append(child instanceof Node ? child : spell(String(child)));
  }
}

/** Put other children into an element. */
function replace(parent, ...children) {
  parent.replaceChildren();
  append(parent, children);
  return parent;
}

/** A part of a view: a heading and what is under it. */
function section(title, attributes, ...children) {
  return h("section.card", attributes, h("h2", {}, title), ...children);
}

/** What stands where there is nothing to show, and why. */
function emptyState(title, ...advice) {
  return h(
    "div.empty",
    {},
    h("p.empty-title", {}, title),
    advice.map((each) => h("p", {}, each)),
  );
}

plaudit.dom = { h, replace, section, emptyState };
