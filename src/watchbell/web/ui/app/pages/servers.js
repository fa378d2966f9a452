/** All servers with their state, what they use and the jobs they run. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { url, useFetched } from "../api.js";
import { useQuery } from "../location.js";
import { may } from "../session.js";
import { bytes, counted } from "../words.js";
import { Button } from "../kit/form.js";
import { Gauge } from "../kit/gauge.js";
import { Card, Empty, Failed, Loading, Page } from "../kit/layout.js";
import { Chip } from "../kit/state.js";
import { Table } from "../kit/table.js";
import { Since, When } from "../kit/time.js";
import { useKeys } from "../keys.js";
import { AddServer } from "./servers/add_dialog.js";
import { JoinTokens } from "./servers/join_tokens.js";
import { Filters } from "./servers/filters.js";
import { useServers } from "./servers/fleet.js";
import { groupTitle, nameOf, percent, serverLink, ServerState } from "./servers/words.js";

/** @typedef {import("./servers/words.js").Row} Row */

export default function Servers() {
  const [query, setQuery] = useQuery();
  const [isAdding, setIsAdding] = useState(false);
  const [serial, setSerial] = useState(0);
  const given = (/** @type {string} */ name) => query.get(name) ?? "";
  const wanted = { text: given("text"), group: given("group"), state: given("state"), sort: query.get("sort") ?? "name" };
  const fleet = useServers(wanted);
  const groups = useFetched("/groups", { every: 60 }).value?.items;
  const add = may("add_servers") && html`<${Button} kind="main" onClick=${() => setIsAdding(true)}>Add server<//>`;
  useKeys("Servers", may("add_servers") ? [["n", "add a server", () => setIsAdding(true)]] : []);
  const isFiltered = wanted.text !== "" || wanted.group !== "" || wanted.state !== "";
  const close = () => {
    setIsAdding(false);
    setSerial(serial + 1);
  };
  return html`<${Page} wide title="Servers" lead=${fleet.counts && html`<${Lead} counts=${fleet.counts} />`} actions=${add}>
    <${Filters} counts=${fleet.counts} wanted=${wanted} groups=${groups} setQuery=${setQuery} />
    <div class="servers"><${Card} flush>
      ${fleet.problem && html`<${Failed} problem=${fleet.problem} retry=${fleet.reload} />`}
      ${!fleet.rows && !fleet.problem && html`<${Loading} lines=${8} />`}
      ${fleet.rows?.length === 0 && (isFiltered
        ? html`<${Empty} title="No servers match these filters." action=${html`<${Button} onClick=${() => setQuery({ text: null, group: null, state: null })}>Clear filters<//>`} />`
        : html`<${Empty} title="No servers yet." action=${add}>A server is a machine on which an agent runs jobs.${add && " Adding one takes a single command."}<//>`)}
      ${fleet.rows && fleet.rows.length > 0 && html`<${Table} columns=${columns(groups)} rows=${fleet.rows} id=${(/** @type {Row} */ row) => row.id}
        to=${(/** @type {Row} */ row) => serverLink(row.id)} label="Servers" look=${(/** @type {Row} */ row) => (row.state === "online" ? "" : "server-away")} />`}
    <//></div>
    ${fleet.rows && html`<p class="soft" role="status">${counted(fleet.rows.length, "server")}${!fleet.isComplete && ` of ${fleet.count.toLocaleString("en")}: use filters to see others`}</p>`}
    ${may("add_servers") && html`<${JoinTokens} stamp=${`${serial} ${fleet.counts?.online}`} />`}
    ${isAdding && html`<${AddServer} groups=${groups ?? []} onClose=${close} />`}
  <//>`;
}

/** @param {{counts: import("./servers/words.js").Counts}} props */
function Lead({ counts }) {
  return html`${counted(counts.jobs, "job")} running · ${counted(counts.slots, "slot")} on servers that are up`;
}

/** @param {import("./servers/words.js").Group[] | undefined} groups @returns {import("../kit/table.js").Column<Row>[]} */
const columns = (groups) => [
  { head: "Server", kind: "main", cell: (row) => html`<div class="server-name"><a href=${serverLink(row.id)}>${nameOf(row)}</a>
    <div class="soft plain">${[row.title && row.hostname, row.ip, row.os].filter(Boolean).join(" · ")}</div></div>` },
  { head: "State", kind: "tight", cell: (row) => html`<div class="server-state"><${ServerState} row=${row} />${row.alerts > 0
    ? html`<a class="bad" href=${url("/servers/server", { id: row.id, tab: "alerts" })}>${counted(row.alerts, "alert")}</a>`
    : html`<span class="soft plain"><${Presence} row=${row} /></span>`}</div>` },
  { head: "CPU", cell: (row) => html`<${Gauge} label="CPU" part=${row.cpu === null ? null : row.cpu / 100} words=${row.cpu === null ? "–" : percent(row.cpu)} />` },
  { head: "Memory", cell: (row) => html`<${Memory} row=${row} />` },
  { head: "Jobs", cell: (row) => html`<${Gauge} label="Slots in use" isCapacity part=${row.slots ? row.jobs / row.slots : null} words=${row.slots ? `${row.jobs} of ${row.slots}` : "no slots"} />` },
  { head: "Groups", cell: (row) => html`<span class="chips">${row.groups.map((id) => html`<${Chip} href=${url("/servers", { group: id })}>${groupTitle(groups, id)}<//>`)}</span>` },
];

/** @param {{row: Row}} props */
function Presence({ row }) {
  if (row.is_online) return html`for <${Since} since=${row.since} />`;
  return row.seen === null ? "never connected" : html`seen <${When} at=${row.seen} />`;
}

/** @param {{row: Row}} props */
function Memory({ row }) {
  const { memory, memory_total: total } = row;
  if (memory === null || !total) return html`<${Gauge} label="Memory" part=${null} words="–" />`;
  return html`<${Gauge} label="Memory" part=${memory / total} words=${`${percent((100 * memory) / total)} of ${bytes(total)}`}>
    ${percent((100 * memory) / total)} <span class="soft">of ${bytes(total)}</span><//>`;
}
