/** What a run printed: a window onto any number of lines, of which only those to be seen are drawn. */

import { html } from "htm/preact";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { get, Problem, url } from "../../api.js";
import { useKeys } from "../../keys.js";
import { Ansi } from "../../kit/ansi.js";
import { Button, Toggle } from "../../kit/form.js";
import { exact, zone } from "../../times.js";
import { CHUNK, Lines } from "./lines.js";
import { Searching, useSearch } from "./search.js";
import { counted } from "../../words.js";

const ROW = 18;
const AROUND = 12;
const TIME_SIGNS = 13;
const PROBE = "0".repeat(100);

/**
 * @param {{run: string, isLive: boolean, news: any, tail: string}} props
 *   `news`: the latest that a stream told; `tail`: the last lines, where all else is forgotten
 */
export function Output({ run, isLive, news, tail }) {
  const output = useOutput(run, news);
  const [isFollowing, setIsFollowing] = useState(isLive);
  const [wraps, setWraps] = useStored("output-wrap", false);
  const [hasTimes, setHasTimes] = useStored("output-times", false);
  const view = useRef(/** @type {View | null} */ (null));
  const search = useSearch(run, output.lines, (place) => {
    setIsFollowing(false);
    view.current?.show(place);
  });
  useEffect(() => setIsFollowing(isLive), [run]);
  useKeys("Output", [
    ["n", "next match", () => search.move(1)],
    ["Shift+N", "previous match", () => search.move(-1)],
    ["f", "follow", () => setIsFollowing(!isFollowing)],
    ["w", "wrap long lines", () => setWraps(!wraps)],
    ["t", "timestamps", () => setHasTimes(!hasTimes)],
    ["Shift+G", "jump to the end", () => toEnd()],
  ]);
  const toEnd = () => {
    setIsFollowing(isLive);
    view.current?.end();
  };
  if (output.problem) {
    return html`<div class="failed" role="alert"><p>${output.problem.message}</p><${Button} onClick=${output.retry}>Try again<//></div>`;
  }
  return html`<div class="output-frame">
    <div class="output-bar">
      <${Searching} search=${search} />
      <div class="output-ways">
        <span class="soft">${counted(output.lines.current.total, "line")}</span>
        ${isLive && html`<${Toggle} label="Follow" checked=${isFollowing} onChange=${(/** @type {boolean} */ on) => (on ? toEnd() : setIsFollowing(false))} />`}
        <${Toggle} label="Wrap" checked=${wraps} onChange=${setWraps} />
        <${Toggle} label="Timestamps" checked=${hasTimes} onChange=${setHasTimes} />
        <a class="button button-small" href=${`/api/v1/cron/runs/${encodeURIComponent(run)}/download`} download>Download</a>
      </div>
    </div>
    ${output.skipped > 0 && isLive && html`<p class="output-note" role="status">${`The output is too fast to show live: ${counted(output.skipped, "line")} skipped so far. Scroll up to read them.`}</p>`}
    ${output.isEmpty
      ? html`<${Nothing} isLive=${isLive} tail=${tail} isLoading=${output.isLoading} />`
      : html`<${Window} view=${view} output=${output} wraps=${wraps} hasTimes=${hasTimes} isFollowing=${isFollowing && isLive} isLive=${isLive}
          onLeave=${() => setIsFollowing(false)} onEnd=${() => isLive && setIsFollowing(true)} search=${search} toEnd=${toEnd} />`}
  </div>`;
}

/** @param {{isLive: boolean, tail: string, isLoading: boolean}} props */
function Nothing({ isLive, tail, isLoading }) {
  if (isLoading) return html`<div class="output output-none soft" role="status">Loading…</div>`;
  if (isLive) return html`<div class="output output-none soft" role="status">No output yet.</div>`;
  if (!tail) return html`<div class="output output-none soft">No output.</div>`;
  return html`<p class="output-note">Output is kept for a day. Its last lines:</p>
    <pre class="output output-tail">${tail.split("\n").map((line) => html`<${Ansi} text=${line} />${"\n"}`)}</pre>`;
}

/**
 * The lines as far as they were fetched, and ways to fetch more.
 * @param {string} run
 * @param {(import("./lines.js").Piece & {skipped: number}) | null} news
 */
