/** The lines of several servers on one plot of a monitor. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { Plot } from "../../kit/plot.js";
import { marked, SPANS, timesOf, valued } from "./words.js";

/**
 * @typedef {import("./words.js").Monitor} Monitor
 * @typedef {import("./words.js").SeriesShown} SeriesShown
 * @typedef {import("./words.js").Resolution} Resolution
 * @typedef {{server: string, hostname: string, title: string, groups: string[], at: number, is_stale: boolean, values: Record<string, number>}} Now
 */

/** A line for each can still be told apart. */
export const TONES = ["act", "warning-fill", "ok-fill", "unknown-fill", "critical-fill", "maintenance-fill", "ok", "warning", "unknown", "ink"];

/** @param {Now} one */
export const nameOf = (one) => one.title || one.hostname;

/** Servers by the value of a monitor. @param {Now[]} known @param {string} monitor */
export function highestFirst(known, monitor) {
  const valueOf = (/** @type {Now} */ one) => one.values[monitor] ?? -Infinity;
  return [...known].sort((a, b) => valueOf(b) - valueOf(a) || nameOf(a).localeCompare(nameOf(b)));
}

/** In the order of their names, so that lines keep their colours while values change. @param {Now[]} chosen */
export function byName(chosen) {
  return [...chosen].sort((a, b) => nameOf(a).localeCompare(nameOf(b), "en", { numeric: true }));
}

/** @param {{monitor: Monitor, shown: SeriesShown, chosen: Now[], span: Resolution, height?: number}} props */
export function Lines({ monitor, shown, chosen, span, height = 280 }) {
  const lines = chosen.map((one, place) => ({ label: nameOf(one), tone: TONES[place] ?? "act" }));
  const data = useMemo(() => {
    const times = timesOf(shown);
    const values = chosen.map((one) => shown.series.find((each) => each.server === one.server)?.values ?? times.map(() => null));
    return /** @type {import("../../kit/plot.js").Data} */ ([times, ...values]);
  }, [shown, chosen.map((one) => one.server).join()]);
  const to = shown.start + (data[0].length - 1) * shown.step;
  return html`<${Plot} label=${`${monitor.title} of ${lines.map((one) => one.label).join(", ")}`} lines=${lines} data=${data} height=${height} from=${to - SPANS[span].seconds} to=${to}
    least=${monitor.min_vert_scale || 0} isBytes=${monitor.data_type === "bytes"} format=${valued(monitor)} axis=${marked(monitor)} />`;
}
