/** The scrolling view of an output: only the visible lines are rendered. */

import { html } from "htm/preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { exact, zone } from "../times.js";
import { counted } from "../words.js";
import { Ansi } from "./ansi.js";

const ROW = 18;
const AROUND = 12;
const TIME_WIDTH = 13;
const PROBE = "0".repeat(100);

/** @typedef {{show: (place: number) => void, end: () => void}} View */
/** @typedef {ReturnType<typeof import("./output_loading.js").useOutput>} Loaded */

/**
 * @param {{output: Loaded, wraps: boolean, hasTimes: boolean, isFollowing: boolean, isLive: boolean, onLeave: () => void,
 *   onEnd: () => void, search: ReturnType<typeof import("./output_search.js").useSearch>, toEnd: () => void, view: {current: View | null}}} props
 */
export function Window({ output, wraps, hasTimes, isFollowing, isLive, onLeave, onEnd, search, toEnd, view }) {
  const frame = useRef(/** @type {HTMLDivElement | null} */ (null));
  const [top, setTop] = useState(0);
  const [size, setSize] = useState({ rows: 40, characters: 0 });
  // Start at the end: the last lines matter most.
  const last = useRef({ top: 0, place: output.lines.current.total, rest: 0 });
  const lines = output.lines.current;
  const numbers = String(lines.at(lines.total - 1)?.n ?? lines.total).length;
  const margin = numbers + (hasTimes ? TIME_WIDTH : 0) + 2;
  lines.fold(wraps ? Math.max(20, size.characters - margin) : 0);

  const remember = (/** @type {HTMLElement} */ element) => {
    const place = lines.placeAt(Math.floor(element.scrollTop / ROW));
    last.current = { top: element.scrollTop, place, rest: element.scrollTop - lines.top(place) * ROW };
    setTop(element.scrollTop);
  };
  useLayoutEffect(() => {
    const element = frame.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(() => setSize(measured(element)));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  // Keep the visible lines in place when the height of lines above changes.
  useLayoutEffect(() => {
    const element = frame.current;
    if (!element) return;
    // The event about a scroll by the scrollbar comes later; until then it must not be undone.
    const isMovedBack = element.scrollTop < last.current.top - 1 && element.scrollTop + element.clientHeight < element.scrollHeight - ROW;
    if (isFollowing && isMovedBack) return;
    const wanted = isFollowing ? element.scrollHeight - element.clientHeight : lines.top(last.current.place) * ROW + last.current.rest;
    if (Math.abs(element.scrollTop - wanted) < 1) return;
    element.scrollTop = wanted;
    remember(element);
  });
  view.current = {
    show(place) {
      const rest = -Math.floor(size.rows / 3) * ROW;
      last.current = { top: 0, place, rest };
      setTop(Math.max(0, lines.top(place) * ROW + rest));
    },
    end() {
      const element = frame.current;
      if (element) element.scrollTop = element.scrollHeight;
    },
  };

  const first = Math.max(0, lines.placeAt(Math.floor(top / ROW)) - AROUND);
  const places = lines.from(first, size.rows + 2 * AROUND);
  useEffect(() => output.want(places));
  const scrolled = (/** @type {Event} */ event) => {
    const element = /** @type {HTMLElement} */ (event.currentTarget);
    const isBack = element.scrollTop < last.current.top - 1;
    const isForward = element.scrollTop > last.current.top + 1;
    const isAtEnd = element.scrollTop + element.clientHeight >= element.scrollHeight - ROW;
    remember(element);
    lines.tidy(last.current.place);
    if (isBack && !isAtEnd) onLeave();
    else if (isForward && isAtEnd) onEnd(); // not if our own scrolling ended there
  };
  const scrollUp = useScrollUp(onLeave);
  return html`<div class="output-view">
    <div class=${wraps ? "output output-wraps" : "output"} ref=${frame} style=${isLive ? undefined : { "--rows": lines.all }} tabindex="0" role="log" aria-label="Output" aria-live="off" onScroll=${scrolled} ...${scrollUp}>
      <span class="output-probe" aria-hidden="true">${PROBE}</span>
      <div class="output-space" style=${{ height: `${lines.all * ROW}px` }}>
        <div class="output-rows" style=${{ transform: `translateY(${lines.top(first) * ROW}px)`, "--numbers": `${numbers}ch` }}>
          ${places.map((place) => html`<${Row} key=${place} line=${lines.at(place)} before=${lines.at(place - 1)} hasTimes=${hasTimes}
            wanted=${search.wanted} isFound=${place === search.place} />`)}
        </div>
      </div>
    </div>
    ${isLive && !isFollowing && html`<button type="button" class="button button-main output-end" onClick=${toEnd}>↓ Jump to end</button>`}
  </div>`;
}

/**
 * Detects scrolling up by its input events. The scroll event comes too late: in fast output the next
 * lines scroll to the end again before anything has moved.
 * @param {() => void} onLeave
 */
function useScrollUp(onLeave) {
  const touched = useRef(0);
  return {
    onWheel: (/** @type {WheelEvent} */ event) => event.deltaY < 0 && onLeave(),
    onKeyDown: (/** @type {KeyboardEvent} */ event) => ["ArrowUp", "PageUp", "Home"].includes(event.key) && onLeave(),
    onTouchStart: (/** @type {TouchEvent} */ event) => (touched.current = event.touches[0]?.clientY ?? 0),
    onTouchMove: (/** @type {TouchEvent} */ event) => (event.touches[0]?.clientY ?? 0) > touched.current && onLeave(),
  };
}

/** How many rows and characters per row fit. @param {HTMLElement} element */
function measured(element) {
  const probe = /** @type {HTMLElement} */ (element.querySelector(".output-probe"));
  const character = probe.offsetWidth / PROBE.length || 8;
  const padding = 2 * parseFloat(getComputedStyle(element).paddingLeft || "0");
  return { rows: Math.ceil(element.clientHeight / ROW), characters: Math.floor((element.clientWidth - padding) / character) };
}

/**
 * @param {{line: import("./output_lines.js").Line | undefined, before: import("./output_lines.js").Line | undefined, hasTimes: boolean,
 *   wanted: string, isFound: boolean}} props
 */
function Row({ line, before, hasTimes, wanted, isFound }) {
  if (!line) return html`<div class="output-line soft"><span class="output-number"></span><span class="output-text">…</span></div>`;
  const isAfterGap = before !== undefined && before.n + 1 < line.n;
  const look = `output-line${isFound ? " output-found" : ""}${isAfterGap ? " output-gap" : ""}`;
  return html`<div class=${look} title=${isAfterGap ? `${counted(line.n - before.n - 1, "line")} before this not kept` : undefined}>
    <span class="output-number">${line.n}</span>
    ${hasTimes && html`<time class="output-time" title=${line.at ? exact(line.at) : undefined}>${line.at ? precise(line.at) : ""}</time>`}
    <span class="output-text"><${Ansi} text=${line.text} wanted=${wanted} /></span>
  </div>`;
}

/** @type {Map<string, Intl.DateTimeFormat>} */
const clocks = new Map();

/** The time of day with milliseconds. @param {number} at */
function precise(at) {
  let format = clocks.get(zone());
  if (!format) {
    format = new Intl.DateTimeFormat("en-GB", {
      hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3, timeZone: zone(), hourCycle: "h23",
    });
    clocks.set(zone(), format);
  }
  return format.format(at * 1000);
}