function useOutput(run, news) {
  const lines = useRef(new Lines());
  const asked = useRef(new Set(/** @type {number[]} */ ([])));
  const [, redraw] = useState(0);
  const [isLoading, setIsLoading] = useState(true);
  const [problem, setProblem] = useState(/** @type {Problem | null} */ (null));
  const [skipped, setSkipped] = useState(0);
  const [tries, setTries] = useState(0);
  const changed = useCallback(() => redraw((count) => count + 1), []);

  useEffect(() => {
    lines.current = new Lines();
    asked.current.clear();
    setIsLoading(true);
    setProblem(null);
    setSkipped(0);
  }, [run, tries]);

  const load = useCallback(
    async (/** @type {Record<string, number>} */ where) => {
      const mine = lines.current;
      try {
        const piece = await get(url(`/cron/runs/${encodeURIComponent(run)}/output`, where));
        if (mine !== lines.current) return;
        mine.add(piece);
        changed();
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        if (mine === lines.current && mine.total === 0) setProblem(error);
      }
    },
    [run],
  );

  useEffect(() => {
    load({ limit: CHUNK }).finally(() => setIsLoading(false));
  }, [load, tries]);

  useEffect(() => {
    if (!news) return;
    lines.current.add(news, { isNews: true });
    // A stream that began anew skips all that was there before, which nobody misses.
    if (news.start > news.skipped) setSkipped((count) => count + news.skipped);
    changed();
  }, [news]);

  /** Fetches what is missing among these places, each part of it once at a time. */
  const want = useCallback(
    (/** @type {number[]} */ places) => {
      const missing = places.find((place) => !lines.current.at(place));
      if (missing === undefined || asked.current.has(missing)) return;
      asked.current.add(missing);
      load({ start: missing, limit: CHUNK }).finally(() => asked.current.delete(missing));
    },
    [load],
  );

  return {
    lines,
    want,
    skipped,
    problem,
    isLoading,
    isEmpty: lines.current.total === 0,
    retry: () => setTries(tries + 1),
  };
}

/** @typedef {{show: (place: number) => void, end: () => void}} View */
/** @typedef {ReturnType<typeof useOutput>} Fetched */

/**
 * @param {{output: Fetched, wraps: boolean, hasTimes: boolean, isFollowing: boolean, isLive: boolean, onLeave: () => void,
 *   onEnd: () => void, search: ReturnType<typeof useSearch>, toEnd: () => void, view: {current: View | null}}} props
 */
function Window({ output, wraps, hasTimes, isFollowing, isLive, onLeave, onEnd, search, toEnd, view }) {
  const frame = useRef(/** @type {HTMLDivElement | null} */ (null));
  const [top, setTop] = useState(0);
  const [size, setSize] = useState({ rows: 40, signs: 0 });
  // One begins at the end: what came last tells most.
  const last = useRef({ top: 0, place: output.lines.current.total, rest: 0 });
  const lines = output.lines.current;
  const numbers = String(lines.at(lines.total - 1)?.n ?? lines.total).length;
  const margin = numbers + (hasTimes ? TIME_SIGNS : 0) + 2;
  lines.fold(wraps ? Math.max(20, size.signs - margin) : 0);

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
  // Lines above may have become higher or lower: what is looked at stays where it is.
  useLayoutEffect(() => {
    const element = frame.current;
    if (!element) return;
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
    else if (isForward && isAtEnd) onEnd(); // who is put there by us has not gone there
  };
  const goesBack = useGoingBack(onLeave);
  return html`<div class="output-view">
    <div class=${wraps ? "output output-wraps" : "output"} ref=${frame} tabindex="0" role="log" aria-label="Output" aria-live="off" onScroll=${scrolled} ...${goesBack}>
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
 * Notices who begins to go back. Scrolling itself would tell too late: where lines come quickly,
 * the next of them takes one to the end again before anything has moved.
 * @param {() => void} onLeave
 */
function useGoingBack(onLeave) {
  const touched = useRef(0);
  return {
    onWheel: (/** @type {WheelEvent} */ event) => event.deltaY < 0 && onLeave(),
    onKeyDown: (/** @type {KeyboardEvent} */ event) => ["ArrowUp", "PageUp", "Home"].includes(event.key) && onLeave(),
    onTouchStart: (/** @type {TouchEvent} */ event) => (touched.current = event.touches[0]?.clientY ?? 0),
    onTouchMove: (/** @type {TouchEvent} */ event) => (event.touches[0]?.clientY ?? 0) > touched.current && onLeave(),
  };
}

/** Rows that fit, and signs that fit in one. @param {HTMLElement} element */
function measured(element) {
  const probe = /** @type {HTMLElement} */ (element.querySelector(".output-probe"));
  const sign = probe.offsetWidth / PROBE.length || 8;
  const padding = 2 * parseFloat(getComputedStyle(element).paddingLeft || "0");
  return { rows: Math.ceil(element.clientHeight / ROW), signs: Math.floor((element.clientWidth - padding) / sign) };
}

/**
 * @param {{line: import("./lines.js").Line | undefined, before: import("./lines.js").Line | undefined, hasTimes: boolean,
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

/** The time of day to the millisecond. @param {number} at */
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

/**
 * A choice that this browser remembers.
 * @param {string} name
 * @param {boolean} usual
 * @returns {[boolean, (value: boolean) => void]}
 */
function useStored(name, usual) {
  const [value, setValue] = useState((localStorage.getItem(name) ?? String(usual)) === "true");
  const store = (/** @type {boolean} */ next) => {
    localStorage.setItem(name, String(next));
    setValue(next);
  };
  return [value, store];
}
