/** Monitors as the pages show them: types, and values with their units. */

import { plain } from "../../kit/plot.js";
import { lasting } from "../../times.js";
import { bytes } from "../../words.js";

/**
 * @typedef {{id: string, title: string, icon?: string, notes?: string, source?: string, data_match?: string,
 *   data_type?: "integer" | "float" | "bytes" | "seconds" | "milliseconds", suffix?: string, groups?: string[], display?: boolean,
 *   min_vert_scale?: number, delta?: boolean, divide_by_delta?: boolean, delta_min_value?: number | null, sort_order?: number, revision: number}} Monitor
 * @typedef {{record: Monitor, problem: string}} MonitorRow
 * @typedef {{server: string, monitor: string, values: (number | null)[]}} Series
 * @typedef {{start: number, step: number, series: Series[]}} SeriesShown
 * @typedef {"hour" | "day" | "month" | "year"} Resolution
 */

/** @type {Record<Resolution, {words: string, seconds: number}>} */
export const SPANS = {
  hour: { words: "Hour", seconds: 3_600 },
  day: { words: "Day", seconds: 86_400 },
  month: { words: "Month", seconds: 31 * 86_400 },
  year: { words: "Year", seconds: 366 * 86_400 },
};

/** A value as `12.5 %` or `3 MiB/sec`. @param {Monitor} monitor @returns {(value: number) => string} */
export function valued(monitor) {
  const { data_type = "float", suffix = "" } = monitor;
  const gap = suffix === "" || suffix.startsWith("/") ? "" : " ";
  return (value) => {
    if (data_type === "bytes") return `${bytes(Math.round(value))}${gap}${suffix}`;
    if (data_type === "seconds") return `${lasting(value, 2)}${gap}${suffix}`;
    if (data_type === "milliseconds") return `${Math.round(value).toLocaleString("en")} ms${gap}${suffix}`;
    if (data_type === "integer") return `${plain(Number(value.toFixed(1)))}${gap}${suffix}`;
    return `${plain(value)}${gap}${suffix}`;
  };
}

/** Marks of an axis: without a long unit. @param {Monitor} monitor @returns {(value: number) => string} */
export function marked(monitor) {
  return valued((monitor.suffix ?? "").length > 2 ? { ...monitor, suffix: "" } : monitor);
}

/** The times of a series. @param {SeriesShown} shown */
export function timesOf({ start, step, series }) {
  return Array.from({ length: series[0]?.values.length ?? 0 }, (_, i) => start + i * step);
}
