/** Rejected events per hour. */

import { html } from "htm/preact";
import { useCell } from "../../cell.js";
import { clock, short } from "../../times.js";

const SHOWN = 48;
const HOUR = 3_600;

/** @param {{hours: {start: number, count: number}[]}} props */
export function Hours({ hours }) {
  const now = useCell(clock);
  const last = Math.floor(now / HOUR) * HOUR;
  const counts = new Map(hours.map((one) => [one.start, one.count]));
  const bars = Array.from({ length: SHOWN }, (_, index) => {
    const start = last - (SHOWN - 1 - index) * HOUR;
    return { start, count: counts.get(start) ?? 0 };
  });
  const most = Math.max(1, ...bars.map((one) => one.count));
  const total = bars.reduce((sum, one) => sum + one.count, 0);
  const peak = bars.reduce((best, one) => (one.count > best.count ? one : best), { start: 0, count: 0 });
  const words = `${total.toLocaleString("en-GB")} in the last two days${peak.count > 0 ? `; peak of ${peak.count.toLocaleString("en-GB")} at ${short(peak.start, now)}` : ""}`;
  return html`<div class="hours" role="img" aria-label=${words}>
    ${bars.map((one) => html`<div key=${one.start} title=${`${short(one.start, now)}: ${one.count.toLocaleString("en-GB")}`}><div style=${{ height: `${(one.count / most) * 100}%` }}></div></div>`)}
  </div>
  <p class="soft">${words}</p>`;
}
