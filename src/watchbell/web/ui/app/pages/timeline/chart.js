/** The chart of the timeline: a row per event or server, bars for what ran, dots for what will run. */

import { html } from "htm/preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { useCell } from "../../cell.js";
import { go } from "../../location.js";
import { Card } from "../../kit/layout.js";
import { Chip } from "../../kit/state.js";
import { clock, exact, short, took } from "../../times.js";
import { counted } from "../../words.js";
import { marks } from "../../zoned.js";
import { runLink, subjectLink, verdictOf } from "../jobs/words.js";
import { barsOf, dotsOf } from "./rows.js";

/** @typedef {import("./rows.js").Row} Row */
/** @typedef {import("./rows.js").Bar} Bar */
/** @typedef {import("./rows.js").Dot} Dot */

const MOST_ROWS = 150;
const LANE = 16;
const LEAST_PX = 4;
const DOT_PX = 11;

/** @param {{rows: Row[], from: number, to: number, onZoom: (at: number) => void}} props */
export function Chart({ rows, from, to, onZoom }) {
  const now = useCell(clock);
  const frame = useRef(/** @type {HTMLDivElement | null} */ (null));
  const width = useWidth(frame);
  const [caption, setCaption] = useState("");
  const second = (to - from) / width;
  const place = (/** @type {number} */ at) => Math.min(100, Math.max(0, ((at - from) / (to - from)) * 100));
  const shown = rows.slice(0, MOST_ROWS);
  useTabStop(frame);
  const seen = (/** @type {Event} */ event) => {
    const item = event.target instanceof Element ? event.target.closest("[data-at]") : null;
    setCaption(item?.getAttribute("aria-label") ?? "");
  };
  return html`<${Card} flush>
    <div class="timeline" ref=${frame} role="group" aria-label="Runs over time" aria-description="Arrow keys move from run to run, Enter opens one." onKeyDown=${move}
      onFocusIn=${seen} onMouseOver=${seen} onMouseLeave=${() => setCaption("")}>
      <div class="timeline-axis" aria-hidden="true"><div></div><div class="timeline-hours">${marks(from, to, 12).map((mark) => html`<span style=${{ left: `${place(mark.at)}%` }}>${mark.words}</span>`)}</div></div>
      ${shown.map((row) => html`<${Line} key=${row.key} row=${row} now=${now} place=${place} second=${second} onZoom=${onZoom}
        hours=${marks(from, to, 12)} isNow=${now >= from && now < to} />`)}
    </div>
    <div class="timeline-foot">
      <p class="timeline-caption" aria-hidden="true">${caption || html`<span class="soft">${counted(rows.length, "row")}${rows.length > MOST_ROWS && `, of which the first ${MOST_ROWS} are shown. Filter to see others.`}</span>`}</p>
      <ul class="timeline-legend soft" aria-label="Legend">
        ${[["success", "succeeded"], ["error", "failed"], ["warning", "warning"], ["abort", "aborted"], ["", "running"]].map(([look, word]) => html`<li><span class=${`timeline-key run-${look || "running"}`}></span>${word}</li>`)}
        <li><span class="timeline-dot timeline-dot-key"></span>planned</li>
      </ul>
    </div>
  <//>`;
}

