/** Gauges: how much of something is used, as a number and a bar. */

import { html } from "htm/preact";

const HIGH = 0.8;
const FULL = 0.95;

/**
 * @param {{label: string, part: number | null, words: string, isCapacity?: boolean, children?: any}} props
 *   `part`: of one, null if it is not known; `isCapacity`: being full is fine, as it is for slots
 */
export function Gauge({ label, part, words, isCapacity = false, children }) {
  if (part === null) return html`<div class="gauge"><span class="soft">${words}</span></div>`;
  const used = Math.min(Math.max(part, 0), 1);
  const tone = isCapacity || used < HIGH ? "" : used < FULL ? " gauge-high" : " gauge-full";
  return html`<div class=${`gauge${tone}`}>
    <span class="gauge-words">${children ?? words}</span>
    <div class="gauge-bar" role="meter" aria-label=${label} aria-valuemin="0" aria-valuemax="100" aria-valuenow=${Math.round(used * 100)} aria-valuetext=${words}>
      <div style=${{ width: `${(used * 100).toFixed(1)}%` }}></div>
    </div>
  </div>`;
}
