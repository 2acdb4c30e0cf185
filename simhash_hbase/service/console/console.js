// The console: looking up, clues and passages, comparing, the figures, and the key for all of them.

import { bits } from "./bits.js";
import "./chinese.js";
import { followWidth } from "./charts.js";
import { markedTexts } from "./differences.js";
import { $, button, element, idOf, plural, shape, similarity, time } from "./elements.js";
import { forgetFigures, showFigures } from "./figures.js";
import { partsOfClue, passagesOf, percent } from "./passages.js";
import { Refused, ask, hasKey, mayAsk, needsKey, useKey } from "./service.js";

// One piece of work at a time on a form or button; what goes wrong is said where the answer would stand.
async function working(control, status, work) {
  if (control.getAttribute("aria-disabled") === "true") return;
  control.setAttribute("aria-disabled", "true");
  say(status, "…");
  try {
    await work();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    say(status, error.message, { bad: true });
  } finally {
    control.removeAttribute("aria-disabled");
  }
}

function say(status, text, { bad = false, more = "" } = {}) {
  status.classList.toggle("bad", bad);
  status.replaceChildren(text, ...(more ? [element("small", {}, more)] : []));
}

function complain(status, text, field) {
  say(status, text, { bad: true });
  field.focus();
}

const submitOf = (form) => $(form).querySelector("button.main");

// --- the key --------------------------------------------------------------------------------------------------------

function showKey() {
  $("key-form").hidden = !needsKey();
  for (const id of ["key", "key-label"]) $(id).hidden = hasKey();
  $("key-button").textContent = hasKey() ? "Forget the key" : "Use";
  $("key-state").textContent = hasKey() ? "Kept in this page only, until it is closed or loaded again." : "One with the scope read.";
}

function changeKey(event) {
  event.preventDefault();
  const typed = $("key").value.trim();
  if (!hasKey() && !typed) return;
  if (hasKey()) forgetAnswers();
  useKey(hasKey() ? "" : typed);
  $("key").value = "";
  showKey();
  $("key-button").focus();
  loadFigures();
}

function forgetAnswers() {
  const answers = ["verdict", "matches", "clue-verdict", "clue-matches", "passages-verdict", "passaged", "compared", "comparison"];
  for (const id of answers) $(id).replaceChildren();
  showPassageForms({});
  forgetFigures();
}

function lacksKey(status) {
  if (!mayAsk()) complain(status, "A key is needed: type it in at the top.", $("key"));
  return !mayAsk();
}

// --- looking up -----------------------------------------------------------------------------------------------------

const isById = () => document.querySelector("input[name=by]:checked").value === "id";

function showBy() {
  $("by-id").hidden = !isById();
  $("by-text").hidden = isById();
}

function lookUp(event) {
  event?.preventDefault();
  const verdict = $("verdict");
  const query = isById() ? { id: $("id").value } : { text: $("text").value };
  if (!Object.values(query)[0].trim()) {
    $("matches").replaceChildren();
    return complain(verdict, isById() ? "Type an id." : "Paste a text.", isById() ? $("id") : $("text"));
  }
  if (lacksKey(verdict)) return undefined;
  const parameters = Object.fromEntries(["match", "distance", "similarity", "limit"].map((id) => [id, $(id).value]));
  return working(submitOf("query-form"), verdict, async () => {
    $("matches").replaceChildren();
    const answer = await ask("v1/queries", { body: query, parameters });
    say(verdict, ...judged(answer));
    $("matches").replaceChildren(...answer.matches.map((match) => drawMatch(match, query)));
  });
}

function judged({ matches, truncated, complete, short }) {
  const text = matches.length ? `Seen: ${plural(matches.length, "near-duplicate")}.` : "Not seen: no near-duplicate.";
  const more = [
    truncated && "A limit cut this answer: there may be more.",
    complete && "Complete: every document within the distance is here.",
    short && "The text is short: edited copies may be missed, exact ones are found.",
  ];
  return [text, { more: more.filter(Boolean).join(" ") }];
}

