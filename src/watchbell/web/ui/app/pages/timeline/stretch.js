/** The stretch of time that a timeline shows. */

import { day } from "../../times.js";
import { instant } from "../../zoned.js";

/** @typedef {"hour" | "6h" | "day"} Zoom */
/** @typedef {{start: number, end: number}} Stretch */

/** @type {[value: Zoom, words: string][]} */
export const ZOOMS = [["hour", "Hour"], ["6h", "6 hours"], ["day", "Day"]];
const LENGTHS = { hour: 3_600, "6h": 21_600, day: 86_400 };

/** @param {string} text @returns {text is Zoom} */
export function isZoom(text) {
  return text in LENGTHS;
}

/**
 * A whole day of the reader's zone, or some hours: from `at`, or around now.
 * @param {Zoom} zoom @param {number | null} at @param {number} now
 * @returns {Stretch}
 */
export function stretchOf(zoom, at, now) {
  if (zoom === "day") return dayOf(at ?? now);
  const length = LENGTHS[zoom];
  const step = length / 12;
  const start = at ?? Math.ceil((now - length * (2 / 3)) / step) * step;
  return { start, end: start + length };
}

/** The day that has this time, of 23 to 25 hours. @param {number} at @returns {Stretch} */
function dayOf(at) {
  const start = midnight(at);
  return { start, end: midnight(start + 36 * 3_600) };
}

/** @param {number} at */
function midnight(at) {
  return instant(`${day(at)}T00:00`) ?? at;
}

/**
 * Where the stretch before or after this one begins.
 * @param {Zoom} zoom @param {Stretch} stretch @param {1 | -1} way
 */
export function later(zoom, stretch, way) {
  if (zoom === "day") return way > 0 ? stretch.end : midnight(stretch.start - 12 * 3_600);
  return stretch.start + way * LENGTHS[zoom];
}
