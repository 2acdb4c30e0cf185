// The console. Whatever comes from the service or from people is put on the page as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";
const KEY = "simhash-hbase-key";
const MOST_DAYS = 62;
const $ = (id) => document.getElementById(id);

// -- making elements

function put(node, children) {
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return put(node, children);
}

function shape(name, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return put(node, children);
}

function button(label, action, attributes = {}) {
  const node = element("button", { type: "button", ...attributes }, label);
  node.addEventListener("click", action);
  return node;
}

// -- writing numbers and times

const whole = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const percent = (share) => `${(100 * share).toFixed(1)} %`;
const time = (text) => new Date(text).toLocaleString("sv");
const plural = (count, noun) => `${whole.format(count)} ${noun}${count === 1 ? "" : "s"}`;

function size(bytes) {
  const units = ["B", "KB", "MB", "GB", "TB"];
  const power = bytes ? Math.min(Math.floor(Math.log10(bytes) / 3), units.length - 1) : 0;
  return `${(bytes / 1000 ** power).toFixed(power ? 1 : 0)} ${units[power]}`;
}

// -- asking the service

class Refused extends Error {}

async function ask(path, { body, parameters = {} } = {}) {
  const given = Object.entries(parameters).filter(([, value]) => value !== "");
  const address = given.length ? `${path}?${new URLSearchParams(given)}` : path;
  const key = sessionStorage.getItem(KEY);
  const headers = { ...(key && { Authorization: `Bearer ${key}` }), ...(body && { "Content-Type": "application/json" }) };
  const options = { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body), cache: "no-store" };
  const response = await fetch(address, options).catch(() => {
    throw new Refused("The service does not answer.");
  });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Refused(sentence(answer.detail ?? `status ${response.status}`));
  return answer;
}

