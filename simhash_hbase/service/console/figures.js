// The figures of the index, as numbers and as charts.

import { $, element, number, plural, roughly, size } from "./elements.js";
import { columns, rows, showCharts } from "./charts.js";

const DAY = 86_400_000;
const MOST_BARS = 62;

export function showFigures(stats, profile) {
  $("lead").textContent = lead(stats, profile);
  $("numbers").replaceChildren(...numbers(stats).filter(Boolean).map(tile));
  showCharts($("charts"), charts(stats).filter(Boolean));
}

export function forgetFigures() {
  $("lead").textContent = "A near-duplicate index of simhash-hbase.";
  $("numbers").replaceChildren();
  showCharts($("charts"), []);
}

function lead({ documents }, { analyzer, scheme, match, distance, similarity, share }) {
  const limits = { verified: `similarity from ${similarity}`, copied: `share of rare passages from ${share}` };
  const rule = limits[match] ?? `distance up to ${distance}`;
  return `An index of ${plural(documents, "document")}: analyzer ${analyzer}, scheme ${scheme}, ${rule}.`;
}

function numbers(stats) {
  const { states, documents } = stats;
  const duplicates = states.duplicate ?? 0;
  const all = documents + duplicates;
  const cut = (stats.truncated_prefixes ?? 0) + (stats.truncated_fingerprints ?? 0);
  return [
    { name: "Documents", value: number(documents), rest: "that queries find" },
    { name: "Duplicates", value: number(duplicates), rest: all ? `${((100 * duplicates) / all).toFixed(1)} % of all that came` : "" },
    { name: "Rows", value: roughly(stats.rows), rest: stats.bytes === null ? "" : `${size(stats.bytes)} on disk` },
    stats.regions && regionTile(stats),
    { name: "Cut prefixes", value: number(cut), rest: cut ? "queries do not read all of them" : "every query reads all", warn: cut > 0 },
  ];
}

function regionTile({ regions, imbalance }) {
  const rest = imbalance === null ? "" : `the largest has ${imbalance.toFixed(2)} × the mean`;
  return { name: "Regions", value: number(regions.length), rest, warn: imbalance > 2 };
}

function tile({ name, value, rest, warn }) {
  const told = [element("dd", { class: "number" }, value), element("dd", { class: "rest" }, rest)];
  return element("div", warn ? { class: "warn" } : {}, element("dt", {}, name), ...told);
}

function charts({ days, distances, hottest, rows_per_prefix: crowds, regions }) {
  return [
    days.length && columns("Documents over time", ...byTime(days), ["documents", "duplicates"]),
    Object.keys(distances).length && columns("Distances of duplicates", "to their originals, in bits", distanceBars(distances), ["duplicates"]),
    hottest.length && rows("Hottest prefixes", "rows that a query of this table reads; table · segment", hottest.map(hotBar), ["rows"]),
    Object.keys(crowds).length && rows("Crowding", "prefixes by the number of their rows", Object.entries(crowds).map(crowdBar), ["prefixes"]),
    regions?.length && columns("Regions", "rows and cells of each, by its first key", regions.map(regionBar), ["rows", "cells"]),
  ];
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
  const first = Date.parse(days[0].date);
  const span = (Date.parse(days.at(-1).date) - first) / DAY + 1;
  const step = [1, 7, 30].find((length) => span <= length * MOST_BARS) ?? 365;
  const bars = Array.from({ length: Math.ceil(span / step) }, (_, at) => {
    const label = new Date(first + at * step * DAY).toISOString().slice(0, 10);
    return { label, values: [0, 0] };
  });
  for (const { date, documents, duplicates } of days) {
    const bar = bars[Math.floor((Date.parse(date) - first) / DAY / step)];
    bar.values[0] += documents;
    bar.values[1] += duplicates;
  }
  const unit = { 1: "a bar a day", 7: "a bar for seven days", 30: "a bar for 30 days", 365: "a bar for 365 days" }[step];
  return [`by the time they were added (UTC), ${unit}`, bars];
}
