
"use strict";
// What follows only ever sets text, never HTML: ids and texts are anybody's.
const data = JSON.parse(document.getElementById("data").textContent);
const FIRST = 10;
const STEP = 20;
const CONTEXT = 1;

function make(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

const number = (value) => value.toLocaleString("en-US");
const plural = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;
const similarity = (value) => (value === null ? "unknown" : value.toFixed(3));
// Which forms a font gives to Han characters.
const SCRIPTS = [[/[\u3040-\u30ff]/, "ja"], [/[\uac00-\ud7a3]/, "ko"], [/[\u4e00-\u9fff]/, "zh"], [/(?:)/, ""]];
const language = (text) => SCRIPTS.find(([script]) => script.test(text))[1];
const bits = (value) => plural(value, "bit");
const idOf = (text) => make("bdi", { class: "id" }, text);
// Inside of a summary a link could not be told from the summary's own click, so there are none.
const isAddress = (text) => /^https?:\/\/[^\s…]+$/i.test(text);
const linkOf = (text) => (isAddress(text)
  ? make("a", { href: text, target: "_blank", rel: "noopener noreferrer" }, idOf(text)) : idOf(text));

// --- one pair -------------------------------------------------------------------------------------------------------

function side(segments, at) {
  const cell = make("div", { dir: "auto" });
  for (const segment of segments) {
    if (typeof segment === "string") cell.append(segment);
    else if (segment.length > 2) cell.append(segment[at]);
    else if (segment[at]) cell.append(make(at ? "ins" : "del", {}, segment[at]));
  }
  // The line ends behind a row are the row's own.
  while (cell.lastChild && !cell.lastChild.textContent.trim()) cell.lastChild.remove();
  if (cell.lastChild) cell.lastChild.textContent = cell.lastChild.textContent.trimEnd();
  return cell;
}

const isGap = (row) => !Array.isArray(row);
const isEqual = (row) => (isGap(row) ? row.equal : row.every((segment) => typeof segment === "string"));

function drawRow(row) {
  if (isGap(row)) {
    const what = row.equal
      ? `${plural(row.left, "equal character")} left out of this page`
      : `left out of this page: ${plural(row.left, "character")} of the kept text, ${number(row.right)} of the duplicate`;
    return make("p", { class: "gap" }, what);
  }
  const differs = row.some((segment) => Array.isArray(segment) && segment.length === 2);
  return make("div", { class: differs ? "row differs" : "row equal" }, side(row, 0), side(row, 1));
}

// Long runs of equal rows wait behind a button, but for a row of context beside each difference.
function drawRows(rows) {
  const drawn = [];
  for (let start = 0; start < rows.length; ) {
    let stop = start;
    while (stop < rows.length && isEqual(rows[stop])) stop += 1;
    const first = start === 0 ? start : start + CONTEXT;
    const last = stop === rows.length ? stop : stop - CONTEXT;
    if (last - first > 1 && (start > 0 || stop < rows.length)) {
      drawn.push(...rows.slice(start, first).map(drawRow), hidden(rows.slice(first, last)));
      drawn.push(...rows.slice(last, stop + 1).map(drawRow));
    } else {
      drawn.push(...rows.slice(start, stop + 1).map(drawRow));
    }
    start = stop + 1;
  }
  return drawn;
}

function hidden(rows) {
  const length = (row) => (isGap(row) ? row.left : row.reduce((sum, segment) => sum + segment.length, 0));
  const count = rows.reduce((sum, row) => sum + length(row), 0);
  const button = make("button", { class: "gap", type: "button" }, `Show ${plural(count, "equal character")}`);
  button.addEventListener("click", () => {
    const drawn = rows.map(drawRow);
    drawn[0].tabIndex = -1;
    button.replaceWith(...drawn);
    drawn[0].focus({ preventScroll: true });
  });
  return button;
}

function head(title, id, characters) {
  const length = characters === undefined ? "" : ` · ${plural(characters, "character")}`;
  return make("div", {}, make("b", {}, title), linkOf(id), make("span", { class: "soft" }, length));
}

function drawPair(pair) {
  const cluster = make("p", {}, make("a", { href: `#cluster-${pair.cluster}` }, "Its cluster"));
  const sides = make("div", { class: "sides" });
  sides.append(make("div", { class: "head" },
    head("kept", pair.of, pair.lengths?.[0]), head("duplicate", pair.id, pair.lengths?.[1])));
  if (pair.note) sides.append(make("p", { class: "gap" }, pair.note));
  sides.append(...drawRows(pair.rows ?? []));
  sides.lang = language(sides.textContent);
  return [sides, cluster];
}

function pairSummary(pair) {
  const changes = pair.changes === undefined ? "" : pair.changes ? plural(pair.changes, "difference") : "no differences";
  return [
    make("span", { class: "figure" }, bits(pair.distance)),
    make("span", { class: "figure" }, `similarity ${similarity(pair.similarity)}`),
    make("span", { class: "ids" }, idOf(pair.of), idOf(pair.id)),
    make("span", { class: "figure soft changes" }, changes),
  ];
}

// --- one cluster ----------------------------------------------------------------------------------------------------

function member(found) {
  const [id, distance, similar, pair] = found;
  const link = pair === null ? "" : make("a", { href: `#pair-${pair}` }, "compare");
  return make("tr", {}, make("td", {}, linkOf(id)), make("td", { class: "n" }, number(distance)),
    make("td", { class: "n" }, similarity(similar)), make("td", { class: "n" }, link));
}

function drawCluster(cluster) {
  const heads = [["duplicate", ""], ["bits", "n"], ["similarity", "n"], ["", "n"]];
  const table = make("table", {},
    make("thead", {}, make("tr", {}, ...heads.map(([text, kind]) => make("th", { class: kind, scope: "col" }, text)))),
    make("tbody", {}, ...cluster.members.map(member)));
  const rest = cluster.size - cluster.members.length;
  const note = rest ? [make("p", { class: "note" }, `and ${plural(rest, "more duplicate")}, not listed in this page`)] : [];
  return [table, ...note];
}

function clusterSummary(cluster) {
  return [idOf(cluster.id), make("span", { class: "figure" }, plural(cluster.size, "duplicate"))];
}

// --- lists ----------------------------------------------------------------------------------------------------------

class List {
  constructor(name, items, summary, draw) {
    Object.assign(this, { name, items, summary, draw, shown: 0, found: items });
    this.box = document.getElementById(`${name}-list`);
    this.button = document.getElementById(`${name}-more`);
    this.button.addEventListener("click", () => {
      const before = this.shown;
      this.more(before + STEP);
      this.box.children[before]?.querySelector("summary").focus();
    });
  }

  show(found) {
    this.found = found;
    this.shown = 0;
    this.box.replaceChildren();
    this.more(FIRST);
  }

  more(wanted) {
    const stop = Math.min(wanted, this.found.length);
    this.box.append(...this.found.slice(this.shown, stop).map((item) => this.entry(item)));
    this.shown = Math.max(stop, this.shown);
    const rest = this.found.length - this.shown;
    this.button.hidden = rest === 0;
    this.button.textContent = `Show ${number(Math.min(rest, STEP))} more of ${number(rest)}`;
  }

  entry(item) {
    const body = make("div", { class: "body" });
    const entry = make("details", { id: `${this.name}-${item.at}` }, make("summary", {}, ...this.summary(item)), body);
    entry.addEventListener("toggle", () => {
      if (entry.open && !body.hasChildNodes()) body.append(...this.draw(item));
    });
    return entry;
  }

  open(at) {
    const place = this.found.findIndex((item) => item.at === at);
    if (place < 0) return false;
    if (place >= this.shown) this.more(place + 1);
    const entry = this.box.children[place];
    entry.open = true;
    entry.querySelector("summary").focus({ preventScroll: true });
    entry.scrollIntoView({ block: "start" });
    return true;
  }
}

data.pairs.forEach((pair, at) => Object.assign(pair, { at }));
data.clusters.forEach((cluster, at) => Object.assign(cluster, { at }));
const lists = {
  cluster: new List("cluster", data.clusters, clusterSummary, drawCluster),
  pair: new List("pair", data.pairs, pairSummary, drawPair),
};

// --- search, filter, order ------------------------------------------------------------------------------------------

const search = document.getElementById("search");
const order = document.getElementById("order");
const bitsApart = document.getElementById("distance");
const line = document.getElementById("status");

const unknown = (pair) => pair.similarity === null;
const ORDERS = {
  least: (a, b) => unknown(a) - unknown(b) || a.similarity - b.similarity || b.distance - a.distance || a.at - b.at,
  most: (a, b) => unknown(a) - unknown(b) || b.similarity - a.similarity || a.distance - b.distance || a.at - b.at,
  bits: (a, b) => b.distance - a.distance || ORDERS.least(a, b),
  cluster: (a, b) => a.cluster - b.cluster || a.at - b.at,
};

function words(item) {
  if (item.words === undefined) {
    const texts = (item.rows ?? []).flatMap((row) => (isGap(row) ? [] : row.flat()));
    const members = (item.members ?? []).map(([id]) => id);
    item.words = [item.id, item.of ?? "", ...members, texts.join("")].join("\n").toLowerCase();
  }
  return item.words;
}

function update() {
  const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = (item) => wanted.every((word) => words(item).includes(word));
  const near = (pair) => bitsApart.value === "" || pair.distance === Number(bitsApart.value);
  const clusters = data.clusters.filter(matches);
  const pairs = data.pairs.filter((pair) => near(pair) && matches(pair)).sort(ORDERS[order.value]);
  lists.cluster.show(clusters);
  lists.pair.show(pairs);
  // The only one is what was looked for; at first it is an example of what there is to see.
  if (pairs.length === 1 || !(wanted.length || bitsApart.value)) lists.pair.box.firstElementChild.open = true;
  const all = `${plural(data.clusters.length, "cluster")} and ${plural(data.pairs.length, "pair")} in this page`;
  const filtered = wanted.length || bitsApart.value;
  line.textContent = filtered
    ? `${number(clusters.length)} of ${plural(data.clusters.length, "cluster")}, ${number(pairs.length)} of `
      + `${plural(data.pairs.length, "pair")} in this page match`
    : all;
}

function reveal() {
  const [, name, at] = /^#(cluster|pair)-(\d+)$/.exec(location.hash) ?? [];
  if (!name || lists[name].open(Number(at))) return;
  // It is there, but not among what was searched for.
  search.value = "";
  bitsApart.value = "";
  update();
  lists[name].open(Number(at));
}

let waiting;
search.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(update, 120);
});
order.addEventListener("change", update);
bitsApart.addEventListener("change", update);
window.addEventListener("hashchange", reveal);
document.addEventListener("click", (event) => {
  // A second click on a link changes no hash.
  const link = event.target.closest?.("a[href^='#']");
  if (link && link.hash === location.hash) reveal();
});
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input, select, textarea");
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    search.focus();
  }
});

document.getElementById("scriptless").remove();
update();
reveal();
