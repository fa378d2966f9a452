/** The runs scheduled in the next 24 hours. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { useFetched } from "../../api.js";
import { useCell } from "../../cell.js";
import { Card } from "../../kit/layout.js";
import { clock, exact, short } from "../../times.js";
import { counted } from "../../words.js";
import { jobLink } from "./words.js";

/**
 * @typedef {{at: number, count: number, names: string[]}} Bucket
 * @typedef {{since: number, until: number, seconds: number, buckets: Bucket[], frequent: number}} Ahead
 */

export function Strip() {
  const fetched = useFetched("/cron/ahead", { every: 60 });
  const ahead = /** @type {Ahead | null} */ (fetched.value);
  if (!ahead || (ahead.buckets.length === 0 && ahead.frequent === 0)) return null;
  return html`<${Card} title="Next 24 hours"><${Hours} ahead=${ahead} /><//>`;
}

/** @param {{ahead: Ahead}} props */
function Hours({ ahead }) {
  const now = useCell(clock);
  const [selected, setSelected] = useState(/** @type {number | null} */ (null));
  const { since, until, seconds, buckets, frequent } = ahead;
  const most = Math.max(...buckets.map((one) => one.count), 1);
  const count = (until - since) / seconds;
  const place = (/** @type {number} */ at) => ((at - since) / (until - since)) * 100;
  const bucket = buckets[selected ?? -1];
  const sum = buckets.reduce((all, one) => all + one.count, 0);
  const move = (/** @type {KeyboardEvent} */ event) => {
    const by = /** @type {Record<string, number>} */ ({ ArrowLeft: -1, ArrowRight: 1, Home: -count, End: count })[event.key];
    if (by === undefined || buckets.length === 0) return;
    event.preventDefault();
    const next = selected === null ? (by > 0 ? 0 : buckets.length - 1) : selected + by;
    setSelected(Math.min(Math.max(next, 0), buckets.length - 1));
  };
  const label = `${counted(sum, "run")} in the next 24 hours`;
  return html`<div class="strip">
    <svg viewBox="0 0 100 40" preserveAspectRatio="none" role="slider" tabindex="0" aria-label=${label} aria-valuemin="0"
      aria-valuemax=${Math.max(buckets.length - 1, 0)} aria-valuenow=${selected ?? 0} aria-valuetext=${bucket ? describe(bucket, seconds) : label}
      onKeyDown=${move}>
      ${marks(since, until).map((at) => html`<path class="strip-hour" d=${`M${place(at)} 0v40`} vector-effect="non-scaling-stroke" />`)}
      ${buckets.map((one, i) => {
        const height = Math.max(3, (one.count / most) * 38);
        return html`<g class=${i === selected ? "strip-selected" : undefined} onMouseEnter=${() => setSelected(i)} onClick=${() => setSelected(i)}>
          <rect class="strip-back" x=${place(one.at)} y="0" width=${100 / count} height="40" />
          <rect class="strip-bar" x=${place(one.at) + 12 / count} y=${40 - height} width=${76 / count} height=${height} />
        </g>`;
      })}
      <path class="strip-now" d=${`M${Math.max(0, place(now))} 0v40`} vector-effect="non-scaling-stroke" />
    </svg>
    <div class="strip-hours soft" aria-hidden="true">
      ${marks(since, until).filter((at) => place(at) > 4 && place(at) < 96).map((at) => html`<span style=${{ left: `${place(at)}%` }}>${short(at, at)}</span>`)}
    </div>
    <p class="strip-caption">
      ${bucket
        ? html`<strong>${describe(bucket, seconds)}</strong>: ${bucket.names.map((name, i) => html`${i > 0 && ", "}<a href=${jobLink(name)}>${name}</a>`)}${bucket.count > bucket.names.length && " …"}`
        : html`<span class="soft">${label}${frequent > 0 && `, not counting ${counted(frequent, "frequent job")}`}.</span>`}
    </p>
  </div>`;
}

/** Every third full hour. @param {number} since @param {number} until */
function marks(since, until) {
  const first = Math.ceil(since / 3600) * 3600;
  const found = [];
  for (let at = first; at < until; at += 3 * 3600) found.push(at);
  return found;
}

/** @param {Bucket} bucket @param {number} seconds */
function describe(bucket, seconds) {
  return `${counted(bucket.count, "run")} from ${exact(bucket.at).replace(/:00 /, " ")} to ${short(bucket.at + seconds, bucket.at + seconds)}`;
}
