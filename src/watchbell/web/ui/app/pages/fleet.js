/** The fleet at a glance: a tile for each server, with its health, load and jobs. */

import { html } from "htm/preact";
import { useFetched } from "../api.js";
import { useQuery } from "../location.js";
import { counted } from "../words.js";
import { Button } from "../kit/form.js";
import { Card, Empty, Failed, Loading, Page } from "../kit/layout.js";
import { Filters } from "./servers/filters.js";
import { useServers } from "./servers/fleet.js";
import { Tile } from "./servers/tile.js";

/** @typedef {import("./servers/words.js").Counts} Counts */

export default function Fleet() {
  const [query, setQuery] = useQuery();
  const given = (/** @type {string} */ name) => query.get(name) ?? "";
  const wanted = { text: given("text"), group: given("group"), state: given("state"), sort: query.get("sort") ?? "name" };
  const fleet = useServers(wanted);
  const groups = useFetched("/groups", { every: 60 }).value?.items;
  const isFiltered = wanted.text !== "" || wanted.group !== "" || wanted.state !== "";
  return html`<${Page} wide title="Fleet" lead=${fleet.counts && html`<${Lead} counts=${fleet.counts} />`} actions=${html`<${Button} href="/servers">List of servers<//>`}>
    <${Filters} counts=${fleet.counts} wanted=${wanted} groups=${groups} setQuery=${setQuery} />
    ${fleet.problem && html`<${Failed} problem=${fleet.problem} retry=${fleet.reload} />`}
    ${!fleet.rows && !fleet.problem && html`<${Loading} lines=${8} />`}
    ${fleet.rows?.length === 0 && html`<${Card}>${isFiltered
      ? html`<${Empty} title="No servers match these filters." action=${html`<${Button} onClick=${() => setQuery({ text: null, group: null, state: null })}>Clear filters<//>`} />`
      : html`<${Empty} title="No servers yet." action=${html`<${Button} href="/servers">Open servers<//>`}>Each server gets a tile here once its agent has connected.<//>`}<//>`}
    ${fleet.rows && fleet.rows.length > 0 && html`<ul class="fleet" aria-label="Servers">${fleet.rows.map((row) => html`<${Tile} key=${row.id} row=${row} />`)}</ul>`}
    ${fleet.rows && html`<p class="soft" role="status">${counted(fleet.rows.length, "server")}${!fleet.isComplete && ` of ${fleet.count.toLocaleString("en")}: use filters to see others`}</p>`}
  <//>`;
}

/** @param {{counts: Counts}} props */
function Lead({ counts }) {
  return html`${counted(counts.online, "server")} up${counts.offline > 0 && html`, <strong class="bad">${counts.offline.toLocaleString("en")} down</strong>`}${counts.alerting > 0 && html`, <strong class="bad">${counts.alerting.toLocaleString("en")} with alerts</strong>`} · ${counted(counts.jobs, "job")} running`;
}
