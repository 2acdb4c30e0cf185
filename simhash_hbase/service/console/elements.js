// Making elements, and writing numbers. Whatever comes from the service or from people is put on the page as text, never
// as markup.

const SVG = "http://www.w3.org/2000/svg";

export const $ = (id) => document.getElementById(id);

function filled(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children.filter((child) => child !== null));
  return node;
}

export const element = (name, attributes = {}, ...children) => filled(document.createElement(name), attributes, children);

export const shape = (name, attributes = {}, ...children) =>
  filled(document.createElementNS(SVG, name), attributes, children);

export function button(label, action, attributes = {}) {
  const node = element("button", { type: "button", ...attributes }, label);
  node.addEventListener("click", action);
  return node;
}

export const idOf = (text) => element("bdi", { class: "id" }, text);

const SCRIPTS = [[/[\u3040-\u30ff]/, "ja"], [/[\uac00-\ud7a3]/, "ko"], [/[\u4e00-\u9fff]/, "zh"], [/(?:)/, ""]];
// Which forms a font gives to Han characters.
export const language = (text) => SCRIPTS.find(([script]) => script.test(text))[1];

const whole = new Intl.NumberFormat("en-US");
const compact = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });
export const number = (value) => whole.format(value);
export const roughly = (value) => compact.format(value);
export const plural = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;
export const similarity = (value) => (value === null ? "unknown" : value.toFixed(3));
export const time = (text) => new Date(text).toLocaleString("sv");

export function size(bytes) {
  const units = ["B", "KB", "MB", "GB", "TB"];
  const power = bytes ? Math.min(Math.floor(Math.log10(bytes) / 3), units.length - 1) : 0;
  return `${(bytes / 1000 ** power).toFixed(power ? 1 : 0)} ${units[power]}`;
}
