/** Times and durations as people read them; all arguments are seconds. */

import { Cell } from "./cell.js";

/** The current time, updated every second. */
export const clock = new Cell(Math.floor(Date.now() / 1000));
setInterval(() => document.hidden || clock.set(Math.floor(Date.now() / 1000)), 1000);

/** The reader's time zone: the selected one, or the browser's. */
export function zone() {
  return localStorage.getItem("zone") || Intl.DateTimeFormat().resolvedOptions().timeZone;
}

const UNITS = /** @type {const} */ ([
  ["d", 86_400],
  ["h", 3_600],
  ["min", 60],
  ["s", 1],
]);

/**
 * As `3 h 20 min`: the two largest units, or one.
 * @param {number} seconds
 * @param {1 | 2} units
 */
export function lasting(seconds, units = 1) {
  let rest = Math.max(0, Math.round(seconds));
  const first = UNITS.findIndex(([, size]) => rest >= size);
  if (first < 0) return "0 s";
  const words = [];
  for (const [name, size] of UNITS.slice(first, first + units)) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) words.push(`${count} ${name}`);
  }
  return words.join(" ");
}

/** As `12.4 s`, `3 min 20 s`, `80 ms`. @param {number} seconds */
export function took(seconds) {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  return seconds < 60 ? `${Number(seconds.toPrecision(3))} s` : lasting(seconds, 2);
}

/**
 * As `3 min ago`, `in 2 h`, `just now`.
 * @param {number} at
 * @param {number} now
 */
export function relative(at, now) {
  const ago = now - at;
  if (Math.abs(ago) < 2) return "just now";
  return ago > 0 ? `${lasting(ago)} ago` : `in ${lasting(-ago)}`;
}

/** @type {Map<string, Intl.DateTimeFormat>} */
const formats = new Map();

/**
 * A format in the reader's zone, made once.
 * @param {string} name of what the options say
 * @param {Intl.DateTimeFormatOptions} options
 */
export function format(name, options) {
  const key = `${name} ${zone()}`;
  let found = formats.get(key);
  if (!found) {
    found = new Intl.DateTimeFormat("en-GB", { ...options, timeZone: zone(), hourCycle: "h23" });
    formats.set(key, found);
  }
  return found;
}

/** As `Sun 15 Nov 2026, 14:03:22 CET`. @param {number} at */
export function exact(at) {
  return format("exact", {
    weekday: "short",
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    timeZoneName: "short",
  }).format(at * 1000);
}

/**
 * As `14:03` today, `Sat 14:03` this week, `3 Nov 14:03` this year, `3 Nov 2025` before.
 * @param {number} at
 * @param {number} now
 */
export function short(at, now) {
  const time = format("time", { hour: "2-digit", minute: "2-digit" }).format(at * 1000);
  if (day(at) === day(now)) return time;
  const near = Math.abs(at - now) < 6 * 86_400;
  if (!near && day(at).slice(0, 4) !== day(now).slice(0, 4)) {
    return format("year", { day: "numeric", month: "short", year: "numeric" }).format(at * 1000);
  }
  const date = near
    ? format("weekday", { weekday: "short" }).format(at * 1000)
    : format("date", { day: "numeric", month: "short" }).format(at * 1000);
  return `${date} ${time}`;
}

/** The day in the reader's zone, as `2026-11-15`. @param {number} at */
export function day(at) {
  const parts = format("day", { year: "numeric", month: "2-digit", day: "2-digit" }).formatToParts(at * 1000);
  const part = (/** @type {string} */ type) => parts.find((one) => one.type === type)?.value ?? "";
  return `${part("year")}-${part("month")}-${part("day")}`;
}

/** As `2026-11-15 14:03` in the reader's zone. @param {number} at */
export function zoned(at) {
  return `${day(at)} ${format("time", { hour: "2-digit", minute: "2-digit" }).format(at * 1000)}`;
}

/** As UTC for machines: `2026-11-15T13:03:22Z`. @param {number} at */
export function machine(at) {
  return new Date(at * 1000).toISOString().replace(/\.000Z$/, "Z");
}
