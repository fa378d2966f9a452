/** Line charts, drawn by uPlot, which is loaded with the first chart. */

import { html } from "htm/preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { exact, zone } from "../times.js";

/**
 * @typedef {{label: string, tone?: string, fill?: boolean}} Line
 *   `tone`: a colour of `base.css` without its dashes, as `act` or `critical-fill`
 * @typedef {[times: number[], ...values: (number | null)[][]]} Data seconds, and of each line its values
 * @typedef {{from: number, to: number}} Span
 */

const POWERS = Array.from({ length: 50 }, (_, power) => 2 ** power);
const AXIS = "11px system-ui, sans-serif";
/** @type {Span[]} */
const NONE = [];

/**
 * A chart. It follows the theme and its width. Arrow keys move from point to point, and screen
 * readers get the values in words.
 *
 * @param {{label: string, lines: Line[], data: Data, height?: number, format?: (value: number) => string,
 *   axis?: (value: number) => string, from?: number, to?: number, small?: boolean, least?: number, isBytes?: boolean, marked?: Span[]}} props
 *   `axis`: the format of the marks, if it differs; `from`, `to`: the time range, by default that of the data; `small`: without axes; `least`: the
 *   smallest maximum of the scale; `isBytes`: marks at powers of two; `marked`: times with a red ground
 */
export function Plot({ label, lines, data, height = 160, format = plain, axis = format, from, to, small = false, least = 0, isBytes = false, marked = NONE }) {
  const place = useRef(/** @type {HTMLDivElement | null} */ (null));
  const plot = useRef(/** @type {import("uplot") | null} */ (null));
  const [at, setAt] = useState(/** @type {number | null} */ (null));
  const shape = lines.map((line) => `${line.label} ${line.tone} ${line.fill}`).join("|");
  const latest = useRef({ data, from, to, axis, least, marked });
  latest.current = { data, from, to, axis, least, marked };

  useEffect(() => {
    let isGone = false;
    /** @type {(() => void)[]} */
    const ends = [];
    import("uplot").then(({ default: UPlot }) => {
      const frame = place.current;
      if (isGone || !frame) return;
      const made = new UPlot(options(UPlot, frame, lines, { height, small, isBytes, latest, setAt }), /** @type {any} */ (latest.current.data), frame);
      plot.current = made;
      ends.push(() => made.destroy(), watchSize(frame, () => made.setSize({ width: frame.clientWidth, height })), watchTheme(() => made.redraw(false)));
    });
    return () => {
      isGone = true;
      plot.current = null;
      for (const end of ends) end();
    };
  }, [shape, height, small, isBytes]);

  useEffect(() => plot.current?.setData(/** @type {any} */ (data)), [data, from, to, least, marked]);

  const count = data[0].length;
  const known = useMemo(() => data[0].findLastIndex((_, i) => data.some((values, line) => line > 0 && values[i] !== null && values[i] !== undefined)), [data]);
  const shown = at === null || at >= count ? (known < 0 ? count - 1 : known) : at;
  const move = (/** @type {KeyboardEvent} */ event) => {
    const by = /** @type {Record<string, number>} */ ({ ArrowLeft: -1, ArrowRight: 1, Home: -count, End: count })[event.key];
    if (by === undefined || count === 0) return;
    event.preventDefault();
    const next = Math.min(Math.max(shown + by, 0), count - 1);
    setAt(next);
    const made = plot.current;
    made?.setCursor({ left: made.valToPos(data[0][next] ?? 0, "x"), top: 0 });
  };
  return html`<figure class=${small ? "plot plot-small" : "plot"}>
    <div class="plot-place" ref=${place} tabindex="0" role="slider" aria-label=${label} aria-valuemin="0" aria-valuemax=${Math.max(count - 1, 0)}
      aria-valuenow=${Math.max(shown, 0)} aria-valuetext=${valuesAt(lines, data, shown, format)} aria-description=${summary(lines, data, format)}
      onKeyDown=${move} onBlur=${() => setAt(null)}></div>
    <figcaption class="plot-values" aria-hidden="true">${valuesAt(lines, data, shown, format)}</figcaption>
  </figure>`;
}

/**
 * @param {typeof import("uplot")} UPlot
 * @param {HTMLElement} frame
 * @param {Line[]} lines
 * @param {{height: number, small: boolean, isBytes: boolean, latest: {current: any}, setAt: (index: number | null) => void}} given
 * @returns {import("uplot").Options}
 */
