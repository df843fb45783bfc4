// Small charts over the last minutes, drawn as SVG.

import { make, say } from "./elements.js";

const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 132;
const TOP = 8;
const BOTTOM = 18;
const LEFT = 4;
const RIGHT = 4;
const WINDOW_MS = 300_000;

/** A chart of one or two columns of the history. Hovering, or arrow keys, read single points. */
export class Chart {
  constructor(parent, { title, series, format }) {
    this.series = series; // {name, column, kind}
    this.format = format;
    this.points = [];
    this.cursor = null; // which point is read, or null for the last one
    this.legend = series.map(({ name, kind }) => {
      const value = make("b");
      return { value, root: make("span", `key ${kind}`, `${name} `, value) };
    });
    this.when = make("span", "muted");
    this.plot = node("svg", { role: "img", tabindex: "0" });
    parent.append(
      make("div", "chart-head", make("h2", "", title), this.when),
      make("p", "legend", ...this.legend.map((entry) => entry.root)),
      this.plot,
    );
    this.title = title;
    this.grid = node("g", { class: "grid" });
    this.shapes = series.map(({ kind }, number) => ({
      area: number === 0 ? node("path", { class: `area ${kind}` }) : null,
      line: node("path", { class: `line ${kind}` }),
      dot: node("circle", { class: `point ${kind}`, r: 3.2 }),
    }));
    this.rule = node("line", { class: "rule" });
    this.plot.append(this.grid, this.rule);
    for (const { area, line, dot } of this.shapes) this.plot.append(...[area, line, dot].filter(Boolean));
    this.plot.addEventListener("pointermove", (event) => this.pointAt(event.offsetX));
    this.plot.addEventListener("pointerleave", () => this.read(null));
    this.plot.addEventListener("blur", () => this.read(null));
    this.plot.addEventListener("keydown", (event) => this.step(event));
    new ResizeObserver(() => this.draw()).observe(this.plot);
  }

  /** Show a history: columns of equal length, the oldest point first. */
  show(history) {
    let age = 0;
    const points = [];
    for (let number = history.spanMs.length - 1; number >= 0 && age <= WINDOW_MS; number--) {
      points.push({ age, values: this.series.map(({ column }) => history[column][number]) });
      age += history.spanMs[number];
    }
    this.points = points.reverse();
    this.draw();
  }

  draw() {
    const width = this.plot.clientWidth;
    if (!width) return;
    this.width = width;
    set(this.plot, { viewBox: `0 0 ${width} ${HEIGHT}`, height: HEIGHT });
    this.top = niceTop(Math.max(0, ...this.points.flatMap((point) => point.values)));
    this.drawGrid();
    this.shapes.forEach(({ area, line }, number) => {
      const path = this.points.map((point, at) => `${at ? "L" : "M"}${this.x(point)} ${this.y(point.values[number])}`).join("");
      set(line, { d: path });
      if (area && this.points.length) {
        const floor = this.y(0);
        set(area, { d: `${path}L${this.x(this.points.at(-1))} ${floor}L${this.x(this.points[0])} ${floor}Z` });
      }
    });
    this.read(this.cursor);
  }

  drawGrid() {
    const marks = [0.5, 1].map((part) => part * this.top);
    const parts = marks.flatMap((value) => {
      const y = this.y(value);
      const label = node("text", { x: LEFT, y: y + 11 });
      label.textContent = this.format(value);
      return [node("line", { x1: LEFT, x2: this.width - RIGHT, y1: y, y2: y }), label];
    });
    parts.push(node("line", { class: "floor", x1: LEFT, x2: this.width - RIGHT, y1: this.y(0), y2: this.y(0) }));
    for (const minutes of [5, 4, 3, 2, 1, 0]) {
      const x = this.x({ age: minutes * 60_000 });
      const label = node("text", { x, y: HEIGHT - 4, "text-anchor": minutes === 5 ? "start" : minutes ? "middle" : "end" });
      label.textContent = minutes ? `-${minutes} min` : "now";
      parts.push(label);
    }
    this.grid.replaceChildren(...parts);
  }

  /** Show the values of one point; null is the last one. */
  read(cursor) {
    this.cursor = cursor;
    const point = this.points.at(cursor ?? -1);
    this.rule.style.setProperty("display", cursor === null || !point ? "none" : "inline");
    this.legend.forEach(({ value }, number) => say(value, point ? this.format(point.values[number]) : "–"));
    say(this.when, cursor === null || !point ? "" : `${Math.round(point.age / 1000)} s ago`);
    this.shapes.forEach(({ dot }, number) => {
      dot.style.setProperty("display", point ? "inline" : "none");
      if (point) set(dot, { cx: this.x(point), cy: this.y(point.values[number]) });
    });
    if (!point) return;
    set(this.rule, { x1: this.x(point), x2: this.x(point), y1: TOP, y2: this.y(0) });
    const words = this.series.map(({ name }, number) => `${name} ${this.format(point.values[number])}`).join(", ");
    set(this.plot, { "aria-label": `${this.title}: ${words}` });
  }

  pointAt(x) {
    const age = (1 - (x - LEFT) / (this.width - LEFT - RIGHT)) * WINDOW_MS;
    let best = null;
    this.points.forEach((point, number) => {
      if (best === null || Math.abs(point.age - age) < Math.abs(this.points[best].age - age)) best = number;
    });
    this.read(best);
  }

  step(event) {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === "Escape") this.read(null);
    if (!move || !this.points.length) return;
    event.preventDefault();
    const last = this.points.length - 1;
    this.read(Math.max(0, Math.min(last, (this.cursor ?? last) + move)));
  }

  x(point) {
    return (LEFT + (1 - Math.min(1, point.age / WINDOW_MS)) * (this.width - LEFT - RIGHT)).toFixed(1);
  }

  y(value) {
    return Number((TOP + (1 - value / this.top) * (HEIGHT - TOP - BOTTOM)).toFixed(1));
  }
}

/** A line as wide as its element, for a tile: no axes, only how it went. */
export class Spark {
  constructor() {
    this.line = node("path", { class: "line", "vector-effect": "non-scaling-stroke" });
    this.area = node("path", { class: "area" });
    this.root = node("svg", { class: "spark", viewBox: "0 0 100 20", preserveAspectRatio: "none", "aria-hidden": "true" });
    this.root.append(this.area, this.line);
  }

  show(values) {
    const last = values.slice(-60);
    if (last.length < 2) return;
    const top = Math.max(...last) || 1;
    const path = last
      .map((value, at) => `${at ? "L" : "M"}${((100 * at) / (last.length - 1)).toFixed(1)} ${(19 - (17 * value) / top).toFixed(1)}`)
      .join("");
    set(this.line, { d: path });
    set(this.area, { d: `${path}L100 20L0 20Z` });
  }
}

/** The least round number that is not below a value. */
function niceTop(value) {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return power * [1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((step) => step * power >= value * 0.999);
}

function node(tag, attributes = {}) {
  return set(document.createElementNS(SVG, tag), attributes);
}

function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
  }
  return element;
}
