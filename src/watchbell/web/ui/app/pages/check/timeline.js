/** A check's states drawn over time, with maintenance below. */

import { html } from "htm/preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { url, useFetched, useInterval } from "../../api.js";
import { useKeys } from "../../keys.js";
import { useQuery } from "../../location.js";
import { exact, lasting } from "../../times.js";
import { counted } from "../../words.js";
import { Button, Choice } from "../../kit/form.js";
import { Card, Failed, Loading } from "../../kit/layout.js";
import { State } from "../../kit/state.js";
import { When } from "../../kit/time.js";
import { marks } from "../../zoned.js";
import { useStamp } from "./stamp.js";

/**
 * @typedef {{start: number, end: number, state: string | null, changes: number, summary: string}} Segment
 * @typedef {{id: string, kind: "scheduled" | "unscheduled", start: number, end: number, summary: string, is_open: boolean}} Span
 * @typedef {{start: number, end: number, now: number, known_from: number | null, is_complete: boolean, segments: Segment[],
 *   maintenance: Span[], seconds: Record<string, number>, percentages: Record<string, number | null>, outages: number}} Course
 */

/** @type {[name: string, seconds: number][]} */
const RANGES = [
  ["6 h", 21_600],
  ["24 h", 86_400],
  ["7 d", 604_800],
  ["30 d", 2_592_000],
  ["90 d", 7_776_000],
  ["1 y", 31_536_000],
];
const USUAL = "24 h";
const TOP = 6;
const FLOOR = 42;
/** Height of each state's bar: the worse, the higher. @type {Record<string, number>} */
const HEIGHTS = { ok: 12, unknown: 20, warning: 28, critical: 36 };

/** @param {{check: string, stamp: string}} props `stamp` changes when the check does */
export function Timeline({ check, stamp }) {
  const [query, setQuery] = useQuery();
  const name = RANGES.some(([one]) => one === query.get("range")) ? String(query.get("range")) : USUAL;
  const place = RANGES.findIndex(([one]) => one === name);
  const seconds = RANGES[place]?.[1] ?? 86_400;
  const to = Number(query.get("to")) || null;
  const [now, setNow] = useState(seen);
  useEffect(() => setNow(seen), [stamp, name, to]);
  useInterval(() => setNow(seen), 60);
  const end = to ?? now;
  const course = useFetched(url("/check/timeline", { check, from: end - seconds, to: end }));
  useStamp(stamp, course.reload); // also where the second is still the same
  const last = useRef(/** @type {Course | null} */ (null));
  if (course.value) last.current = course.value;
  const shown = /** @type {Course | null} */ (course.value ?? last.current);

  const zoom = (/** @type {number} */ by) => {
    const next = RANGES[place + by]?.[0];
    if (next) setQuery({ range: next === USUAL ? null : next });
  };
  const shift = (/** @type {number} */ by) => {
    const next = Math.round(end + by * seconds);
    setQuery({ to: next >= seen() ? null : String(next) });
  };
  useKeys("Timeline", [
    ["[", "earlier", () => shift(-0.5)],
    ["]", "later", () => shift(0.5)],
    ["+", "zoom in", () => zoom(-1)],
    ["-", "zoom out", () => zoom(1)],
  ]);
  const controls = html`<div class="check-range">
    <${Button} small kind="quiet" label="Earlier" title="Earlier ([)" onClick=${() => shift(-0.5)}>◂<//>
    <${Choice} label="Range" value=${name} options=${RANGES.map(([one]) => [one, one])}
      onChange=${(/** @type {string} */ one) => setQuery({ range: one === USUAL ? null : one })} />
    <${Button} small kind="quiet" label="Later" title="Later (])" disabled=${to === null} onClick=${() => shift(0.5)}>▸<//>
    ${to !== null && html`<${Button} small onClick=${() => setQuery({ to: null })}>Now<//>`}
  </div>`;
  return html`<${Card} title="Timeline" actions=${controls}>
    ${shown && html`<${Picture} course=${shown} /><${Shares} course=${shown} />`}
    ${!shown && (course.problem ? html`<${Failed} problem=${course.problem} retry=${course.reload} />` : html`<${Loading} lines=${3} />`)}
  <//>`;
}

function seen() {
  return Math.floor(Date.now() / 1000);
}

