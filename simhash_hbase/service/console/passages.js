// Parts of a text: those that a document holds of a clue, and those that stand in other documents, coloured as in the
// report of passages. The service counts characters, and a string of this language counts halves of some of them.

import { button, element, idOf, language, number } from "./elements.js";

// A longer stretch without marks is shown at its ends.
const GAP = 600;
const END = 200;
const MOST_ROWS = 200;
// The numbers of documents at which the colours begin.
const BOUNDS = document.body.dataset.bounds.split(" ").map(Number);
const LABELS = BOUNDS.map((first, level) => {
  const next = BOUNDS[level + 1];
  if (!next) return `${number(first)} or more`;
  return next === first + 1 ? number(first) : `${number(first)}–${number(next - 1)}`;
});

export const percent = (share) => `${(100 * share).toFixed(1)}%`;

export const partsOfClue = (clue, spans) => markedText(clue, spans, () => ({ class: "held-2" }));

export function passagesOf(text, passages) {
  const attributes = (passage) => ({ class: `held-${levelOf(passage)}`, "data-held": held(passage, "", "+") });
  const keys = LABELS.map((label, level) => element("li", {}, element("mark", { class: `held-${level}` }, label)));
  const more = passages.length - MOST_ROWS;
  return element(
    "div",
    { class: "card" },
    element("ul", { class: "keys" }, element("li", {}, "Documents of a passage"), ...keys),
    markedText(text, passages, attributes),
    asTable(passages.slice(0, MOST_ROWS)),
    more > 0 ? element("p", { class: "note" }, `and ${number(more)} more passages`) : null,
  );
}

const levelOf = ({ documents }) => BOUNDS.filter((bound) => documents >= bound).length - 1;
const held = ({ documents, at_least: isLeast }, before, behind) =>
  `${isLeast ? before : ""}${number(documents)}${isLeast ? behind : ""}`;

function asTable(passages) {
  const head = ["characters", "documents", "added first", "holds most"].map((name) => element("th", { scope: "col" }, name));
  const lines = passages.map((passage) => {
    const cells = [`${number(passage.start)}–${number(passage.stop)}`, held(passage, "≥ ", ""), idOf(passage.first), idOf(passage.most)];
    return element("tr", {}, ...cells.map((cell) => element("td", {}, cell)));
  });
  return element("table", { class: "passages" }, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...lines));
}

// The spans are in the order of the text and do not overlap.
function markedText(text, spans, attributes) {
  const characters = Array.from(text);
  const part = (start, stop) => characters.slice(start, stop).join("");
  const box = element("div", { lang: language(text) });
  const block = () => box.appendChild(element("bdi", { class: "passaged" }));
  let last = block();
  let at = 0;
  for (const span of [...spans, null]) {
    const start = span?.start ?? characters.length;
    if (start - at > GAP) {
      last.append(part(at, at + END));
      box.append(fold(part(at + END, start - END)));
      last = block();
      at = start - END;
    }
    last.append(part(at, start));
    if (!span) break;
    last.append(element("mark", attributes(span), part(span.start, span.stop)));
    at = span.stop;
  }
  return box;
}

// What was left out joins its two neighbours to one block again.
function fold(text) {
  const node = button(`Show ${number(Array.from(text).length)} characters`, () => {
    const { previousElementSibling: before, nextElementSibling: after } = node;
    before.append(text, ...after.childNodes);
    after.remove();
    node.remove();
    before.tabIndex = -1;
    before.focus({ preventScroll: true });
  }, { class: "gap" });
  return node;
}
