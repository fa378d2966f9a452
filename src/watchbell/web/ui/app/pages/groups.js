/** Groups of servers: by hostname or by hand. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { remove, url, useFetched } from "../api.js";
import { useQuery } from "../location.js";
import { may } from "../session.js";
import { counted } from "../words.js";
import { confirm } from "../kit/dialog.js";
import { Button, Search } from "../kit/form.js";
import { Card, Empty, Fetched, Page } from "../kit/layout.js";
import { Mark } from "../kit/state.js";
import { Table } from "../kit/table.js";
import { showToast } from "../kit/toast.js";
import { useKeys } from "../keys.js";
import { useLive } from "../live.js";
import { GroupEditor } from "./groups/editor.js";
import { Members } from "./groups/members.js";
import { MAIN } from "./servers/words.js";

/** @typedef {import("./servers/words.js").Group} Group */

export default function Groups() {
  const [query, setQuery] = useQuery();
  const fetched = useFetched("/groups");
  useLive("/live?topics=servers", { servers: fetched.reload, reset: fetched.reload });
  const [edited, setEdited] = useState(/** @type {Group | "new" | null} */ (null));
  const [peopled, setPeopled] = useState(/** @type {Group | null} */ (null));
  const create = may("create_groups") && html`<${Button} kind="main" onClick=${() => setEdited("new")}>New group<//>`;
  useKeys("Groups", may("create_groups") ? [["n", "new group", () => setEdited("new")]] : []);
  const text = (query.get("text") ?? "").toLowerCase();
  const done = (/** @type {string} */ words) => {
    showToast(words);
    setEdited(null);
    setPeopled(null);
    fetched.reload();
  };
  const columns = columnsOf({ edit: setEdited, people: setPeopled, drop: (group) => ask(group, () => done(`${group.title} deleted.`)) });
  return html`<${Page} title="Groups" actions=${create} lead="Events can run on a group instead of one server. A server joins the groups whose hostname pattern matches, unless its groups are set by hand.">
    <${Fetched} of=${fetched} lines=${6}>${(/** @type {{items: Group[]}} */ { items }) => {
      const found = items.filter((one) => `${one.title} ${one.id} ${one.hostname_match} ${one.notes}`.toLowerCase().includes(text));
      if (items.length === 0) return html`<${Card}><${Empty} title="No groups yet." action=${create}>All servers are in the group Main. Group them, for example by role: databases, web servers, workers.<//><//>`;
      return html`<div class="bar-of"><${Search} value=${query.get("text") ?? ""} onSearch=${(/** @type {string} */ to) => setQuery({ text: to })} placeholder="Filter by name or pattern" /></div>
        <div class="groups"><${Card} flush>${found.length === 0
          ? html`<${Empty} title="No groups match this filter." action=${html`<${Button} onClick=${() => setQuery({ text: null })}>Clear filter<//>`} />`
          : html`<${Table} columns=${columns} rows=${found} id=${(/** @type {Group} */ one) => one.id} to=${(/** @type {Group} */ one) => url("/servers", { group: one.id })} label="Groups" />`}<//></div>
        <p class="soft" role="status">${counted(found.length, "group")}</p>`;
    }}<//>
    ${edited && html`<${GroupEditor} group=${edited === "new" ? null : edited} onClose=${() => setEdited(null)} onSaved=${(/** @type {Group} */ saved) => done(`${saved.title} saved. It has ${counted(saved.servers, "server")}.`)} />`}
    ${peopled && html`<${Members} group=${peopled} onClose=${() => setPeopled(null)} onSaved=${(/** @type {number} */ count) => done(`${counted(count, "server")} changed.`)} />`}
  <//>`;
}

/** @param {Group} group @param {() => void} done */
function ask(group, done) {
  confirm({
    title: `Delete ${group.title}?`,
    words: html`<p>${group.servers === 0 ? "It has no servers." : `Its ${counted(group.servers, "server")} stay${group.servers === 1 ? "s" : ""}. Those in no other group are assigned by their hostname.`}</p>
      <p>Events that run on this group alone can't run any more.</p>`,
    yes: "Delete",
    async act() {
      await remove(`/groups/${encodeURIComponent(group.id)}`);
      done();
    },
  });
}

/**
 * @param {{edit: (group: Group) => void, people: (group: Group) => void, drop: (group: Group) => void}} acts
 * @returns {import("../kit/table.js").Column<Group>[]}
 */
const columnsOf = ({ edit, people, drop }) => [
  { head: "Group", kind: "main", cell: (one) => html`<div><a href=${url("/servers", { group: one.id })}>${one.title}</a><div class="soft plain">${one.notes ? one.notes.split("\n")[0] : one.id}</div></div>` },
  { head: "Pattern", cell: (one) => (one.hostname_match ? html`<code>${one.hostname_match}</code>` : html`<span class="soft">${one.id === MAIN ? "servers in no other group" : "none, by hand"}</span>`) },
  { head: "Slots per server", kind: "tight", cell: (one) => (one.max_jobs_per_server === null ? html`<span class="soft">no limit</span>` : String(one.max_jobs_per_server)) },
  { head: "Servers", kind: "tight", cell: (one) => html`<${Count} group=${one} />` },
  { head: html`<span class="unseen">Actions</span>`, kind: "actions", cell: (one) => html`<div class="actions row-actions">
    ${may("update_servers") && html`<${Button} small onClick=${() => people(one)} label=${`Members of ${one.title}`}>Members<//>`}
    ${may("edit_groups") && html`<${Button} small onClick=${() => edit(one)} label=${`Edit ${one.title}`}>Edit<//>`}
    ${may("delete_groups") && one.id !== MAIN && html`<${Button} small kind="danger" onClick=${() => drop(one)} label=${`Delete ${one.title}`}>Delete<//>`}</div>` },
];

/** @param {{group: Group}} props */
function Count({ group }) {
  if (group.servers === 0) return html`<span class="soft">none</span>`;
  const down = group.servers - group.online;
  return html`<span class="nowrap">${down === 0 ? html`<${Mark} state="ok" title="all are up" />` : html`<${Mark} state="critical" title=${`${down} down`} />`} ${down === 0 ? group.servers : `${group.online} of ${group.servers} up`}</span>`;
}
