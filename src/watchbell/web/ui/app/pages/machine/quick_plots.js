/** The quick values of a machine: what it used in each second of a minute. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { Plot } from "../../kit/plot.js";
import { bytes } from "../../words.js";
import { percent } from "../servers/words.js";

/** @typedef {import("./sample.js").Quick} Quick */

export const SECONDS = 60;
const size = (/** @type {number} */ value) => bytes(Math.round(value));

/**
 * @typedef {{title: string, lines: import("../../kit/plot.js").Line[], values: ((one: Quick) => number)[],
 *   format?: (value: number) => string, isBytes?: boolean, least: number}} Kind
 */
/** @type {Kind[]} */
const KINDS = [
  { title: "CPU usage", lines: [{ label: "CPU", fill: true }], values: [(one) => one.cpu_usage], format: percent, least: 100 },
  { title: "Memory in use", lines: [{ label: "Memory", fill: true, tone: "unknown-fill" }], values: [(one) => one.mem_used], format: size, isBytes: true, least: 1_024 },
  { title: "Load of one minute", lines: [{ label: "Load" }], values: [(one) => one.cpu_load], least: 1 },
  { title: "Network, per second", lines: [{ label: "in" }, { label: "out", tone: "warning-fill" }], values: [(one) => one.net_in_sec, (one) => one.net_out_sec], format: size, isBytes: true, least: 1_024 },
  { title: "Disks, per second", lines: [{ label: "read" }, { label: "write", tone: "warning-fill" }], values: [(one) => one.disk_read_sec, (one) => one.disk_write_sec], format: size, isBytes: true, least: 1_024 },
];

/** @param {{quick: Quick[], to?: number}} props the oldest first; `to`: the end of the plots */
export function QuickPlots({ quick, to = quick.at(-1)?.date ?? 0 }) {
  const plots = useMemo(() => KINDS.map((kind) => ({ kind, data: plotted(quick, kind) })), [quick]);
  return html`<div class="server-plots">${plots.map(({ kind, data }) => html`<div class="server-plot" key=${kind.title}>
    <h3>${kind.title}</h3>
    <${Plot} label=${kind.title} lines=${kind.lines} data=${data} height=${120} from=${to - SECONDS} to=${to} least=${kind.least} isBytes=${kind.isBytes ?? false} ...${kind.format ? { format: kind.format } : {}} />
  </div>`)}</div>`;
}

/** @param {Quick[]} quick @param {Kind} kind @returns {import("../../kit/plot.js").Data} */
function plotted(quick, kind) {
  /** @type {number[]} */
  const times = [];
  const values = kind.values.map(() => /** @type {(number | null)[]} */ ([]));
  for (const one of quick) {
    const last = times.at(-1);
    if (last !== undefined && one.date - last > 3) {
      times.push(last + 1);
      for (const line of values) line.push(null);
    }
    times.push(one.date);
    kind.values.forEach((value, i) => values[i]?.push(value(one)));
  }
  return [times, ...values];
}
