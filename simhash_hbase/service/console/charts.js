// Bars that stand (columns) or lie (rows), as wide as there is room; the figures are below each as a table.

import { element, number, roughly, shape } from "./elements.js";

const COLUMNS = { height: 220, left: 44, bottom: 26, top: 10, most: 64 };
const ROWS = { pitch: 26, left: 128, gap: 8 };
const DIGIT = 7.5;

export const columns = (title, subtitle, bars, names) => ({ title, subtitle, bars, names, draw: drawColumns });
export const rows = (title, subtitle, bars, names) => ({ title, subtitle, bars, names, draw: drawRows });

let redraw = () => undefined;

export function showCharts(box, wanted) {
  const figures = wanted.map((chart) => {
    const caption = element("figcaption", {}, chart.title, element("small", {}, chart.subtitle));
    const keys = chart.names.length > 1 ? element("ul", { class: "keys" }, ...chart.names.map(keyEntry)) : null;
    return element("figure", { class: "chart" }, caption, shape("svg"), ...(keys ? [keys] : []), asTable(chart));
  });
  box.replaceChildren(...figures);
  redraw = () => figures.forEach((figure, at) => draw(figure, wanted[at]));
  redraw();
}

export function followWidth(box) {
  new ResizeObserver(() => requestAnimationFrame(redraw)).observe(box);
}

function draw(figure, { bars, names, draw: drawBars }) {
  const { paddingLeft, paddingRight } = getComputedStyle(figure);
  const width = Math.max(figure.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight), 200);
  figure.querySelector(":scope > svg").replaceWith(drawBars(bars, names, width));
}

function asTable({ bars, names }) {
  const head = element("tr", {}, element("td"), ...names.map((name) => element("th", { scope: "col" }, name)));
  const lines = bars.map(({ label, values }) =>
    element("tr", {}, element("th", { scope: "row" }, label), ...values.map((value) => element("td", {}, number(value)))),
  );
  const table = element("table", {}, element("thead", {}, head), element("tbody", {}, ...lines));
  return element("details", {}, element("summary", {}, "as a table"), table);
}

function keyEntry(name, at) {
  const box = shape("svg", { viewBox: "0 0 8 8", "aria-hidden": "true" }, shape("rect", { class: paint(at), width: 8, height: 8, rx: 2 }));
  return element("li", {}, box, name);
}

const widest = (words) => Math.max(...words.map((word) => word.length)) * DIGIT;
const paint = (at) => (at ? "two" : "one");
const total = ({ values }) => values.reduce((sum, value) => sum + value, 0);
const told = ({ label, values }, names) => `${label}: ${values.map((value, at) => `${number(value)} ${names[at]}`).join(", ")}`;
const canvas = (width, height) => shape("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" });

// Steps that the eye can count, and a round number at or above the largest.
function scale(largest) {
  const rough = Math.max(largest, 1) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, [1, 2, 5, 10].find((factor) => factor * power >= rough) * power);
  return { step, most: step * Math.ceil(Math.max(largest, 1) / step) };
}

function drawColumns(bars, names, width) {
  const { height, left, bottom, top } = COLUMNS;
  const floor = height - bottom;
  const { step, most } = scale(Math.max(...bars.map(total)));
  const y = (value) => floor - ((floor - top) * value) / most;
  const pitch = Math.min((width - left) / bars.length, COLUMNS.most);
  const drawing = canvas(width, height);
  for (let value = 0; value <= most; value += step) drawing.append(...gridLine(y(value), roughly(value), width));
  bars.forEach((bar, at) => drawing.append(column(bar, names, left + at * pitch, pitch, y)));
  drawing.append(...columnLabels(bars, left, pitch, width));
  return drawing;
}

function gridLine(y, label, width) {
  const line = shape("line", { class: "axis", x1: COLUMNS.left, x2: width, y1: y, y2: y });
  return [line, shape("text", { x: COLUMNS.left - 8, y: y + 4, "text-anchor": "end" }, label)];
}

// All of the column answers the pointer, however low its bar; what is not zero can be seen.
function column(bar, names, x, pitch, y) {
  const group = shape("g", {}, shape("title", {}, told(bar, names)));
  group.append(shape("rect", { class: "column", x, y: 0, width: pitch, height: y(0) }));
  let top = y(0);
  bar.values.forEach((value, at) => {
    const height = value ? Math.max(y(0) - y(value), 1.5) : 0;
    top -= height;
    const place = { x: x + pitch * 0.1, y: top, width: pitch * 0.8, height };
    if (height) group.append(shape("rect", { class: paint(at), ...place }));
  });
  return group;
}

// As many labels as there is room for, the first one always.
function columnLabels(bars, left, pitch, width) {
  const half = widest(bars.map(({ label }) => label)) / 2;
  const every = Math.ceil((2 * half + 10) / pitch);
  return bars.flatMap(({ label }, at) => {
    const middle = Math.max(left + (at + 0.5) * pitch, half);
    const hasRoom = at % every === 0 && (at === 0 || middle + half <= width);
    return hasRoom ? [shape("text", { x: middle, y: COLUMNS.height - 7, "text-anchor": "middle" }, label)] : [];
  });
}

function drawRows(bars, names, width) {
  const { pitch, gap } = ROWS;
  const most = Math.max(...bars.map(total), 1);
  // The bars have what the words before and behind them leave.
  const left = Math.max(ROWS.left, widest(bars.map(({ label }) => label)) + gap);
  const right = widest(bars.map((bar) => number(total(bar)))) + 2 * gap;
  const drawing = canvas(width, bars.length * pitch);
  bars.forEach((bar, at) => {
    const long = Math.max(((width - left - right) * total(bar)) / most, 2);
    const middle = at * pitch + pitch / 2 + 4;
    drawing.append(shape("text", { x: 0, y: middle }, bar.label));
    drawing.append(shape("rect", { class: "one", x: left, y: at * pitch + 5, width: long, height: pitch - 10, rx: 2 }));
    drawing.append(shape("text", { class: "count", x: left + long + gap, y: middle }, number(total(bar))));
  });
  return drawing;
}
