// Two texts in rows, their differing words marked: the report's page and the service's console draw them by this.
// It only ever sets text, never HTML: ids and texts are anybody's.

export function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

export function filled(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children.filter((child) => child !== null));
  return node;
}

const whole = new Intl.NumberFormat("en-US");
export const number = (value) => whole.format(value);
export const plural = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;
export const similarity = (value) => (value === null ? "unknown" : value.toFixed(3));
export const idOf = (text) => element("bdi", { class: "id" }, text);

// Which forms a font gives to Han characters.
const SCRIPTS = [[/[\u3040-\u30ff]/, "ja"], [/[\uac00-\ud7a3]/, "ko"], [/[\u4e00-\u9fff]/, "zh"], [/(?:)/, ""]];
export const language = (text) => SCRIPTS.find(([script]) => script.test(text))[1];

// A row is a list of segments: a string that both texts have, [left, right] of other words, [left, right, 0] of the same
// words with other blanks; or a gap, {left, right, equal}: so many characters are left out.
export const isGap = (row) => !Array.isArray(row);
const isEqual = (row) => (isGap(row) ? row.equal : row.every((segment) => typeof segment === "string"));
const CONTEXT = 1;

// Long runs of equal rows wait behind a button, but for a row of context beside each difference. What trims leaves out
// the blanks behind a row.
export function drawRows(rows, { trims = false } = {}) {
  const draw = (row) => drawRow(row, trims);
  const drawn = [];
  for (let start = 0; start < rows.length; ) {
    let stop = start;
    while (stop < rows.length && isEqual(rows[stop])) stop += 1;
    const first = start === 0 ? start : start + CONTEXT;
    const last = stop === rows.length ? stop : stop - CONTEXT;
    const folds = last - first > 1 && (start > 0 || stop < rows.length);
    drawn.push(...rows.slice(start, folds ? first : stop).map(draw));
    if (folds) drawn.push(folded(rows.slice(first, last), draw), ...rows.slice(last, stop).map(draw));
    drawn.push(...rows.slice(stop, stop + 1).map(draw));
    start = stop + 1;
  }
  return drawn;
}

function folded(rows, draw) {
  const length = (row) => (isGap(row) ? row.left : row.reduce((sum, segment) => sum + segment.length, 0));
  const count = rows.reduce((sum, row) => sum + length(row), 0);
  const button = element("button", { class: "gap", type: "button" }, `Show ${plural(count, "equal character")}`);
  button.addEventListener("click", () => {
    const drawn = rows.map(draw);
    drawn[0].tabIndex = -1;
    button.replaceWith(...drawn);
    drawn[0].focus({ preventScroll: true });
  });
  return button;
}

function drawRow(row, trims) {
  if (isGap(row)) {
    const what = row.equal
      ? `${plural(row.left, "equal character")} left out of this page`
      : `left out of this page: ${plural(row.left, "character")} of the kept text, ${number(row.right)} of the duplicate`;
    return element("p", { class: "gap" }, what);
  }
  const differs = row.some((segment) => Array.isArray(segment) && segment.length === 2);
  return element("div", { class: differs ? "row differs" : "row equal" }, ...[0, 1].map((at) => cell(row, at, trims)));
}

function cell(row, at, trims) {
  const box = element("div", { class: at ? "right" : "left", dir: "auto" });
  for (const segment of row) {
    if (typeof segment === "string") box.append(segment);
    else if (segment.length > 2) box.append(segment[at]);
    else if (segment[at]) box.append(element(at ? "ins" : "del", { class: kindOf(segment) }, segment[at]));
  }
  while (trims && box.lastChild && !box.lastChild.textContent.trim()) box.lastChild.remove();
  if (trims && box.lastChild) box.lastChild.textContent = box.lastChild.textContent.trimEnd();
  return box;
}

const kindOf = ([left, right]) => (left && right ? "changed" : left ? "left" : "right");
