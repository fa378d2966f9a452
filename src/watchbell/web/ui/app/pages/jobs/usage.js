/** CPU and memory of a job over time. */

import { html } from "htm/preact";
import { useMemo, useState } from "preact/hooks";
import { useFetched } from "../../api.js";
import { bytes } from "../../words.js";
import { Choice } from "../../kit/form.js";
import { Card } from "../../kit/layout.js";
import { Plot } from "../../kit/plot.js";
import { percent } from "./words.js";

/** @typedef {{at: number, cpu: number, memory: number}} Point */

const EVERY = 2;
const CPU = [{ label: "CPU", fill: true }];
const MEMORY = [{ label: "Memory", fill: true, tone: "unknown-fill" }];

/** @param {{id: string, row: import("./words.js").JobRow, isLive: boolean}} props */
export function Usage({ id, row, isLive }) {
  const [span, setSpan] = useState("");
  const fetched = useFetched(`/jobs/${encodeURIComponent(id)}/usage`, { every: isLive ? EVERY : 0 });
  const found = /** @type {{seconds: Point[], minutes: Point[]} | null} */ (fetched.value);
  const seconds = found?.seconds ?? [];
  const minutes = found?.minutes ?? [];
  const isLong = minutes.length > 2 && (span || (isLive ? "seconds" : "minutes")) === "minutes";
  const points = isLong ? minutes : seconds;
  const cpu = useMemo(() => data(points, (one) => one.cpu), [points]);
  const memory = useMemo(() => data(points, (one) => one.memory), [points]);
  if (points.length < 2) return null;
  const choice = minutes.length > 2 && html`<${Choice} label="Span of time" value=${isLong ? "minutes" : "seconds"} onChange=${setSpan}
    options=${[["seconds", isLive ? "Last 5 minutes" : "End"], ["minutes", "Whole job"]]} />`;
  return html`<div class="job-usage">
    <${Card} title="CPU" actions=${html`${choice}<strong>${isLive && row.cpu !== null ? percent(row.cpu) : ""}</strong>`}>
      <${Plot} label="CPU" lines=${CPU} data=${cpu} height=${130} least=${10} format=${percent} /><//>
    <${Card} title="Memory" actions=${html`<strong>${isLive && row.memory !== null ? bytes(row.memory) : ""}</strong>`}>
      <${Plot} label="Memory" lines=${MEMORY} data=${memory} height=${130} isBytes format=${(/** @type {number} */ value) => bytes(Math.round(value))} /><//>
  </div>`;
}

/** @param {Point[]} points @param {(one: Point) => number} value @returns {import("../../kit/plot.js").Data} */
function data(points, value) {
  return [points.map((one) => one.at), points.map(value)];
}
