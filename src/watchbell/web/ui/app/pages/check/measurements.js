/** Measurements of a check: charts where there are several values, else a table. */

import { html } from "htm/preact";
import { url, useFetched } from "../../api.js";
import { Card, Empty, Fetched } from "../../kit/layout.js";
import { plain, Plot } from "../../kit/plot.js";
import { useStamp } from "./stamp.js";

/**
 * @typedef {{key: string, unit: string, points: [number, number][]}} Series
 * @typedef {{series: Series[], is_complete: boolean}} Measured
 */

/** @param {{check: string, stamp: string, perfdata: {key: string, value: string}[]}} props */
export function Measurements({ check, stamp, perfdata }) {
  const measured = useFetched(url("/check/measurements", { check }), { every: 60 });
  useStamp(stamp, measured.reload);
  return html`<${Card}><${Fetched} of=${measured} lines=${4}>
    ${(/** @type {Measured} */ found) => {
      const plotted = found.series.filter((one) => one.points.length > 1);
      const known = new Set(plotted.map((one) => one.key));
      const rest = perfdata.filter((one) => !known.has(one.key));
      if (plotted.length + rest.length === 0) {
        return html`<${Empty} title="No measurements."><p>Reports can include <code>perfdata</code>, such as <code>time=0.2s;1;2 'free space'=5MB</code>.</p><//>`;
      }
      return html`<div class="check-measured">
          ${plotted.map((one) => html`<${Measurement} key=${`${one.key} ${one.unit}`} one=${one} />`)}
        </div>
        ${rest.length > 0 && html`<table class="table" aria-label="Latest values"><tbody>
          ${rest.map((one) => html`<tr><th scope="row">${one.key}</th><td class="cell-number">${one.value}</td></tr>`)}
        </tbody></table>`}
        ${!found.is_complete && html`<p class="hint">Only the latest reports are shown.</p>`}`;
    }}
  <//><//>`;
}

/** @param {{one: Series}} props */
function Measurement({ one }) {
  const data = /** @type {import("../../kit/plot.js").Data} */ ([one.points.map(([at]) => at), one.points.map(([, value]) => value)]);
  const latest = one.points[one.points.length - 1]?.[1] ?? 0;
  const format = (/** @type {number} */ value) => `${plain(value)}${one.unit ? ` ${one.unit}` : ""}`;
  return html`<div class="check-measurement">
    <div class="check-measurement-head"><h3>${one.key}</h3><strong>${format(latest)}</strong></div>
    <${Plot} label=${one.key} lines=${[{ label: one.key, fill: true }]} data=${data} height=${72} format=${format} small />
  </div>`;
}
