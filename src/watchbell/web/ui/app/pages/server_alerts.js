/** Server alerts, active and past. */

import { html } from "htm/preact";
import { url, useFetched } from "../api.js";
import { useQuery } from "../location.js";
import { counted } from "../words.js";
import { Dialog } from "../kit/dialog.js";
import { Button, Choice, Search } from "../kit/form.js";
import { Card, Empty, Fetched, Page } from "../kit/layout.js";
import { groupTitle } from "./servers/words.js";
import { Details } from "./server_alerts/details.js";
import { AlertList } from "./server_alerts/list.js";
import { Snoozed, SnoozeButton } from "./server_alerts/snooze.js";

/**
 * @typedef {import("./server_alerts/words.js").Row} Row
 * @typedef {{id: string, title: string}} Named
 */

const STEP = 50;
const MOST = 500;
const EVERY = 10;

export default function ServerAlerts() {
  const [query, setQuery] = useQuery();
  const given = (/** @type {string} */ name) => query.get(name) ?? "";
  const limit = Math.min(Number(query.get("limit")) || STEP, MOST);
  const state = given("state");
  const active = state === "" ? null : String(state === "active");
  const wanted = { text: given("text"), group: given("group"), definition: given("definition"), server: given("server"), active };
  const fetched = useFetched(url("/server-alerts", { ...wanted, limit }), { every: EVERY });
  const definitions = /** @type {{record: Named}[]} */ (useFetched("/alert-definitions", { every: 120 }).value ?? []);
  const snoozes = useFetched("/server-alerts/snoozes", { every: 30 });
  const isFiltered = Object.values(wanted).some((one) => one !== null && one !== "");
  const clear = () => setQuery({ text: null, group: null, definition: null, server: null, state: null });
  return html`<${Page} wide title="Server alerts" lead="What is wrong with servers, by the samples that they send once a minute."
    actions=${html`<${SnoozeButton} snoozes=${snoozes} /><${Button} href="/alert-definitions">Alert definitions<//>`}>
    <${Snoozed} snoozes=${snoozes} titleOf=${(/** @type {string} */ id) => definitions.find(({ record }) => record.id === id)?.record.title ?? id} />
    <${Filters} given=${given} definitions=${definitions} setQuery=${setQuery} />
    <${Card} flush><${Fetched} of=${fetched} lines=${6}>${(/** @type {{items: Row[], count: number}} */ { items, count }) => {
      if (items.length === 0) {
        return isFiltered
          ? html`<${Empty} title="No server alerts match these filters." action=${html`<${Button} onClick=${clear}>Clear filters<//>`} />`
          : html`<${Empty} title="No server alerts yet." action=${html`<${Button} href="/alert-definitions">Alert definitions<//>`}>Whenever a definition holds on a server, it is listed here.<//>`;
      }
      return html`<${AlertList} rows=${items} keys />
        ${count > items.length && (limit < MOST
          ? html`<div class="more"><${Button} onClick=${() => setQuery({ limit: String(limit + STEP) })} busy=${fetched.isLoading}>Load more<//></div>`
          : html`<p class="soft card-note">${items.length} of ${count.toLocaleString("en")}: use filters to see others.</p>`)}`;
    }}<//><//>
    ${fetched.value && html`<p class="soft" role="status">${counted(fetched.value.count, "server alert")}</p>`}
    ${given("id") && html`<${Dialog} key=${given("id")} wide title="Server alert" onClose=${() => setQuery({ id: null })}><${Details} id=${given("id")} onDeleted=${() => {
      setQuery({ id: null });
      fetched.reload();
    }} /><//>`}
  <//>`;
}

/** @param {{given: (name: string) => string, definitions: {record: Named}[], setQuery: ReturnType<typeof useQuery>[1]}} props */
function Filters({ given, definitions, setQuery }) {
  const groups = useFetched("/groups", { every: 60 }).value?.items;
  const choose = (/** @type {string} */ name) => (/** @type {any} */ event) => setQuery({ [name]: event.currentTarget.value, limit: null });
  const listed = (/** @type {string} */ name, /** @type {string[]} */ ids) => [...new Set([...ids, ...(given(name) ? [given(name)] : [])])];
  return html`<div class="bar-of">
    <${Search} value=${given("text")} onSearch=${(/** @type {string} */ text) => setQuery({ text, limit: null })} placeholder="Filter by title, message or server" />
    <${Choice} label="Filter by state" value=${given("state")} options=${[["", "All"], ["active", "Active"], ["cleared", "Cleared"]]} onChange=${(/** @type {string} */ state) => setQuery({ state, limit: null })} />
    <select aria-label="Filter by definition" value=${given("definition")} onChange=${choose("definition")}>
      <option value="">All definitions</option>
      ${listed("definition", definitions.map(({ record }) => record.id)).map((id) => html`<option value=${id} selected=${id === given("definition")}>${definitions.find(({ record }) => record.id === id)?.record.title ?? id}</option>`)}
    </select>
    ${(groups?.length > 0 || given("group")) && html`<select aria-label="Filter by group" value=${given("group")} onChange=${choose("group")}>
      <option value="">All groups</option>
      ${listed("group", (groups ?? []).map((/** @type {Named} */ one) => one.id)).map((id) => html`<option value=${id} selected=${id === given("group")}>${groupTitle(groups, id)}</option>`)}
    </select>`}
    ${given("server") && html`<${Button} small onClick=${() => setQuery({ server: null })} label="Remove the filter by server">Of one server ✕<//>`}
  </div>`;
}
