// Two texts as the service tells them apart, cut into rows: these break where both texts end a line or a sentence, so
// that what belongs together is level.

import { element, language } from "./elements.js";
import { drawRows } from "./texts.js";

const ROW = 120;
const LINES = /(?<=\n|[。！？；]|[.!?;]\s)/u;
const SENTENCES = /(?<=[。！？；]|[.!?;]\s)/u;

export function markedTexts(pieces, titles) {
  const head = element("div", { class: "head" }, ...titles.map((title) => element("b", {}, title)));
  const sides = element("div", { class: "sides", id: "marked" }, head, ...drawRows(rowsOf(pieces)));
  sides.lang = language(pieces.map(({ left }) => left).join(""));
  return sides;
}

function rowsOf(pieces) {
  const rows = [[]];
  let length = 0;
  for (const part of pieces.flatMap(parts)) {
    rows.at(-1).push(segmentOf(part));
    length += Math.max(part.left.length, part.right.length);
    if (part.kind === "same" && endsRow(part.left, length)) {
      rows.push([]);
      length = 0;
    }
  }
  return rows.filter((row) => row.length);
}

function segmentOf({ kind, left, right }) {
  if (kind !== "same") return [left, right];
  return left === right ? left : [left, right, 0];
}

// Equal words with other blanks between them are cut at sentences alone, if that comes out even.
function parts(piece) {
  if (piece.kind !== "same") return [piece];
  const [left, right] = [piece.left, piece.right].map((text) => text.split(piece.left === piece.right ? LINES : SENTENCES));
  return left.length === right.length ? left.map((text, at) => ({ kind: "same", left: text, right: right[at] })) : [piece];
}

const endsRow = (text, length) => /\n\s*$/.test(text) || (length >= ROW && /([。！？；]|[.!?;]\s+)$/u.test(text));