function options(UPlot, frame, lines, { height, small, isBytes, latest, setAt }) {
  const colour = (/** @type {string} */ name) => resolved(frame, `var(--${name})`);
  const axis = {
    font: AXIS,
    stroke: () => colour("soft"),
    grid: { stroke: () => colour("line"), width: 1 },
    ticks: { show: false },
    show: !small,
  };
  return {
    width: frame.clientWidth,
    height,
    legend: { show: false },
    padding: small ? [3, 1, 3, 1] : [8, 22, 0, 0],
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
    tzDate: (seconds) => UPlot.tzDate(new Date(seconds * 1000), zone()),
    scales: {
      x: { time: true, range: (_, low, high) => [latest.current.from ?? low, latest.current.to ?? Math.max(high, low + 1)] },
      y: { range: (_, low, high) => spread(low, high, latest.current.least, small) },
    },
    axes: [
      { ...axis, size: 28, space: 70, values: (_, splits, __, ___, step) => splits.map((split) => tick(split, step)) },
      { ...axis, size: 52, space: 30, ...(isBytes ? { incrs: POWERS } : {}), values: (_, splits) => splits.map((split) => latest.current.axis(split)) },
    ],
    series: [
      {},
      ...lines.map((line) => ({
        label: line.label,
        stroke: () => colour(line.tone ?? "act"),
        width: 1.5,
        points: { show: true, size: 4, width: 0, fill: () => colour(line.tone ?? "act"), filter: (/** @type {any} */ made, /** @type {number} */ index) => alone(made.data[index]) },
        ...(line.fill ? { fill: () => resolved(frame, `color-mix(in srgb, var(--${line.tone ?? "act"}) 14%, transparent)`) } : {}),
      })),
    ],
    hooks: {
      setCursor: [(made) => setAt(made.cursor.idx ?? null)],
      drawClear: [(made) => latest.current.marked.forEach((/** @type {Span} */ span) => mark(made, span, colour("critical-soft")))],
    },
  };
}

/** Values between two gaps, which make no line. @param {(number | null | undefined)[]} values */
function alone(values) {
  const isGap = (/** @type {number} */ i) => values[i] === null || values[i] === undefined;
  return values.flatMap((_, i) => (!isGap(i) && isGap(i - 1) && isGap(i + 1) ? [i] : []));
}

/** @param {import("uplot")} made @param {Span} span @param {string} colour */
function mark(made, span, colour) {
  const { left, top, width, height } = made.bbox;
  const [from, to] = [span.from, span.to].map((at) => Math.min(Math.max(made.valToPos(at, "x", true), left), left + width));
  if (from === undefined || to === undefined || to <= left || from >= left + width) return;
  made.ctx.fillStyle = colour;
  made.ctx.fillRect(from, top, Math.max(to - from, 2), height);
}

/**
 * A CSS colour resolved for the canvas, which knows neither variables nor themes.
 * @param {HTMLElement} frame @param {string} colour
 */
function resolved(frame, colour) {
  frame.style.color = colour;
  const found = getComputedStyle(frame).color;
  frame.style.color = "";
  return found;
}

/**
 * A scale that starts at zero; in a small chart it fits the data.
 * @param {number} low @param {number} high @param {number} least @param {boolean} small
 * @returns {[number, number]}
 */
function spread(low, high, least, small) {
  if (low === null || high === null) return [0, Math.max(least, 1)];
  if (!small) return [Math.min(low, 0), Math.max(high * 1.1, least) || 1];
  const room = (high - low) * 0.1 || Math.abs(high) * 0.1 || 1;
  return [low - room, high + room];
}

/** @param {number} at @param {number} step seconds from one mark to the next */
function tick(at, step) {
  /** @type {Intl.DateTimeFormatOptions} */
  let wanted = { day: "numeric", month: "short" };
  if (step < 86_400) wanted = { hour: "2-digit", minute: "2-digit", ...(step < 60 ? { second: "2-digit" } : {}) };
  return new Intl.DateTimeFormat("en-GB", { ...wanted, timeZone: zone(), hourCycle: "h23" }).format(at * 1000);
}

/** The values at an index. @param {Line[]} lines @param {Data} data @param {number} index @param {(value: number) => string} format */
function valuesAt(lines, data, index, format) {
  const time = data[0][index];
  if (time === undefined) return "No data yet.";
  const values = lines.map((line, i) => {
    const value = data[i + 1]?.[index];
    const words = value === null || value === undefined ? "–" : format(value);
    return lines.length > 1 ? `${line.label} ${words}` : words;
  });
  return `${values.join(", ")} · ${exact(time)}`;
}

/** The range of each line, in words. @param {Line[]} lines @param {Data} data @param {(value: number) => string} format */
function summary(lines, data, format) {
  return lines
    .map((line, i) => {
      const values = (data[i + 1] ?? []).flatMap((value) => (value === null ? [] : [value]));
      if (values.length === 0) return `${line.label}: no data`;
      return `${line.label}: from ${format(Math.min(...values))} to ${format(Math.max(...values))}`;
    })
    .join("; ");
}

/** @param {number} value */
export function plain(value) {
  const size = Math.abs(value);
  if (size >= 1e9) return `${round(value / 1e9)} G`;
  if (size >= 1e6) return `${round(value / 1e6)} M`;
  if (size >= 1e4) return `${round(value / 1e3)} k`;
  return String(round(value));
}

/** To three digits. @param {number} value */
function round(value) {
  return value === 0 ? 0 : Number(value.toPrecision(3));
}

/** @param {HTMLElement} element @param {() => void} changed */
function watchSize(element, changed) {
  let width = element.clientWidth;
  const observer = new ResizeObserver(() => {
    if (element.clientWidth === width || element.clientWidth === 0) return;
    width = element.clientWidth;
    changed();
  });
  observer.observe(element);
  return () => observer.disconnect();
}

/** @param {() => void} changed */
function watchTheme(changed) {
  const query = matchMedia("(prefers-color-scheme: dark)");
  const theme = new MutationObserver(changed);
  query.addEventListener("change", changed);
  theme.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  return () => {
    query.removeEventListener("change", changed);
    theme.disconnect();
  };
}
