/** Days and hours in the reader's zone, which need not be the browser's. */

import { zone } from "./times.js";

/** Seconds by which the zone is ahead of UTC. @param {number} at */
function offset(at) {
  const parts = new Intl.DateTimeFormat("en-GB", { timeZone: zone(), timeZoneName: "longOffset" }).formatToParts(at * 1000);
  const found = /GMT([+-])(\d\d):(\d\d)/.exec(parts.find((one) => one.type === "timeZoneName")?.value ?? "");
  if (!found) return 0;
  return (found[1] === "-" ? -1 : 1) * (Number(found[2]) * 3600 + Number(found[3]) * 60);
}

/** As a field for date and time has it: `2026-11-15T03:00`. @param {number} at */
export function field(at) {
  return new Date((at + offset(at)) * 1000).toISOString().slice(0, 16);
}

/** The instant that such a field means; null where it means none. @param {string} text */
export function instant(text) {
  const as = Date.parse(`${text}Z`) / 1000;
  if (Number.isNaN(as)) return null;
  // The difference to UTC is asked for at the instant itself, of which the first guess may be wrong.
  const guess = as - offset(as);
  return as - offset(guess);
}

/**
 * The next time that it is so late, on one of these weekdays (Sunday is 0).
 * @param {number} now @param {number} hour @param {number[]} weekdays
 */
export function next(now, hour, weekdays = [0, 1, 2, 3, 4, 5, 6]) {
  const midnight = Math.floor((now + offset(now)) / 86_400) * 86_400;
  for (let day = 0; day < 8; day += 1) {
    const local = midnight + day * 86_400 + hour * 3600;
    const at = local - offset(local - offset(local));
    if (at > now && weekdays.includes(new Date(local * 1000).getUTCDay())) return at;
  }
  return now;
}

const STEPS = [300, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800, 1_209_600, 2_592_000];

/**
 * Marks of an axis: at full hours and days of the zone.
 * @param {number} from @param {number} to @param {number} most
 * @returns {{at: number, words: string}[]}
 */
export function marks(from, to, most) {
  const step = STEPS.find((one) => (to - from) / one <= most) ?? 2_592_000 * Math.ceil((to - from) / 2_592_000 / most);
  const found = [];
  for (let local = Math.ceil((from + offset(from)) / step) * step; ; local += step) {
    const at = local - offset(local - offset(local));
    if (at >= to) return found;
    if (at > from) found.push({ at, words: words(at, step) });
  }
}

/** @param {number} at @param {number} step */
function words(at, step) {
  const isMidnight = (at + offset(at)) % 86_400 === 0;
  /** @type {Intl.DateTimeFormatOptions} */
  const wanted = step >= 86_400 || isMidnight ? { day: "numeric", month: "short" } : { hour: "2-digit", minute: "2-digit" };
  return new Intl.DateTimeFormat("en-GB", { ...wanted, timeZone: zone(), hourCycle: "h23" }).format(at * 1000);
}