function drawMatch(match, query) {
  const more = element("div", { class: "more", hidden: "" });
  const badge = match.exact ? element("span", { class: "badge" }, "exact copy") : null;
  const actions = element(
    "div",
    { class: "actions" },
    button("Compare", () => compareWith(match.id, query, more), { "aria-label": `Compare with ${match.id}` }),
    lookUpButton(match),
  );
  const distance = element("span", { class: "figure" }, plural(match.distance, "bit"));
  const what = element("div", { class: "what" }, element("h3", {}, idOf(match.id), badge), added(match));
  return element("li", {}, distance, gauge(`similarity ${similarity(match.similarity)}`, match.similarity ?? 0), what, actions, more);
}

const lookUpButton = ({ id }) => button("Look up", () => lookUpId(id), { "aria-label": `Look up ${id}` });
const added = (match) => element("p", { class: "facts" }, "added ", element("time", { datetime: match.added }, time(match.added)));

function gauge(caption, share) {
  const bar = shape("svg", { class: "gauge", viewBox: "0 0 100 5", preserveAspectRatio: "none", "aria-hidden": "true" });
  bar.append(shape("rect", { class: "bed", width: 100, height: 5 }));
  bar.append(shape("rect", { class: "fill", width: 100 * share, height: 5 }));
  return element("span", { class: "figure" }, caption, bar);
}

function lookUpId(id) {
  document.querySelector("input[name=by][value=id]").checked = true;
  showBy();
  $("id").value = id;
  $("id").focus();
  return lookUp();
}

// --- clues and passages ---------------------------------------------------------------------------------------------

// The profile of an index that keeps no passages does not name them, and the service answers neither form.
function showPassageForms({ passages, passage_gram: gram }) {
  for (const node of document.querySelectorAll("[data-needs=passages]")) node.hidden = !passages;
  const promise = `from ${passages} on, every document that holds all of them is found.`;
  $("clue-hint").textContent = passages ? `${gram} letters, numbers and marks at least; ${promise}` : "";
}

function findClue(event) {
  event.preventDefault();
  const verdict = $("clue-verdict");
  const clue = $("clue").value;
  $("clue-matches").replaceChildren();
  if (!clue.trim()) return complain(verdict, "Type a clue, such as a sentence.", $("clue"));
  if (lacksKey(verdict)) return undefined;
  return working(submitOf("find-form"), verdict, async () => {
    const answer = await ask("v1/clues", { body: { text: clue }, parameters: { limit: $("clue-limit").value } });
    say(verdict, ...judgedClue(answer));
    $("clue-matches").replaceChildren(...answer.matches.map((match) => drawClueMatch(match, clue, answer)));
  });
}

function judgedClue({ matches, truncated, complete }) {
  const text = matches.length ? `Found: ${plural(matches.length, "document")}.` : "Not found: no document holds a part of it.";
  const more = [
    complete && "Complete: every document that holds the whole clue is here.",
    truncated && complete && "A limit was reached: documents that hold a part of it may be missing.",
    truncated && !complete && "A limit cut this answer: there may be more.",
    !truncated && !complete && "Not complete: the clue is short, and documents that hold it may be missing.",
  ];
  return [text, { more: more.filter(Boolean).join(" ") }];
}

function drawClueMatch(match, clue, { complete }) {
  const caption = `share ${percent(match.share)}${complete ? "" : " or more"}`;
  const what = element("div", { class: "what" }, element("h3", {}, idOf(match.id)), added(match));
  const actions = element("div", { class: "actions" }, lookUpButton(match));
  const parts = element("div", { class: "more" }, partsOfClue(clue, match.spans));
  return element("li", {}, gauge(caption, match.share), what, actions, parts);
}

function findPassages(event) {
  event.preventDefault();
  const verdict = $("passages-verdict");
  const text = $("passages-text").value;
  $("passaged").replaceChildren();
  if (!text.trim()) return complain(verdict, "Paste a text.", $("passages-text"));
  if (lacksKey(verdict)) return undefined;
  return working(submitOf("passages-form"), verdict, async () => {
    const answer = await ask("v1/passages", { body: { text }, parameters: { at_least: $("at-least").value } });
    say(verdict, ...judgedPassages(answer));
    if (answer.passages.length) $("passaged").replaceChildren(passagesOf(text, answer.passages));
  });
}

function judgedPassages({ passages, share, truncated }) {
  const figures = `${plural(passages.length, "passage")} in other documents: ${percent(share)} of the text.`;
  const text = passages.length ? figures : "No passage of the text stands in other documents.";
  return [text, { more: truncated ? "A limit cut this answer: there may be more." : "" }];
}

