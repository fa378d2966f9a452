/** What a server used in the last hour, day or month. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { url, useFetched } from "../../api.js";
import { useQuery } from "../../location.js";
import { Choice } from "../../kit/form.js";
import { Card, Fetched } from "../../kit/layout.js";
import { Plot } from "../../kit/plot.js";
import { bytes } from "../../words.js";
import { percent } from "../servers/words.js";

/**
 * @typedef {import("../servers/words.js").Sample} Sample
 * @typedef {{words: string, resolution: "minute" | "hour", step: number, seconds: number}} Span
 */

/** @type {Record<string, Span>} */
const SPANS = {
  hour: { words: "Hour", resolution: "minute", step: 60, seconds: 3_600 },
  day: { words: "Day", resolution: "minute", step: 60, seconds: 86_400 },
  month: { words: "Month", resolution: "hour", step: 3_600, seconds: 31 * 86_400 },
};
const HOUR = /** @type {Span} */ (SPANS.hour);

const size = (/** @type {number} */ value) => bytes(Math.round(value));

/**
 * @typedef {{title: string, lines: import("../../kit/plot.js").Line[], values: ((sample: Sample) => number)[],
 *   format?: (value: number) => string, isBytes?: boolean, least: number}} Kind
 */
/** @type {Kind[]} */
const KINDS = [
  { title: "CPU", lines: [{ label: "CPU", fill: true }], values: [(one) => one.cpu], format: percent, least: 10 },
  { title: "Memory", lines: [{ label: "Memory", fill: true, tone: "unknown-fill" }], values: [(one) => (100 * one.memory) / (one.memory_total || 1)], format: percent, least: 100 },
  { title: "Load", lines: [{ label: "1 min" }, { label: "15 min", tone: "maintenance-fill" }], values: [(one) => one.load[0], (one) => one.load[2]], least: 1 },
  { title: "Jobs", lines: [{ label: "Jobs", fill: true, tone: "ok-fill" }], values: [(one) => one.jobs], least: 4 },
  { title: "Network, per second", lines: [{ label: "in" }, { label: "out", tone: "warning-fill" }], values: [(one) => one.network_in, (one) => one.network_out], format: size, isBytes: true, least: 1_024 },
  { title: "Disk", lines: [{ label: "Disk", fill: true, tone: "maintenance-fill" }], values: [(one) => (100 * one.disk) / (one.disk_total || 1)], format: percent, least: 100 },
];

/** @param {{path: string, at: number}} props `at`: when the latest sample was taken */
export function Plots({ path, at }) {
  const [query, setQuery] = useQuery();
  const name = query.get("span") ?? "hour";
  const span = SPANS[name] ?? HOUR;
  const limit = Math.min(span.seconds / span.step, 1_440);
  const fetched = useFetched(url(`${path}/samples`, { resolution: span.resolution, limit }), { every: 30 });
  const choice = html`<${Choice} label="Time range" value=${name} options=${Object.entries(SPANS).map(([value, one]) => [value, one.words])} onChange=${(/** @type {string} */ to) => setQuery({ span: to === "hour" ? null : to })} />`;
  return html`<${Card} title="Usage" actions=${choice}>
    <${Fetched} of=${fetched} lines=${6}>${(/** @type {{items: Sample[]}} */ { items }) => html`<${Drawn} key=${name} items=${items} span=${span} now=${at} />`}<//>
  <//>`;
}

/** @param {{items: Sample[], span: Span, now: number}} props */
function Drawn({ items, span, now }) {
  const to = Math.max(now, items[0]?.at ?? 0, Date.now() / 1000 - 120);
  const recent = useMemo(() => items.filter((one) => one.at > to - span.seconds).sort((a, b) => a.at - b.at), [items, span]);
  const plots = useMemo(() => KINDS.map((kind) => ({ kind, data: plotted(recent, kind, span.step) })), [recent]);
  if (recent.length < 2) {
    return html`<p class="soft">${span.resolution === "hour" ? "No averages of whole hours yet. One is added every hour." : "Measurements appear here a minute after the agent has connected."}</p>`;
  }
  return html`<div class="server-plots">${plots.map(({ kind, data }) => html`<div class="server-plot" key=${kind.title}>
    <h3>${kind.title}</h3>
    <${Plot} label=${kind.title} lines=${kind.lines} data=${data} height=${130} from=${to - span.seconds} to=${to} least=${kind.least} isBytes=${kind.isBytes ?? false} ...${kind.format ? { format: kind.format } : {}} />
  </div>`)}</div>`;
}

/**
 * Values over time; a line is interrupted where samples are missing.
 * @param {Sample[]} samples the oldest first @param {Kind} kind @param {number} step
 * @returns {import("../../kit/plot.js").Data}
 */
function plotted(samples, kind, step) {
  /** @type {number[]} */
  const times = [];
  const values = kind.values.map(() => /** @type {(number | null)[]} */ ([]));
  let last = samples[0]?.at ?? 0;
  for (const one of samples) {
    if (one.at - last > 2.5 * step) {
      times.push(last + step);
      for (const line of values) line.push(null);
    }
    times.push(one.at);
    kind.values.forEach((value, i) => values[i]?.push(value(one)));
    last = one.at;
  }
  return [times, ...values];
}
