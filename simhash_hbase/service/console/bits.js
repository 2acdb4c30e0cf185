// The 64 bits of two fingerprints in their blocks: blocks that agree are what brings a pair together.

import { element, plural, shape } from "./elements.js";

const BIT = 10;
const GAP = 8;

export function bits({ bits: text, block_widths: widths, distance }) {
  const width = 64 * BIT + (widths.length - 1) * GAP;
  const drawing = shape("svg", { viewBox: `0 0 ${width} 16`, preserveAspectRatio: "none", "aria-hidden": "true" });
  let at = 0;
  let differing = 0;
  for (const [block, length] of widths.entries()) {
    const here = text.slice(at, at + length);
    for (const [offset, bit] of [...here].entries()) {
      const x = (at + offset) * BIT + block * GAP;
      drawing.append(shape("rect", { class: bit === "1" ? "bit differs" : "bit", x, width: BIT - 1.5, height: 16, rx: 2 }));
    }
    differing += here.includes("1");
    at += length;
  }
  const caption = `The fingerprints differ in ${plural(distance, "bit")}, in ${differing} of ${widths.length} blocks.`;
  return element("figure", { class: "bits" }, drawing, element("figcaption", {}, caption));
}