/** @param {{row: Row, now: number, place: (at: number) => number, second: number, onZoom: (at: number) => void, hours: {at: number}[], isNow: boolean}} props */
function Line({ row, now, place, second, onZoom, hours, isNow }) {
  const { bars, lanes } = barsOf(row.past, now, LEAST_PX * second);
  const label = row.to ? html`<a href=${row.to} title=${row.title}>${row.title}</a>` : html`<span title=${row.title}>${row.title}</span>`;
  const often = row.frequent[0];
  return html`<div class="timeline-row" data-row>
    <div class="timeline-name"><span class="ellipsis">${label}</span>${row.kind !== "job" && row.kind !== "" && html` <${Chip} tone="soft">${row.kind}<//>`}</div>
    <div class="timeline-track" style=${{ height: `${lanes * LANE + 12}px` }}>
      ${hours.map((mark) => html`<i class="timeline-hour" style=${{ left: `${place(mark.at)}%` }}></i>`)}
      ${often && html`<span class="timeline-often" style=${{ left: `${place(now)}%` }} title=${row.frequent.map((one) => `${one.title}: ${one.words}`).join("; ")}><span>${row.frequent.length > 1 ? counted(row.frequent.length, "frequent event") : often.words}</span></span>`}
      ${bars.map((bar) => html`<${RunBar} key=${bar.runs[0]?.id} bar=${bar} now=${now} place=${place} onZoom=${onZoom} />`)}
      ${dotsOf(row.ahead, DOT_PX * second).map((dot) => html`<${PlannedDot} key=${dot.at} dot=${dot} place=${place} onZoom=${onZoom} now=${now} />`)}
      ${isNow && html`<i class="timeline-now" style=${{ left: `${place(now)}%` }}></i>`}
    </div>
  </div>`;
}

/** @param {{bar: Bar, now: number, place: (at: number) => number, onZoom: (at: number) => void}} props */
function RunBar({ bar, now, place, onZoom }) {
  const run = bar.runs[0];
  if (!run) return null;
  const left = place(bar.start);
  const style = { left: `${left}%`, width: `${place(bar.end ?? now) - left}%`, top: `${bar.lane * LANE + 8}px` };
  const look = `timeline-bar run-${bar.verdict || "running"}`;
  const words = bar.runs.length > 1
    ? `${counted(bar.runs.length, "run")} of ${run.title} ${verdictOf(run.verdict)[1]}, ${short(bar.start, now)} to ${short(bar.end ?? now, now)}`
    : describe(run, now);
  if (bar.runs.length > 1) return html`<button type="button" class=${look} style=${style} tabindex="-1" data-at=${bar.start} aria-label=${words} title=${words} onClick=${() => onZoom((bar.start + (bar.end ?? now)) / 2)}></button>`;
  return html`<a class=${look} style=${style} href=${runLink(run)} tabindex="-1" data-at=${bar.start} aria-label=${words} title=${words}></a>`;
}

/** @param {import("./rows.js").Run} run @param {number} now */
function describe(run, now) {
  const length = run.ended === null ? `for ${took(Math.max(0, now - run.start))}` : `after ${took(run.duration ?? 0)}`;
  return `${run.title}: ${verdictOf(run.verdict)[1]} ${length}${run.where ? ` on ${run.where}` : ""}, started ${exact(run.start)}`;
}

/** @param {{dot: Dot, place: (at: number) => number, onZoom: (at: number) => void, now: number}} props */
function PlannedDot({ dot, place, onZoom, now }) {
  const fire = dot.fires[0];
  if (!fire) return null;
  const last = dot.fires.at(-1)?.at ?? dot.at;
  const look = dot.fires.length > 1 ? "timeline-dot timeline-dots" : "timeline-dot";
  const words = dot.fires.length > 1 ? `${counted(dot.fires.length, "planned run")}, ${short(dot.at, now)} to ${short(last, now)}` : `${fire.title}: planned ${exact(dot.at)}`;
  const open = () => (dot.fires.length > 1 ? onZoom(dot.at) : go(subjectLink(fire)));
  return html`<button type="button" class=${look} style=${{ left: `${place(dot.at)}%`, ...(dot.fires.length > 1 ? { width: `calc(${place(last) - place(dot.at)}% + 9px)` } : {}) }} tabindex="-1" data-at=${dot.at} aria-label=${words} title=${words} onClick=${open}></button>`;
}

/** Arrow keys: to the next run of the row, or to the nearest one of another row. @param {KeyboardEvent} event */
function move(event) {
  const step = /** @type {Record<string, [number, number]>} */ ({ ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] })[event.key];
  const item = event.target instanceof HTMLElement ? event.target : null;
  const frame = /** @type {HTMLElement} */ (event.currentTarget);
  const line = item?.closest("[data-row]");
  if (!step || !item?.dataset.at || !line) return;
  event.preventDefault();
  const items = (/** @type {Element | undefined} */ of) => [...(of?.querySelectorAll("[data-at]") ?? [])].map((one) => /** @type {HTMLElement} */ (one)).sort((a, b) => atOf(a) - atOf(b));
  const lines = [...frame.querySelectorAll("[data-row]")].filter((one) => items(one).length > 0);
  if (step[0] !== 0) {
    const all = items(line);
    focus(frame, all[all.indexOf(item) + step[0]]);
    return;
  }
  const near = items(lines[lines.indexOf(line) + step[1]]);
  focus(frame, near.sort((a, b) => Math.abs(atOf(a) - atOf(item)) - Math.abs(atOf(b) - atOf(item)))[0]);
}

/** @param {HTMLElement} item */
const atOf = (item) => Number(item.dataset.at);

/** @param {HTMLElement} frame @param {HTMLElement | undefined} item */
function focus(frame, item) {
  if (!item) return;
  for (const one of frame.querySelectorAll("[data-at][tabindex='0']")) one.setAttribute("tabindex", "-1");
  item.setAttribute("tabindex", "0");
  item.focus();
}

/** The chart is one stop of the Tab key: at the last run that was focused, or else at the first. @param {{current: HTMLElement | null}} frame */
function useTabStop(frame) {
  useLayoutEffect(() => {
    const element = frame.current;
    if (!element || element.querySelector("[data-at][tabindex='0']")) return;
    element.querySelector("[data-at]")?.setAttribute("tabindex", "0");
  });
}

/** The width of the tracks in pixels. @param {{current: HTMLElement | null}} frame */
function useWidth(frame) {
  const [width, setWidth] = useState(900);
  useLayoutEffect(() => {
    const track = frame.current?.querySelector(".timeline-hours");
    if (!track) return undefined;
    const observer = new ResizeObserver(() => track.clientWidth > 0 && setWidth(track.clientWidth));
    observer.observe(track);
    return () => observer.disconnect();
  }, []);
  return width;
}
