/** Days and what clocks show, in the reader's zone. A day is a text as `2026-11-15`, a moment is seconds. */

import { day as dayAt, format } from "../../times.js";

export const HOUR = 3_600;
export const DAY = 86_400;
export const SLOT = 1_800;

/** What a clock shows at a moment, as if it were UTC. @param {number} at */
function shown(at) {
  const parts = format("parts", {
    year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric",
  }).formatToParts(at * 1000);
  const part = (/** @type {string} */ type) => Number(parts.find((one) => one.type === type)?.value);
  return Date.UTC(part("year"), part("month") - 1, part("day"), part("hour"), part("minute"), part("second")) / 1000;
}

/**
 * The first moment at which a clock shows this; of a time that is skipped, the first one after the gap.
 * @param {number} reading as `shown` gives it
 */
function moment(reading) {
  const before = reading - (shown(reading - DAY) - (reading - DAY));
  if (shown(before) === reading) return before;
  const after = reading - (shown(reading + DAY) - (reading + DAY));
  if (shown(after) === reading) return after;
  let [early, late] = [Math.min(before, after), Math.max(before, after)];
  while (late - early > 1) {
    const middle = Math.floor((early + late) / 2);
    if (shown(middle) < reading) early = middle;
    else late = middle;
  }
  return late;
}

/** @param {string} day */
const asUtc = (day) => Date.parse(`${day}T00:00:00Z`) / 1000;

/** @param {string} day @param {number} count */
export function plus(day, count) {
  return new Date((asUtc(day) + count * DAY) * 1000).toISOString().slice(0, 10);
}

/** @param {string} text */
export function isDay(text) {
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(asUtc(text)) && plus(text, 0) === text;
}

/** When a day begins. @param {string} day */
export function beginning(day) {
  return moment(asUtc(day));
}

/** The Monday of a day's week. @param {string} day */
function monday(day) {
  return plus(day, -((new Date(asUtc(day) * 1000).getUTCDay() + 6) % 7));
}

/** @param {string} day @param {number} count */
export function plusMonths(day, count) {
  const date = new Date(asUtc(`${day.slice(0, 7)}-01`) * 1000);
  date.setUTCMonth(date.getUTCMonth() + count);
  return date.toISOString().slice(0, 10);
}

/** The days of a week. @param {string} day */
export function week(day) {
  return Array.from({ length: 7 }, (_, count) => plus(monday(day), count));
}

/** The days of all weeks that a month has a part in. @param {string} day */
export function month(day) {
  const first = `${day.slice(0, 7)}-01`;
  const last = plus(plusMonths(first, 1), -1);
  const days = [];
  for (let one = monday(first); one <= plus(monday(last), 6); one = plus(one, 1)) days.push(one);
  return days;
}

/** The beginnings of a day's half hours; where clocks are set, there are more or fewer of them. @param {string} day */
export function slots(day) {
  const [first, end] = [beginning(day), beginning(plus(day, 1))];
  return Array.from({ length: Math.ceil((end - first) / SLOT) }, (_, count) => first + count * SLOT);
}

/** As `14:30`. @param {number} at */
export const time = (at) => format("time", { hour: "2-digit", minute: "2-digit" }).format(at * 1000);
/** As `CEST`. @param {number} at */
export const zoneName = (at) =>
  format("zone", { timeZoneName: "short" }).formatToParts(at * 1000).find((one) => one.type === "timeZoneName")?.value ?? "";
/** As `2026-11-15 14:30`. @param {number} at */
export const written = (at) => `${dayAt(at)} ${time(at)}`;

/** @param {Intl.DateTimeFormatOptions} options */
const dated = (options) => {
  const words = new Intl.DateTimeFormat("en-GB", { ...options, timeZone: "UTC" });
  return (/** @type {string} */ day) => words.format(asUtc(day) * 1000);
};
export const weekday = dated({ weekday: "short" });
export const dayNumber = dated({ day: "numeric" });
/** As `Sunday 15 November`. */
export const longDay = dated({ weekday: "long", day: "numeric", month: "long" });
export const monthName = dated({ month: "long", year: "numeric" });
const shortDate = dated({ day: "numeric", month: "short" });
const fullDate = dated({ day: "numeric", month: "short", year: "numeric" });

/** As `9 Nov – 15 Nov 2026`. @param {string} first @param {string} last */
export const rangeName = (first, last) => `${shortDate(first)} – ${fullDate(last)}`;

/**
 * As `Mon 16 Nov, 10:00 – 12:00`, with both days where they differ.
 * @param {number} start
 * @param {number} end
 */
export function spanName(start, end) {
  return dayAt(start) === dayAt(end) ? `${momentName(start)} – ${time(end)}` : `${momentName(start)} – ${momentName(end)}`;
}

/** The same where its first day is known. @param {number} start @param {number} end */
export function hoursName(start, end) {
  return `${time(start)} – ${dayAt(start) === dayAt(end) ? time(end) : momentName(end)}`;
}

/** As `Mon 16 Nov, 10:00`; with the year where it is not about this one. @param {number} at */
export function momentName(at) {
  const day = dayAt(at);
  const isNear = Math.abs(at - Date.now() / 1000) < 180 * DAY;
  return `${weekday(day)} ${isNear ? shortDate(day) : fullDate(day)}, ${time(at)}`;
}

export { dayAt };
