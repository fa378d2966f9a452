/** One monitor of several servers, on one plot. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { url, useFetched } from "../../api.js";
import { useQuery } from "../../location.js";
import { Choice } from "../../kit/form.js";
import { Card, Empty, Fetched } from "../../kit/layout.js";
import { Table } from "../../kit/table.js";
import { When } from "../../kit/time.js";
import { serverLink } from "../servers/words.js";
import { byName, highestFirst, Lines, nameOf, TONES } from "./lines.js";
import { SPANS, valued } from "./words.js";

/**
 * @typedef {import("./words.js").Monitor} Monitor
 * @typedef {import("./words.js").SeriesShown} SeriesShown
 * @typedef {import("./words.js").Resolution} Resolution
 * @typedef {import("./lines.js").Now} Now
 */

const EVERY = 30;
/** Servers that are selected at first: those with the highest values. */
const FIRST = 5;
/** @type {[string, string][]} */
const CHOICES = Object.entries(SPANS).map(([value, { words }]) => [value, words]);

/** @param {{monitor: Monitor}} props */
export function Compare({ monitor }) {
  const [query, setQuery] = useQuery();
  const group = query.get("group") ?? "";
  const groups = useFetched("/groups").value?.items ?? [];
  const fetched = useFetched(url("/servers/values", { group }), { every: EVERY });
  const span = /** @type {Resolution} */ (query.get("span") && (query.get("span") ?? "") in SPANS ? query.get("span") : "day");
  return html`<div class="bar-of">
      <${Choice} label="Time range" value=${span} options=${CHOICES} onChange=${(/** @type {string} */ to) => setQuery({ span: to })} />
      ${groups.length > 0 && html`<select aria-label="Filter by group" value=${group} onChange=${(/** @type {any} */ event) => setQuery({ group: event.currentTarget.value, server: null })}>
        <option value="">All groups</option>${groups.map((/** @type {{id: string, title: string}} */ one) => html`<option value=${one.id} selected=${one.id === group}>${one.title}</option>`)}</select>`}
    </div>
    <${Fetched} of=${fetched} lines=${6}>${(/** @type {Now[]} */ known) => html`<${Chosen} monitor=${monitor} known=${known} span=${span} />`}<//>`;
}

/** @param {{monitor: Monitor, known: Now[], span: Resolution}} props */
function Chosen({ monitor, known, span }) {
  const [query, setQuery] = useQuery();
  const rows = useMemo(() => highestFirst(known, monitor.id), [known, monitor.id]);
  const asked = query.getAll("server");
  const selected = asked.length > 0 ? rows.filter((one) => asked.includes(one.server)).slice(0, TONES.length) : rows.filter((one) => monitor.id in one.values).slice(0, FIRST);
  const chosen = byName(selected);
  const ids = chosen.map((one) => one.server);
  const fetched = useFetched(ids.length > 0 ? url("/series", { monitor: monitor.id, server: [...ids].sort(), resolution: span }) : null, { every: EVERY });
  const shown = /** @type {SeriesShown | null} */ (fetched.value);
  if (rows.length === 0) return html`<${Card}><${Empty} title="No server was measured yet.">Values appear here a minute after an agent has connected.<//><//>`;
  const format = valued(monitor);
  return html`<${Card} title=${monitor.title}>
      ${ids.length === 0 ? html`<p class="soft">No server has a value of this monitor. Select servers below.</p>` : html`<${Fetched} of=${fetched} lines=${5}>${() => shown && html`<${Lines} monitor=${monitor} shown=${shown} chosen=${chosen} span=${span} />`}<//>`}
    <//>
    <${Card} flush title="Servers" actions=${html`<span class="soft">Select up to ${TONES.length}</span>`}>
      <${Table} columns=${columns(monitor, ids, shown, format)} rows=${rows} id=${(/** @type {Now} */ one) => one.server} label="Servers" keys=${false}
        selected=${new Set(ids)} onSelect=${(/** @type {Set<string>} */ to) => setQuery({ server: [...to].slice(0, TONES.length) })} />
    <//>`;
}

/**
 * @param {Monitor} monitor @param {string[]} ids of the servers on the plot @param {SeriesShown | null} shown @param {(value: number) => string} format
 * @returns {import("../../kit/table.js").Column<Now>[]}
 */
function columns(monitor, ids, shown, format) {
  const over = (/** @type {Now} */ one, /** @type {(values: number[]) => number} */ figure) => {
    const values = shown?.series.find((each) => each.server === one.server)?.values.flatMap((value) => (value === null ? [] : [value])) ?? [];
    return values.length > 0 && ids.includes(one.server) ? format(figure(values)) : null;
  };
  return [
    { head: "Server", kind: "main", cell: (one) => html`<span class="compare-name"><i class=${`compare-key tone-${ids.includes(one.server) ? (TONES[ids.indexOf(one.server)] ?? "none") : "none"}`}></i> <a href=${serverLink(one.server)}>${nameOf(one)}</a></span>` },
    { head: "Now", kind: "number", cell: (one) => html`<span class=${one.is_stale ? "soft" : ""}>${monitor.id in one.values ? format(one.values[monitor.id] ?? 0) : "–"}${one.is_stale && html` (<${When} at=${one.at} />)`}</span>` },
    { head: "Lowest", kind: "number", cell: (one) => over(one, (values) => Math.min(...values)) },
    { head: "Average", kind: "number", cell: (one) => over(one, (values) => values.reduce((sum, value) => sum + value, 0) / values.length) },
    { head: "Highest", kind: "number", cell: (one) => over(one, (values) => Math.max(...values)) },
  ];
}
