/** Times in the reader's time zone, with the exact time as a tooltip. */

import { html } from "htm/preact";
import { useCell } from "../cell.js";
import { clock, exact, lasting, machine, relative, short } from "../times.js";

/**
 * A point in time. `ago` is relative (`3 min ago`, `in 2 h`), `short` shows the time of day.
 * @param {{at: number | null | undefined, as?: "ago" | "short" | "exact", none?: string}} props
 */
export function When({ at, as = "ago", none = "never" }) {
  const now = useCell(clock);
  if (at === null || at === undefined) return html`<span class="soft">${none}</span>`;
  const words = { ago: relative, short, exact }[as](at, now);
  return html`<time datetime=${machine(at)} title=${`${exact(at)} · ${machine(at)}`}>${words}</time>`;
}

/**
 * The time elapsed since then, updated every second.
 * @param {{since: number | null | undefined}} props
 */
export function Since({ since }) {
  const now = useCell(clock);
  if (since === null || since === undefined) return html`<span class="soft">–</span>`;
  return html`<time datetime=${machine(since)} title=${`since ${exact(since)} · ${machine(since)}`}>${lasting(now - since, 2)}</time>`;
}

/**
 * A fixed duration.
 * @param {{seconds: number | null | undefined, units?: 1 | 2}} props
 */
export function Lasting({ seconds, units = 2 }) {
  if (seconds === null || seconds === undefined) return html`<span class="soft">–</span>`;
  if (seconds > 0 && seconds < 1) return html`<span>${Math.round(seconds * 1000)} ms</span>`;
  return html`<span title=${`${seconds} s`}>${lasting(seconds, units)}</span>`;
}
