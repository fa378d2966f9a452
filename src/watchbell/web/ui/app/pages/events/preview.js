/** The next runs of timings, also while they are edited. */

import { html } from "htm/preact";
import { When } from "../../kit/time.js";
import { format, zone, zoned } from "../../times.js";
import { capitalized } from "../../words.js";

/** @typedef {import("./words.js").Upcoming} Upcoming */
/** @typedef {{words: string, next: Upcoming[], errors: {field: string, reason: string}[]}} Previewed */

/** @param {{preview: import("../../runs/preview.js").Preview<Previewed>}} props */
export function Previewing({ preview }) {
  const { value, problem } = preview;
  return html`<div class="preview" role="status" aria-live="polite" aria-label="Next runs">
    ${problem && html`<p class="wrong">${problem.message}</p>`}
    ${value && (value.errors.length > 0
      ? html`<p class="soft">Correct the timings to see the next runs.</p>`
      : html`<p class="preview-words">${capitalized(value.words)}</p><${NextRuns} next=${value.next} none="Add a timing that starts it by itself, such as Every day." />`)}
  </div>`;
}

/**
 * Each run in the reader's zone, and in the zone of the timing where that differs.
 * @param {{next: Upcoming[], none: string}} props
 */
export function NextRuns({ next, none }) {
  if (next.length === 0) return html`<p class="soft">${none}</p>`;
  const differs = next.some((one) => one.local.slice(4, 20) !== zoned(one.at));
  return html`<ol class="fires">
      ${next.map((one) => html`<li key=${one.at}>
        <span>${longTime(one.at)}</span>
        <span class="soft"><${When} at=${one.at} /></span>
        ${differs && html`<div class="fire-local soft">${one.local}</div>`}
        ${one.remark && html`<div class="fire-remark">${one.remark}</div>`}
      </li>`)}
    </ol>
    <p class="hint">${differs ? `In your time zone, ${zone()}, and below each in that of the timing.` : `In your time zone, ${zone()}.`}</p>`;
}

/** As `Sun 15 Nov 2026, 14:03`. @param {number} at */
function longTime(at) {
  const hasSeconds = at % 60 !== 0;
  return format(hasSeconds ? "long seconds" : "long", {
    weekday: "short", day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", ...(hasSeconds ? { second: "2-digit" } : {}),
  }).format(at * 1000);
}
