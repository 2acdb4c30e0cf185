// Making elements, and writing numbers. Whatever comes from the service or from people is put on the page as text, never
// as markup.

import { element, filled } from "./texts.js";

export { element, idOf, language, number, plural, similarity } from "./texts.js";

const SVG = "http://www.w3.org/2000/svg";

export const $ = (id) => document.getElementById(id);

export const shape = (name, attributes = {}, ...children) =>
  filled(document.createElementNS(SVG, name), attributes, children);

export function button(label, action, attributes = {}) {
  const node = element("button", { type: "button", ...attributes }, label);
  node.addEventListener("click", action);
  return node;
}

const compact = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });
export const roughly = (value) => compact.format(value);
export const time = (text) => new Date(text).toLocaleString("sv");

export function size(bytes) {
  const units = ["B", "KB", "MB", "GB", "TB"];
  const power = bytes ? Math.min(Math.floor(Math.log10(bytes) / 3), units.length - 1) : 0;
  return `${(bytes / 1000 ** power).toFixed(power ? 1 : 0)} ${units[power]}`;
}
