/** What a server used: each second of the last minute, or the series of its monitors. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { url, useFetched } from "../../api.js";
import { useQuery } from "../../location.js";
import { Choice } from "../../kit/form.js";
import { Card, Fetched } from "../../kit/layout.js";
import { Plot } from "../../kit/plot.js";
import { QuickPlots } from "../machine/quick_plots.js";
import { marked, SPANS, timesOf, valued } from "../monitors/words.js";
import { useQuick } from "./quick.js";

/**
 * @typedef {import("../monitors/words.js").MonitorRow} MonitorRow
 * @typedef {import("../monitors/words.js").Resolution} Resolution
 * @typedef {import("../monitors/words.js").SeriesShown} SeriesShown
 * @typedef {import("../server_alerts/words.js").Row} AlertRow
 * @typedef {import("../servers/words.js").Row} Row
 */

/** Seconds between two readings of the series. */
const EVERY = 30;
/** Alerts that are marked, at most. */
const MOST_ALERTS = 200;
const TONES = ["act", "unknown-fill", "ok-fill", "warning-fill", "maintenance-fill"];
/** @type {[string, string][]} */
const CHOICES = [["minute", "Minute"], ...Object.entries(SPANS).map(([value, { words }]) => /** @type {[string, string]} */ ([value, words]))];

/** @param {{path: string, row: Row}} props */
export function Plots({ path, row }) {
  const [query, setQuery] = useQuery();
  const span = CHOICES.find(([value]) => value === query.get("span"))?.[0] ?? "hour";
  const choice = html`<${Choice} label="Time range" value=${span} options=${CHOICES} onChange=${(/** @type {string} */ to) => setQuery({ span: to === "hour" ? null : to })} />`;
  return html`<${Card} title="Usage" actions=${choice}>
    ${span === "minute" ? html`<${Live} path=${path} isOnline=${row.is_online} />` : html`<${History} key=${span} path=${path} row=${row} span=${/** @type {Resolution} */ (span)} />`}
  <//>`;
}

/** @param {{path: string, isOnline: boolean}} props */
function Live({ path, isOnline }) {
  const { quick, now } = useQuick(path);
  if (quick.length === 0) return html`<p class="soft">${isOnline ? "The values of each second appear here within a few seconds." : "The values of each second appear here while the server is connected."}</p>`;
  return html`<${QuickPlots} quick=${quick} to=${now} />`;
}

/** @param {{path: string, row: Row, span: Resolution}} props */
function History({ path, row, span }) {
  const fetched = useFetched(url(`${path}/series`, { resolution: span }), { every: EVERY });
  const monitors = useFetched("/monitors", { every: 120 });
  const marks = useMarks(row.id, SPANS[span].seconds);
  return html`<${Fetched} of=${monitors} lines=${6}>${(/** @type {MonitorRow[]} */ rows) => html`<${Fetched} of=${fetched} lines=${6}>${(/** @type {SeriesShown} */ shown) =>
    html`<${Drawn} shown=${shown} rows=${rows} span=${span} marks=${marks} />`}<//>`}<//>`;
}

/** @param {{shown: SeriesShown, rows: MonitorRow[], span: Resolution, marks: Map<string, import("../../kit/plot.js").Span[]>}} props */
function Drawn({ shown, rows, span, marks }) {
  const to = shown.start + (timesOf(shown).length - 1) * shown.step;
  const plots = useMemo(() => {
    const times = timesOf(shown);
    return rows.flatMap(({ record, problem }, place) => {
      const values = shown.series.find((one) => one.monitor === record.id)?.values;
      if (problem || record.display === false || !values || values.every((one) => one === null)) return [];
      return [{ record, data: /** @type {import("../../kit/plot.js").Data} */ ([times, values]), tone: TONES[place % TONES.length] ?? "act", format: valued(record), axis: marked(record) }];
    });
  }, [shown, rows]);
  if (plots.length === 0) return html`<p class="soft">${span === "hour" ? "Measurements appear here a minute after the agent has connected." : "Nothing was measured in this time."}</p>`;
  return html`<div class="server-plots">${plots.map(({ record, data, tone, format, axis }) => html`<div class="server-plot" key=${record.id}>
    <h3><a class="plot-title" href=${url("/monitors", { id: record.id, tab: "compare", span })}>${record.title}</a></h3>
    <${Plot} label=${record.title} lines=${[{ label: record.title, fill: true, tone }]} data=${data} height=${130} from=${to - SPANS[span].seconds} to=${to}
      least=${record.min_vert_scale || 0} isBytes=${record.data_type === "bytes"} format=${format} axis=${axis} marked=${marks.get(record.id) ?? NONE} />
  </div>`)}</div>
  ${marks.size > 0 && html`<p class="hint">Red: a server alert was active.</p>`}`;
}

/** @type {import("../../kit/plot.js").Span[]} */
const NONE = [];

/**
 * When alerts of a server were active, by the monitor on whose plot they are marked.
 * @param {string} server @param {number} seconds
 * @returns {Map<string, import("../../kit/plot.js").Span[]>}
 */
function useMarks(server, seconds) {
  const definitions = useFetched("/alert-definitions", { every: 120 }).value;
  const alerts = useFetched(url("/server-alerts", { server, limit: MOST_ALERTS }), { every: EVERY }).value;
  return useMemo(() => {
    const now = Date.now() / 1000;
    const found = new Map();
    for (const one of /** @type {AlertRow[]} */ (alerts?.items ?? [])) {
      const monitor = definitions?.find((/** @type {{record: {id: string}}} */ row) => row.record.id === one.definition)?.record.monitor_id;
      const to = one.cleared ?? (one.state === "stale" ? one.modified : now);
      if (!monitor || to < now - seconds) continue;
      found.set(monitor, [...(found.get(monitor) ?? []), { from: one.date, to }]);
    }
    return found;
  }, [definitions, alerts, seconds]);
}
