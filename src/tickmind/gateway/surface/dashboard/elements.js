// Elements of the page. Texts from outside get in as text nodes only, so that they stay texts.

/** Make an element: `make("td", "number")`, with children if there are any. */
export function make(tag, kind = "", ...children) {
  const element = document.createElement(tag);
  if (kind) element.className = kind;
  element.append(...children);
  return element;
}

/** Set a text, only if it is another one: what is selected or read aloud stays undisturbed. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
  return element;
}

/** Show an element or not. */
export function show(element, visible) {
  if (element.hidden === visible) element.hidden = !visible;
  return element;
}

/** Set a class name, only if it is another one. */
export function dress(element, kind) {
  if (element.className !== kind) element.className = kind;
  return element;
}

/** A list whose entries keep their elements: `update` fills the element of an item, `begin` makes one. */
export class List {
  constructor(parent, begin, update) {
    this.parent = parent;
    this.begin = begin;
    this.update = update;
    this.parts = new Map(); // key of an item -> what `begin` made for it
  }

  /** Show these items in this order. `keyOf` returns the identity of an item. */
  fill(items, keyOf) {
    const old = this.parts;
    this.parts = new Map();
    let place = this.parent.firstChild;
    for (const item of items) {
      let key = keyOf(item);
      while (this.parts.has(key)) key += "'";
      const part = old.get(key) ?? this.begin(item);
      old.delete(key);
      this.parts.set(key, part);
      this.update(part, item);
      if (part.root === place) place = place.nextSibling;
      else this.parent.insertBefore(part.root, place);
    }
    for (const part of old.values()) part.root.remove();
    const empty = this.parent.closest("section")?.querySelector(".empty");
    const frame = this.parent.closest("table");
    if (empty && !this.parent.classList.contains("chips")) {
      show(empty, items.length === 0);
      if (frame) show(frame, items.length > 0);
    }
  }
}

/** A row of a table: its cells by name. Cells know their heading, for narrow screens, where rows become cards. */
export function row(table, names) {
  const headings = [...table.tHead.rows[0].cells];
  const root = make("tr");
  const cells = {};
  names.forEach((name, number) => {
    const cell = make(number ? "td" : "th", headings[number].className);
    if (!number) cell.scope = "row";
    cell.dataset.heading = headings[number].textContent;
    cells[name] = cell;
    root.append(cell);
  });
  return { root, ...cells };
}

/** A bar with its words beside it: `part` of 0 to 1 is full, and a mark stands at `mark`, if there is one. */
export class Bar {
  constructor() {
    this.fill = make("span", "fill");
    this.mark = make("span", "mark");
    this.track = make("span", "track", this.fill, this.mark);
    this.words = make("span", "words");
    this.root = make("span", "bar", this.track, this.words);
    this.track.ariaHidden = "true";
  }

  set(part, words, { mark = null, kind = "", title = "" } = {}) {
    const full = Math.max(0, Math.min(1, part));
    this.fill.style.setProperty("width", `${(100 * full).toFixed(1)}%`);
    show(this.mark, mark !== null);
    if (mark !== null) this.mark.style.setProperty("left", `${(100 * Math.min(1, mark)).toFixed(1)}%`);
    dress(this.root, kind ? `bar ${kind}` : "bar");
    if (this.root.title !== title) this.root.title = title;
    say(this.words, words);
  }
}

const clocks = new Set(); // elements that count down

/** Let an element count down to a time of `performance.now()`. */
export function countTo(element, until, words) {
  element.until = until;
  element.countdownWords = words;
  clocks.add(element);
  tick(element, performance.now());
}

/** Stop counting down. */
export function stopCount(element) {
  clocks.delete(element);
  say(element, "");
}

/** Move all countdowns on; those that have left the page are forgotten. */
export function tickAll() {
  const now = performance.now();
  for (const element of clocks) {
    if (element.isConnected) tick(element, now);
    else clocks.delete(element);
  }
}

function tick(element, now) {
  say(element, element.countdownWords(Math.max(0, element.until - now)));
}