// --- comparing ------------------------------------------------------------------------------------------------------

const stored = (id) => ask("v1/documents", { parameters: { id } });

// A stored text can only be in the metadata, where a caller may have put one.
const keptText = ({ metadata }) => (typeof metadata?.text === "string" ? metadata.text : "");

function compareWith(id, query, more) {
  const status = $("compared");
  return working(submitOf("compare-form"), status, async () => {
    const found = await stored(id);
    more.hidden = false;
    more.replaceChildren(facts(found));
    $("left").value = query.text ?? keptText(await stored(query.id));
    $("left-label").textContent = query.id === undefined ? "Text that was looked up" : `Text of ${query.id}`;
    $("right").value = keptText(found);
    $("right-label").textContent = `Text of ${id}`;
    $("comparison").replaceChildren();
    if ($("left").value && $("right").value) {
      $("compare").focus();
      return compared();
    }
    say(status, "The index keeps no texts: paste what is missing.");
    ($("left").value ? $("right") : $("left")).focus();
    return undefined;
  }).then(() => {
    // Who pressed the button looks at the matches, not down here.
    if (status.classList.contains("bad")) say($("verdict"), status.textContent, { bad: true });
  });
}

function facts({ id, metadata, ...rest }) {
  const more = Object.entries(metadata ?? {}).map(([name, value]) => [`metadata ${name}`, value]);
  const said = ([name, value]) => [element("dt", {}, name), element("dd", {}, typeof value === "string" ? value : JSON.stringify(value))];
  return element("dl", { class: "data" }, ...[...Object.entries(rest), ...more].flatMap(said));
}

function compareTexts(event) {
  event.preventDefault();
  const status = $("compared");
  const missing = ["left", "right"].find((id) => !$(id).value.trim());
  $("comparison").replaceChildren();
  if (missing) return complain(status, "Paste both texts.", $(missing));
  if (lacksKey(status)) return undefined;
  return working(submitOf("compare-form"), status, compared);
}

const REACH = new Map([
  [true, "A query for one finds the other."],
  [false, "A query for one does not find the other."],
  [null, "Whether a query for one finds the other depends on which of their passages are rare in the index."],
]);

async function compared() {
  const found = await ask("v1/comparisons", { body: { a: $("left").value, b: $("right").value } });
  const changes = found.pieces.filter(({ kind }) => kind !== "same").length;
  const words = changes ? `Their words differ in ${plural(changes, "place")}.` : "Their words are the same.";
  const reach = REACH.get(found.found);
  say($("compared"), `Distance ${plural(found.distance, "bit")}, similarity ${similarity(found.similarity)}.`, { more: `${reach} ${words}` });
  const titles = ["left-label", "right-label"].map((id) => $(id).textContent);
  $("comparison").replaceChildren(bits(found), markedTexts(found.pieces, titles));
}

// --- figures --------------------------------------------------------------------------------------------------------

function loadFigures() {
  if (!mayAsk()) return say($("counted"), "Figures come with a key.");
  return working($("refresh"), $("counted"), async () => {
    const profile = await ask("v1/profile");
    showPassageForms(profile);
    const stats = await ask("v1/stats");
    say($("counted"), stats.exact ? "Every row was counted." : "Estimated from a sample of the rows.");
    showFigures(stats, profile);
  });
}

// --- start ----------------------------------------------------------------------------------------------------------

function onCtrlEnter(area, action) {
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) action(event);
  });
}

$("key-form").addEventListener("submit", changeKey);
$("query-form").addEventListener("submit", lookUp);
$("find-form").addEventListener("submit", findClue);
$("passages-form").addEventListener("submit", findPassages);
$("compare-form").addEventListener("submit", compareTexts);
$("refresh").addEventListener("click", loadFigures);
for (const choice of document.querySelectorAll("input[name=by]")) choice.addEventListener("change", showBy);
onCtrlEnter($("text"), lookUp);
onCtrlEnter($("clue"), findClue);
onCtrlEnter($("passages-text"), findPassages);
for (const id of ["left", "right"]) onCtrlEnter($(id), compareTexts);
followWidth($("charts"));
showKey();
showBy();
loadFigures();