const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}.`;

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

// -- the key

const needsKey = () => document.body.dataset.keys === "wanted";
const mayAsk = () => !needsKey() || sessionStorage.getItem(KEY) !== null;

function showKey() {
  const known = sessionStorage.getItem(KEY) !== null;
  $("key-form").hidden = !needsKey();
  $("key").hidden = known;
  document.querySelector("label[for=key]").hidden = known;
  $("key-button").textContent = known ? "Forget the key" : "Use";
  $("key-state").textContent = known ? "A key is in use, until this tab is closed." : "";
}

function changeKey(event) {
  event.preventDefault();
  const typed = $("key").value.trim();
  if (sessionStorage.getItem(KEY) !== null) sessionStorage.removeItem(KEY);
  else if (typed) sessionStorage.setItem(KEY, typed);
  $("key").value = "";
  showKey();
  if (mayAsk()) loadFigures();
}

function wantsKey(status) {
  if (mayAsk()) return false;
  say(status, "A key is needed: type it in at the top.", { bad: true });
  $("key").focus();
  return true;
}

// -- looking up

const isById = () => document.querySelector("input[name=by]:checked").value === "id";

function showBy() {
  $("by-id").hidden = !isById();
  $("by-text").hidden = isById();
}

function lookUp(event) {
  event?.preventDefault();
  const verdict = $("verdict");
  const field = isById() ? $("id") : $("text");
  $("matches").replaceChildren();
  if (!field.value.trim()) {
    say(verdict, isById() ? "Type an id." : "Paste a text.", { bad: true });
    field.focus();
    return undefined;
  }
  if (wantsKey(verdict)) return undefined;
  const parameters = Object.fromEntries(["match", "distance", "similarity", "limit"].map((id) => [id, $(id).value]));
  const query = isById() ? { id: field.value } : { text: field.value };
  return working(document.querySelector("#query-form button.main"), verdict, async () => {
    const answer = await ask("v1/queries", { body: query, parameters });
    const { text, more } = judged(answer);
    say(verdict, text, { more });
    $("matches").replaceChildren(...answer.matches.map((match) => shownMatch(match, query.text)));
  });
}

function judged({ matches, truncated, complete, short: isShort }) {
  const text = matches.length ? `Seen: ${plural(matches.length, "near-duplicate")}.` : "Not seen: no near-duplicate.";
  const more = [
    truncated && "A limit cut this answer: there may be more.",
    complete && "Complete: every document within the distance is here.",
    isShort && "The text is short: edited copies may be missed, exact ones are found.",
  ];
  return { text, more: more.filter(Boolean).join(" ") };
}

function shownMatch(match, text) {
  const more = element("div", { class: "more", hidden: "" });
  const title = element("h3", {}, match.id, match.exact ? element("span", { class: "badge" }, "exact copy") : null);
  const facts = element("p", { class: "facts" }, "Added ", element("time", { datetime: match.added }, time(match.added)));
  const label = { "aria-label": `Compare with ${match.id}` };
  const actions = element(
    "div",
    { class: "actions" },
    button("Compare", () => compareWith(match.id, text, more), label),
    button("Look up", () => lookUpId(match.id), { "aria-label": `Look up ${match.id}` }),
  );
  return element("li", {}, title, facts, gauge(match), actions, more);
}

function gauge({ distance, similarity }) {
  const said = similarity === null ? "similarity unknown" : `similarity ${percent(similarity)}`;
  const bar = shape("svg", { viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" });
  bar.append(shape("rect", { class: "bed", width: 100, height: 6, rx: 3 }));
  bar.append(shape("rect", { class: "fill", width: 100 * (similarity ?? 0), height: 6, rx: 3 }));
  return element("div", { class: "gauge" }, element("span", {}, `distance ${distance}, `, element("b", {}, said)), bar);
}

function lookUpId(id) {
  document.querySelector("input[name=by][value=id]").checked = true;
  showBy();
  $("id").value = id;
  $("id").focus();
  return lookUp();
}

// A stored text can only be in the metadata, where a caller may have put one.
async function compareWith(id, text, more) {
  const verdict = $("verdict");
  const stored = await ask("v1/documents", { parameters: { id } }).catch((error) => say(verdict, error.message, { bad: true }));
  if (!stored) return;
  more.hidden = false;
  more.replaceChildren(shownDocument(stored));
  const kept = typeof stored.metadata?.text === "string" ? stored.metadata.text : "";
  $("left").value = text ?? $("left").value;
  $("right").value = kept;
  $("right-label").textContent = `Text of ${id}`;
  $("comparison").replaceChildren();
  if ($("left").value && kept) {
    $("compare").focus();
    await compareTexts();
    return;
  }
  say($("compared"), kept || !text ? "Paste the text on the left." : "Paste its text on the right: the index keeps none.");
  ($("left").value ? $("right") : $("left")).focus();
}

function shownDocument(stored) {
  const list = element("dl", { class: "data" });
  const { metadata, ...rest } = stored;
  const named = { ...rest, ...Object.fromEntries(Object.entries(metadata ?? {}).map(([key, value]) => [`metadata ${key}`, value])) };
  for (const [name, value] of Object.entries(named)) {
    list.append(element("dt", {}, name), element("dd", {}, typeof value === "string" ? value : JSON.stringify(value)));
  }
  return list;
}

// -- comparing

function compareTexts(event) {
  event?.preventDefault();
  const status = $("compared");
  const [a, b] = [$("left").value, $("right").value];
  $("comparison").replaceChildren();
  if (!a.trim() || !b.trim()) {
    say(status, "Paste both texts.", { bad: true });
    (a.trim() ? $("right") : $("left")).focus();
    return undefined;
  }
  if (wantsKey(status)) return undefined;
  return working(document.querySelector("#compare-form button.main"), status, async () => {
    const found = await ask("v1/comparisons", { body: { a, b } });
    const similarity = found.similarity === null ? "" : `, similarity ${percent(found.similarity)}`;
    say(status, `Distance ${found.distance} of 64 bits${similarity}.`, { more: reachable(found) });
    $("comparison").replaceChildren(bits(found), ...markedTexts(found.pieces));
  });
}

function reachable({ found, pieces }) {
  const changes = pieces.filter(({ kind }) => kind !== "same").length;
  const words = changes ? `${plural(changes, "place")} where words differ.` : "The words are the same.";
  return `${found ? "A query for one finds the other." : "A query for one does not find the other."} ${words}`;
}

function markedTexts(pieces) {
  const legend = element(
    "p",
    { class: "legend" },
    element("span", {}, element("mark", { class: "changed" }, "other words"), " in their place"),
    element("span", {}, element("mark", { class: "left" }, "only"), " on the left"),
    element("span", {}, element("mark", { class: "right" }, "only"), " on the right"),
  );
  const sides = ["left", "right"].map((side) => markedText(pieces, side));
  return [legend, element("div", { class: "texts" }, ...sides)];
}

function markedText(pieces, side) {
  const title = side === "left" ? "One text" : $("right-label").textContent;
  const body = element("div", { class: "text", id: `marked-${side}`, tabindex: "0", role: "group", "aria-label": title });
  for (const piece of pieces) {
    const text = piece[side];
    if (text) body.append(piece.kind === "same" ? text : element("mark", { class: piece.kind }, text));
  }
  return element("div", {}, element("h3", {}, title), body);
}

// The 64 bits of the fingerprints in their blocks: two that agree are what brings a pair together.
function bits({ bits: text, block_widths: widths, distance }) {
  const cell = 10;
  const gap = 8;
  const drawing = shape("svg", { viewBox: `0 0 ${64 * cell + (widths.length - 1) * gap} 16`, "aria-hidden": "true" });
  let at = 0;
  widths.forEach((width, block) => {
    for (const bit of text.slice(at, at + width)) {
      const x = at * cell + block * gap;
      drawing.append(shape("rect", { class: bit === "1" ? "bit differs" : "bit", x, width: cell - 1.5, height: 16, rx: 2 }));
      at += 1;
    }
  });
  const blocks = differingBlocks(text, widths);
  const caption = `The fingerprints differ in ${plural(distance, "bit")}, in ${blocks} of ${widths.length} blocks.`;
  return element("figure", { class: "bits" }, drawing, element("figcaption", {}, caption));
}

function differingBlocks(text, widths) {
  let at = 0;
  return widths.filter((width) => text.slice(at, (at += width)).includes("1")).length;
}

// -- figures

function loadFigures() {
  if (wantsFigures()) return undefined;
  return working($("refresh"), $("counted"), async () => {
    const [stats, profile] = await Promise.all([ask("v1/stats"), ask("v1/profile")]);
    say($("counted"), counted(stats, profile));
    $("numbers").replaceChildren(...numbers(stats).map(number));
    showCharts(charts(stats));
  });
}

function wantsFigures() {
  if (mayAsk()) return false;
  say($("counted"), "Figures come with a key.");
  return true;
}

function counted(stats, { analyzer, scheme, match, distance, similarity }) {
  const rule = match === "verified" ? `similarity from ${similarity}` : `distance up to ${distance}`;
  return `${stats.exact ? "Counted" : "Estimated from a sample"}. Analyzer ${analyzer}, scheme ${scheme}, ${rule}.`;
}

function numbers(stats) {
  const { states } = stats;
  const cut = (stats.truncated_prefixes ?? 0) + (stats.truncated_fingerprints ?? 0);
  return [
    { name: "documents", value: whole.format(stats.documents) },
    { name: "duplicates", value: whole.format(states.duplicate ?? 0) },
    { name: "rows", value: short.format(stats.rows) },
    stats.bytes !== null && { name: "on disk", value: size(stats.bytes) },
    stats.regions && { name: "regions", value: whole.format(stats.regions.length) },
    stats.imbalance !== null && { name: "largest region / mean", value: stats.imbalance.toFixed(2), warn: stats.imbalance > 2 },
    { name: "prefixes that get cut", value: whole.format(cut), warn: cut > 0 },
  ].filter(Boolean);
}

function number({ name, value, warn }) {
  return element("div", warn ? { class: "warn" } : {}, element("dt", {}, name), element("dd", {}, value));
}

function charts(stats) {
  const { days, distances, hottest, rows_per_prefix: crowds, regions } = stats;
  const all = [
    days.length && columns("Documents over time", ...byTime(days), ["documents", "duplicates"]),
    Object.keys(distances).length && columns("Distances of duplicates", "to their originals, in bits", distanceBars(distances), ["duplicates"]),
    hottest.length && rows("Hottest prefixes", "rows that share two blocks; table and segment", hottest.map(hotBar)),
    Object.keys(crowds).length && rows("Crowding", "prefixes by the number of their rows", Object.entries(crowds).map(crowdBar)),
    regions?.length && columns("Regions", "rows and cells of each, by its first key", regions.map(regionBar), ["rows", "cells"]),
  ];
  return all.filter(Boolean);
}

const hotBar = ({ table, segment, rows: count }) => ({ label: `${table} · ${segment}`, values: [count] });
const crowdBar = ([label, count]) => ({ label: `${label} row${label === "1" ? "" : "s"}`, values: [count] });
const regionBar = ({ start, rows: count, cells }) => ({ label: start || "first", values: [count, cells] });

function distanceBars(distances) {
  const last = Math.max(...Object.keys(distances).map(Number));
  return Array.from({ length: last + 1 }, (_, distance) => ({ label: `${distance}`, values: [distances[distance] ?? 0] }));
}

// Days while they are few, else weeks or months; those without a document are shown too.
function byTime(days) {
  const DAY = 86_400_000;
  const first = Date.parse(days[0].date);
  const span = (Date.parse(days.at(-1).date) - first) / DAY + 1;
  const step = span <= MOST_DAYS ? 1 : span <= 7 * MOST_DAYS ? 7 : 30;
  const bars = Array.from({ length: Math.ceil(span / step) }, (_, at) => {
    const label = new Date(first + at * step * DAY).toISOString().slice(0, 10);
    return { label, values: [0, 0] };
  });
  for (const { date, documents, duplicates } of days) {
    const bar = bars[Math.floor((Date.parse(date) - first) / DAY / step)];
    bar.values[0] += documents;
    bar.values[1] += duplicates;
  }
  const unit = { 1: "by the day", 7: "by weeks of seven days", 30: "by 30 days" }[step];
  return [`when they were added, ${unit}, UTC`, bars];
}

// -- drawing: bars that stand (columns) or lie (rows), as wide as there is room; the figures are below as a table

let drawCharts = () => undefined;
const COLUMNS = { height: 220, left: 46, bottom: 24, top: 8 };
const ROWS = { pitch: 24, left: 118, right: 62 };

function columns(title, subtitle, bars, names) {
  return { title, subtitle, bars, names, draw: drawColumns };
}

function rows(title, subtitle, bars) {
  return { title, subtitle, bars, names: ["rows"], draw: drawRows };
}

function showCharts(wanted) {
  const figures = wanted.map((chart) => {
    const caption = element("figcaption", {}, chart.title, element("small", {}, chart.subtitle));
    const key = chart.names.length > 1 ? element("p", { class: "key" }, ...chart.names.map(keyEntry)) : null;
    return element("figure", {}, caption, shape("svg"), key, asTable(chart.bars, chart.names));
  });
  $("charts").replaceChildren(...figures);
  drawCharts = () => figures.forEach((figure, at) => drawChart(figure, wanted[at]));
  drawCharts();
}

function drawChart(figure, { bars, names, draw }) {
  figure.querySelector(":scope > svg").replaceWith(draw(bars, names, figure.clientWidth));
}

function canvas(width, height) {
  return shape("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" });
}

function keyEntry(name, at) {
  const box = shape("svg", { viewBox: "0 0 8 8", "aria-hidden": "true" }, shape("rect", { class: paint(at), width: 8, height: 8, rx: 2 }));
  return element("span", {}, box, name);
}

const paint = (at) => (at ? "two" : "one");
const total = ({ values }) => values.reduce((sum, value) => sum + value, 0);
const told = ({ label, values }, names) => `${label}: ${values.map((value, at) => `${whole.format(value)} ${names[at]}`).join(", ")}`;

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
  const pitch = (width - left) / bars.length;
  const drawing = canvas(width, height);
  for (let value = 0; value <= most; value += step) drawing.append(...gridLine(y(value), short.format(value), width));
  bars.forEach((bar, at) => drawing.append(column(bar, names, left + at * pitch, Math.max(pitch * 0.8, 1), y)));
  drawing.append(...columnLabels(bars, (at) => left + (at + 0.4) * pitch, pitch, width));
  return drawing;
}

function gridLine(y, label, width) {
  const line = shape("line", { class: "grid", x1: COLUMNS.left, x2: width, y1: y, y2: y });
  return [line, shape("text", { x: COLUMNS.left - 6, y: y + 4, "text-anchor": "end" }, label)];
}

function column(bar, names, x, width, y) {
  const group = shape("g", { class: "bar" }, shape("title", {}, told(bar, names)));
  let below = 0;
  bar.values.forEach((value, at) => {
    const height = y(below) - y(below + value);
    if (value) group.append(shape("rect", { class: paint(at), x, y: y(below + value), width, height: Math.max(height, 1) }));
    below += value;
  });
  return group;
}

// As many labels as there is room for, the first one always.
function columnLabels(bars, x, pitch, width) {
  const half = (Math.max(...bars.map(({ label }) => label.length)) * 7) / 2;
  const every = Math.ceil((2 * half + 12) / pitch);
  return bars.flatMap(({ label }, at) => {
    const hasRoom = at % every === 0 && (at === 0 || x(at) + half <= width);
    const middle = Math.max(x(at), half);
    return hasRoom ? [shape("text", { x: middle, y: COLUMNS.height - 6, "text-anchor": "middle" }, label)] : [];
  });
}

function drawRows(bars, names, width) {
  const { pitch, left, right } = ROWS;
  const most = Math.max(...bars.map(total), 1);
  const drawing = canvas(width, bars.length * pitch);
  bars.forEach((bar, at) => {
    const long = Math.max(((width - left - right) * total(bar)) / most, 2);
    const middle = at * pitch + pitch / 2 + 4;
    drawing.append(shape("text", { class: "strong", x: 0, y: middle }, bar.label));
    drawing.append(shape("rect", { class: "one", x: left, y: at * pitch + 4, width: long, height: pitch - 8, rx: 2 }));
    drawing.append(shape("text", { x: left + long + 6, y: middle }, whole.format(total(bar))));
  });
  return drawing;
}

function asTable(bars, names) {
  const head = element("tr", {}, element("td"), ...names.map((name) => element("th", { scope: "col" }, name)));
  const lines = bars.map(({ label, values }) =>
    element("tr", {}, element("th", { scope: "row" }, label), ...values.map((value) => element("td", {}, whole.format(value)))),
  );
  const table = element("table", {}, element("thead", {}, head), element("tbody", {}, ...lines));
  return element("details", {}, element("summary", {}, "As a table"), table);
}

// -- start

function onCtrlEnter(area, action) {
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) action(event);
  });
}

$("key-form").addEventListener("submit", changeKey);
$("query-form").addEventListener("submit", lookUp);
$("compare-form").addEventListener("submit", compareTexts);
$("refresh").addEventListener("click", loadFigures);
for (const choice of document.querySelectorAll("input[name=by]")) choice.addEventListener("change", showBy);
onCtrlEnter($("text"), lookUp);
new ResizeObserver(() => requestAnimationFrame(drawCharts)).observe($("charts"));
for (const id of ["left", "right"]) onCtrlEnter($(id), compareTexts);
showKey();
showBy();
loadFigures();
