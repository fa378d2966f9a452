/** Responses of a crawl over time, by the class of their code. */

import { html } from "htm/preact";
import { useEffect, useMemo } from "preact/hooks";
import { useFetched } from "../../api.js";
import { Card, Fetched } from "../../kit/layout.js";
import { plain, Plot } from "../../kit/plot.js";
import { crawlPath } from "./words.js";

/** @typedef {{at: number, r1xx: number, r2xx: number, r3xx: number, r4xx: number, r5xx: number, runk: number}} Point */

/** @type {{field: "r2xx" | "r3xx" | "r4xx" | "r5xx" | "runk", label: string, tone: string, key: string}[]} */
const LINES = [
  { field: "r2xx", label: "2xx", tone: "ok-fill", key: "2" },
  { field: "r3xx", label: "3xx", tone: "act", key: "3" },
  { field: "r4xx", label: "4xx", tone: "warning-fill", key: "4" },
  { field: "r5xx", label: "5xx", tone: "critical-fill", key: "5" },
  { field: "runk", label: "no response", tone: "unknown-fill", key: "x" },
];

/** @param {{ident: string, isLive: boolean}} props */
export function Responses({ ident, isLive }) {
  const fetched = useFetched(`${crawlPath(ident)}/responses`, { every: isLive ? 10 : 0 });
  useEffect(() => void (!isLive && fetched.reload()), [isLive]);
  return html`<${Card} title="Responses">
    <${Fetched} of=${fetched}>${(/** @type {{step: number, items: Point[]}} */ value) => html`<${Drawn} items=${value.items} step=${value.step} />`}<//>
  <//>`;
}

/** @param {{items: Point[], step: number}} props */
function Drawn({ items, step }) {
  const data = useMemo(() => plotted(items, step), [items, step]);
  if (items.length === 0) return html`<p class="soft">The plot begins with the first response.</p>`;
  const span = step < 120 ? "minute" : `${Math.round(step / 60)} minutes`;
  return html`<ul class="crawl-legend" aria-hidden="true">${LINES.map((line) => html`<li><span class=${`crawl-key crawl-key-${line.key}`}></span>${line.label}</li>`)}<li class="soft">per ${span}</li></ul>
    <${Plot} label=${`Responses per ${span}`} lines=${LINES.map(({ label, tone }) => ({ label, tone }))} data=${data} height=${180} least=${4} format=${plain} />`;
}

/** Steps without responses count as zero. @param {Point[]} items @param {number} step @returns {import("../../kit/plot.js").Data} */
function plotted(items, step) {
  const known = new Map(items.map((one) => [one.at, one]));
  const [first, last] = [items[0]?.at ?? 0, items.at(-1)?.at ?? 0];
  /** @type {number[]} */
  const times = [];
  for (let at = items.length === 1 ? first - step : first; at <= last; at += step) times.push(at);
  return [times, ...LINES.map(({ field }) => times.map((at) => known.get(at)?.[field] ?? 0))];
}
