
// What `texts.js` exports stands before this.
const data = JSON.parse(document.getElementById("data").textContent);
const FIRST = 10;
const STEP = 20;

const bits = (value) => plural(value, "bit");
// Inside of a summary a link could not be told from the summary's own click, so there are none.
const isAddress = (text) => /^https?:\/\/[^\s…]+$/i.test(text);
const linkOf = (text) => (isAddress(text)
  ? element("a", { href: text, target: "_blank", rel: "noopener noreferrer" }, idOf(text)) : idOf(text));

const titleOf = (text) => (text ? element("bdi", { class: "title" }, text) : null);

// --- one pair -------------------------------------------------------------------------------------------------------

function head(side, id, title, characters) {
  const length = characters === undefined ? "" : ` · ${plural(characters, "character")}`;
  return element("div", {}, element("b", {}, side), titleOf(title), linkOf(id), element("span", { class: "soft" }, length));
}

function drawPair(pair) {
  const cluster = element("p", {}, element("a", { href: `#cluster-${pair.cluster}` }, "Its cluster"));
  const sides = element("div", { class: "sides" });
  sides.append(element("div", { class: "head" },
    head("kept", pair.of, pair.titles?.[0], pair.lengths?.[0]),
    head("duplicate", pair.id, pair.titles?.[1], pair.lengths?.[1])));
  if (pair.note) sides.append(element("p", { class: "gap" }, pair.note));
  sides.append(...drawRows(pair.rows ?? [], { trims: true }));
  sides.lang = language(sides.textContent);
  return [sides, cluster];
}

function pairSummary(pair) {
  const changes = pair.changes === undefined ? "" : pair.changes ? plural(pair.changes, "difference") : "no differences";
  return [
    element("span", { class: "figure" }, bits(pair.distance)),
    element("span", { class: "figure" }, `similarity ${similarity(pair.similarity)}`),
    element("span", { class: "ids" }, idOf(pair.of), idOf(pair.id)),
    element("span", { class: "figure soft changes" }, changes),
  ];
}

// --- one cluster ----------------------------------------------------------------------------------------------------

function member(found) {
  const [id, distance, similar, pair, title] = found;
  const link = pair === null ? "" : element("a", { href: `#pair-${pair}` }, "compare");
  return element("tr", {}, element("td", {}, titleOf(title), linkOf(id)), element("td", { class: "n" }, number(distance)),
    element("td", { class: "n" }, similarity(similar)), element("td", { class: "n" }, link));
}

function drawCluster(cluster) {
  const heads = [["duplicate", ""], ["bits", "n"], ["similarity", "n"], ["", "n"]];
  const table = element("table", {},
    element("thead", {}, element("tr", {}, ...heads.map(([text, kind]) => element("th", { class: kind, scope: "col" }, text)))),
    element("tbody", {}, ...cluster.members.map(member)));
  const rest = cluster.size - cluster.members.length;
  const note = rest ? [element("p", { class: "note" }, `and ${plural(rest, "more duplicate")}, not listed in this page`)] : [];
  return [table, ...note];
}

function clusterSummary(cluster) {
  const name = element("span", {}, titleOf(cluster.title), idOf(cluster.id));
  return [name, element("span", { class: "figure" }, plural(cluster.size, "duplicate"))];
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
    const body = element("div", { class: "body" });
    const entry = element("details", { id: `${this.name}-${item.at}` }, element("summary", {}, ...this.summary(item)), body);
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
    const members = (item.members ?? []).flatMap(([id, , , , title]) => [id, title ?? ""]);
    const titles = [item.title ?? "", ...(item.titles ?? []).map((title) => title ?? "")];
    item.words = [item.id, item.of ?? "", ...titles, ...members, texts.join("")].join("\n").toLowerCase();
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
