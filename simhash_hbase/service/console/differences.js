// Two texts in rows, their differing words marked; rows break where both texts end a line or a sentence, so that what
// belongs together is level. Long equal passages wait behind a button.

import { element, button, language, plural } from "./elements.js";

const ROW = 120;
const CONTEXT = 1;
const LINES = /(?<=\n|[。！？；]|[.!?;]\s)/u;
const SENTENCES = /(?<=[。！？；]|[.!?;]\s)/u;
const SIDES = [["left", "del"], ["right", "ins"]];

export function markedTexts(pieces, titles) {
  const head = element("div", { class: "head" }, ...titles.map((title) => element("b", {}, title)));
  const sides = element("div", { class: "sides", id: "marked" }, head, ...drawn(rowsOf(pieces)));
  sides.lang = language(pieces.map(({ left }) => left).join(""));
  return sides;
}

function rowsOf(pieces) {
  const rows = [[]];
  let length = 0;
  for (const part of pieces.flatMap(parts)) {
    rows.at(-1).push(part);
    length += Math.max(part.left.length, part.right.length);
    if (part.kind === "same" && endsRow(part.left, length)) {
      rows.push([]);
      length = 0;
    }
  }
  return rows.filter((row) => row.length);
}

// Equal words with other blanks between them are cut at sentences alone, if that comes out even.
function parts(piece) {
  if (piece.kind !== "same") return [piece];
  const [left, right] = [piece.left, piece.right].map((text) => text.split(piece.left === piece.right ? LINES : SENTENCES));
  return left.length === right.length ? left.map((text, at) => ({ kind: "same", left: text, right: right[at] })) : [piece];
}

const endsRow = (text, length) => /\n\s*$/.test(text) || (length >= ROW && /([。！？；]|[.!?;]\s+)$/u.test(text));
const isEqual = (row) => row.every(({ kind }) => kind === "same");

function drawn(rows) {
  const made = [];
  for (let start = 0; start < rows.length; ) {
    let stop = start;
    while (stop < rows.length && isEqual(rows[stop])) stop += 1;
    const first = start === 0 ? start : start + CONTEXT;
    const last = stop === rows.length ? stop : stop - CONTEXT;
    const folds = last - first > 1 && (start > 0 || stop < rows.length);
    const [before, inside] = folds ? [rows.slice(start, first), [folded(rows.slice(first, last))]] : [rows.slice(start, stop), []];
    made.push(...before.map(drawRow), ...inside, ...(folds ? rows.slice(last, stop) : []).map(drawRow));
    made.push(...rows.slice(stop, stop + 1).map(drawRow));
    start = stop + 1;
  }
  return made;
}

function folded(rows) {
  const count = rows.flat().reduce((sum, { left }) => sum + left.length, 0);
  const unfold = () => {
    const shown = rows.map(drawRow);
    shown[0].tabIndex = -1;
    node.replaceWith(...shown);
    shown[0].focus({ preventScroll: true });
  };
  const node = button(`Show ${plural(count, "equal character")}`, unfold, { class: "gap" });
  return node;
}

function drawRow(row) {
  return element("div", { class: isEqual(row) ? "row equal" : "row differs" }, ...SIDES.map((side) => cell(row, side)));
}

function cell(row, [side, mark]) {
  const box = element("div", { class: side, dir: "auto" });
  for (const { kind, [side]: text } of row) {
    if (text) box.append(kind === "same" ? text : element(mark, { class: kind }, text));
  }
  return box;
}
