/** Runs as bars: height is duration; failed runs point down. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { go } from "../location.js";
import { exact, took } from "../times.js";
import { counted } from "../words.js";

/**
 * @typedef {{look: string, word: string, ended: number, duration: number | null, to: string}} Span
 *   one run; `look`: `success`, or how it failed; `to`: its page, empty for none
 */

const LEAST = 0.12;

/**
 * Recent runs, small enough for a table row.
 * @param {{spans: Span[], most?: number}} props the newest first
 */
export function Sparkline({ spans, most = 20 }) {
  if (spans.length === 0) return html`<span class="soft">–</span>`;
  const shown = spans.slice(0, most).reverse();
  const width = most * 5;
  const left = width - shown.length * 5;
  return html`<svg class="spark" viewBox=${`0 0 ${width} 24`} width=${width} height="24" role="img" aria-label=${summary(shown)}>
    <path class="spark-line" d=${`M${left} 14h${width - left}`} />
    ${heights(shown).map((height, i) => html`<${Bar} span=${shown[i]} x=${left + i * 5 + 0.5} width=${4} middle=${14} up=${13 * height} down=${9 * height} />`)}
  </svg>`;
}

/**
 * One run. Failed runs are below the line, frozen ones hollow.
 * @param {{span: Span, x: number, width: number, middle: number, up: number, down: number}} props
 */
function Bar({ span, x, width, middle, up, down }) {
  const isGood = span.look === "success";
  const y = isGood ? middle - up : middle + 1;
  return html`<rect class=${`bar-${span.look}`} x=${x} y=${y} width=${width} height=${Math.max(1.5, isGood ? up : down)} rx="0.5"><title>${describe(span)}</title></rect>`;
}

/**
 * Recent runs over the full width: arrow keys move, Enter opens a run.
 * @param {{spans: Span[]}} props the newest first
 */
export function Bars({ spans }) {
  const [at, setAt] = useState(/** @type {number | null} */ (null));
  const shown = [...spans].reverse();
  const selected = shown[at ?? shown.length - 1];
  if (!selected) return null;
  const step = 100 / Math.max(shown.length, 30);
  const open = (/** @type {Span | undefined} */ span) => span?.to && go(span.to);
  const type = (/** @type {KeyboardEvent} */ event) => {
    const by = /** @type {Record<string, number>} */ ({ ArrowLeft: -1, ArrowRight: 1, Home: -shown.length, End: shown.length })[event.key];
    if (event.key === "Enter") open(selected);
    else if (by === undefined) return;
    else setAt(Math.min(Math.max((at ?? shown.length - 1) + by, 0), shown.length - 1));
    event.preventDefault();
  };
  const all = heights(shown);
  return html`<figure class="bars">
    <div class="bars-scale soft"><span>${took(Math.max(...shown.map((span) => span.duration ?? 0)))}</span></div>
    <svg viewBox="0 0 100 100" preserveAspectRatio="none" role="slider" tabindex="0" aria-label="Duration of recent runs"
      aria-valuemin="0" aria-valuemax=${shown.length - 1} aria-valuenow=${at ?? shown.length - 1} aria-valuetext=${describe(selected)}
      aria-description=${summary(shown)} onKeyDown=${type} onMouseLeave=${() => setAt(null)} onBlur=${() => setAt(null)}>
      <path class="spark-line" d="M0 62h100" vector-effect="non-scaling-stroke" />
      ${shown.map((span, i) => html`<g class=${i === at ? "bars-selected" : undefined} onMouseEnter=${() => setAt(i)} onClick=${() => open(span)}>
        <rect class="bars-back" x=${i * step} y="0" width=${step} height="100" />
        <${Bar} span=${span} x=${(i + 0.12) * step} width=${step * 0.76} middle=${62} up=${60 * (all[i] ?? 0)} down=${36 * (all[i] ?? 0)} />
      </g>`)}
    </svg>
    <figcaption class="soft">${describe(selected)}</figcaption>
  </figure>`;
}

/** Relative heights; the smallest stays visible. @param {Span[]} spans */
function heights(spans) {
  const longest = Math.max(...spans.map((span) => span.duration ?? 0), 0.001);
  return spans.map((span) => Math.max(LEAST, (span.duration ?? 0) / longest));
}

/** @param {Span} span */
function describe(span) {
  const length = span.duration === null ? "" : ` after ${took(span.duration)}`;
  return `${span.word}${length} · ${exact(span.ended)}`;
}

/** @param {Span[]} spans */
function summary(spans) {
  const good = spans.filter((span) => span.look === "success").length;
  const lengths = spans.flatMap((span) => (span.duration === null ? [] : [span.duration]));
  const range = lengths.length ? `, from ${took(Math.min(...lengths))} to ${took(Math.max(...lengths))}` : "";
  return `Last ${counted(spans.length, "run")}: ${good} succeeded, ${spans.length - good} failed${range}`;
}