/** @param {{course: Course}} props */
function Picture({ course }) {
  const frame = useRef(/** @type {HTMLDivElement | null} */ (null));
  const width = useWidth(frame);
  // By its start, so that the same state stays selected when the course goes on.
  const [start, setStart] = useState(/** @type {number | null} */ (null));
  const at = start === null ? -1 : course.segments.findIndex((one) => start < one.end);
  const x = (/** @type {number} */ time) =>
    (Math.min(Math.max(time, course.start), course.end) - course.start) / (course.end - course.start) * width;
  const selected = course.segments[at] ?? null;
  const count = course.segments.length;
  const point = (/** @type {PointerEvent} */ event) => {
    const box = frame.current?.getBoundingClientRect();
    if (!box) return;
    const time = course.start + ((event.clientX - box.left) / box.width) * (course.end - course.start);
    setStart(course.segments.find((one) => time < one.end)?.start ?? null);
  };
  const move = (/** @type {KeyboardEvent} */ event) => {
    const by = /** @type {Record<string, number>} */ ({ ArrowLeft: -1, ArrowRight: 1, Home: -count, End: count })[event.key];
    if (by === undefined || count === 0) return;
    event.preventDefault();
    setStart(course.segments[Math.min(Math.max((at < 0 ? count : at) + by, 0), count - 1)]?.start ?? null);
  };
  return html`<div class="check-course" ref=${frame} tabindex="0" role="slider" aria-label="States over time" aria-description="Use the arrow keys to move between states."
    aria-valuemin="0" aria-valuemax=${Math.max(count - 1, 0)} aria-valuenow=${at < 0 ? Math.max(count - 1, 0) : at}
    aria-valuetext=${spoken(selected ?? course.segments[count - 1])}
    onKeyDown=${move} onPointerMove=${point} onPointerDown=${point} onPointerLeave=${() => setStart(null)} onBlur=${() => setStart(null)}>
    ${width > 0 && html`<svg width=${width} height="78" aria-hidden="true">
      <defs>
        <pattern id="hatched" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line x1="0" x2="0" y1="0" y2="6" class="check-course-hatch" /></pattern>
        <pattern id="dotted" width="5" height="5" patternUnits="userSpaceOnUse"><circle cx="2.5" cy="2.5" r="1.3" class="check-course-dot" /></pattern>
      </defs>
      ${marks(course.start, course.end, Math.max(width / 90, 2)).map(({ at: time, words }) => html`<g>
        <line class="check-course-mark" x1=${x(time)} x2=${x(time)} y1=${TOP} y2="60" />
        <text class="check-course-words" x=${x(time)} y="74" text-anchor=${anchor(x(time), width)}>${words}</text>
      </g>`)}
      <line class="check-course-floor" x1="0" x2=${width} y1=${FLOOR + 0.5} y2=${FLOOR + 0.5} />
      ${course.segments.map((one, i) => html`<${Bar} one=${one} left=${x(one.start)} right=${x(one.end)} isSelected=${i === at} />`)}
      ${course.maintenance.map((one) => html`<rect class=${`check-course-span check-course-${one.kind}`} x=${x(one.start)} y="46" height="11"
        width=${Math.max(x(one.end) - x(one.start), 2)} fill=${one.kind === "scheduled" ? "url(#hatched)" : "url(#dotted)"} />`)}
    </svg>`}
    ${selected && html`<${Tip} one=${selected} middle=${(x(selected.start) + x(selected.end)) / 2} width=${width}
      spans=${course.maintenance.filter((span) => span.start < selected.end && span.end > selected.start)} />`}
  </div>`;
}

/** @param {number} x @param {number} width */
function anchor(x, width) {
  if (x < 24) return "start";
  return x > width - 24 ? "end" : "middle";
}

/** @param {{one: Segment, left: number, right: number, isSelected: boolean}} props */
function Bar({ one, left, right, isSelected }) {
  if (one.state === null) return null;
  const height = HEIGHTS[one.state] ?? 20;
  const known = one.state in HEIGHTS ? one.state : "unknown";
  const width = Math.max(right - left, one.state === "ok" ? 0 : 2);
  return html`<rect class=${`check-course-bar check-course-${known}${isSelected ? " check-course-selected" : ""}`} x=${left} y=${FLOOR - height} width=${width} height=${height} />`;
}

/** @param {{one: Segment, middle: number, width: number, spans: Span[]}} props */
function Tip({ one, middle, width, spans }) {
  const room = 300;
  const left = Math.min(Math.max(middle - room / 2, 0), Math.max(width - room, 0));
  return html`<div class="check-course-tip" style=${{ left: `${left}px`, maxWidth: `${Math.min(room, width)}px` }} aria-hidden="true">
    <div><${State} state=${one.state ?? "none"} word=${one.state ?? "no data"} /> <span class="soft">for ${lasting(one.end - one.start, 2)}${one.changes > 1 ? `, ${one.changes} changes` : ""}</span></div>
    <div>${exact(one.start)}</div>
    <div class="soft">until ${exact(one.end)}</div>
    ${one.summary && html`<div>${one.summary}</div>`}
    ${spans.slice(0, 3).map((span) => html`<div class="soft">${span.kind === "scheduled" ? "Scheduled maintenance" : "Acknowledged"}${span.summary ? `: ${span.summary}` : ""}</div>`)}
  </div>`;
}

/** @param {Segment | undefined} one */
function spoken(one) {
  if (!one) return "No data for this period.";
  const many = one.changes > 1 ? ` at worst, ${one.changes} changes` : "";
  return `${one.state ?? "no data"}${many}, for ${lasting(one.end - one.start, 2)}, from ${exact(one.start)} until ${exact(one.end)}. ${one.summary}`;
}

/** @param {{course: Course}} props */
function Shares({ course }) {
  if (course.known_from === null) return html`<p class="soft">No data for this period.</p>`;
  const states = ["ok", "critical", "warning", "unknown"].filter((state) => state === "ok" || (course.seconds[state] ?? 0) > 0);
  return html`<div class="check-shares">
    ${states.map((state) => html`<span class="check-share"><${State} state=${state} />
      <strong>${percent(course.percentages[state] ?? 0)}</strong>
      ${state !== "ok" && html`<span class="soft">${lasting(course.seconds[state] ?? 0, 2)}</span>`}</span>`)}
    <span class="soft">${course.outages === 0 ? "no outages" : counted(course.outages, "outage")}${course.maintenance.some((one) => one.kind === "scheduled") ? ", excluding scheduled maintenance" : ""}</span>
    ${course.known_from > course.start && html`<span class="soft">first report <${When} at=${course.known_from} as="short" /></span>`}
    ${!course.is_complete && html`<span class="soft">showing only the latest changes</span>`}
  </div>`;
}

/** Never 100 if something was missing. @param {number} value */
function percent(value) {
  if (value > 99.99 && value < 100) return "99.99 %";
  return `${Number(value.toFixed(value > 99 ? 2 : 1))} %`;
}

/** @param {{current: HTMLElement | null}} frame */
function useWidth(frame) {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = frame.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return width;
}
