/** A snapshot: a server, or the servers of a group, frozen in time. */

import { html } from "htm/preact";
import { remove, url, useFetched } from "../api.js";
import { go, useQuery } from "../location.js";
import { may } from "../session.js";
import { bytes, counted } from "../words.js";
import { confirm } from "../kit/dialog.js";
import { Button } from "../kit/form.js";
import { Card, Empty, Fetched, Page } from "../kit/layout.js";
import { Table } from "../kit/table.js";
import { When } from "../kit/time.js";
import { showToast } from "../kit/toast.js";
import { Connections, ConnectionStates, Interfaces } from "./machine/connections.js";
import { Meters } from "./machine/meters.js";
import { Mounts, Users } from "./machine/mounts.js";
import { Processes } from "./machine/processes.js";
import { QuickPlots } from "./machine/quick_plots.js";
import { memory } from "./machine/sample.js";
import { percent, serverLink } from "./servers/words.js";
import { ActiveThen } from "./snapshots/active.js";
import { snapshotLink, Taken } from "./snapshots/words.js";

/**
 * @typedef {import("./snapshots/words.js").Snapshot} Shown
 * @typedef {import("./snapshots/words.js").ServerShown} ServerShown
 * @typedef {import("./snapshots/words.js").Head} Head
 */

const above = html`<a href="/snapshots">Snapshots</a>`;

export default function Snapshot() {
  const [query] = useQuery();
  const id = query.get("id") ?? "";
  if (!id) return html`<${Page} title="Snapshot" above=${above}><${Empty} title="No snapshot selected." action=${html`<${Button} href="/snapshots">Show all snapshots<//>`} /><//>`;
  return html`<${Known} key=${id} id=${id} />`;
}

/** @param {{id: string}} props */
function Known({ id }) {
  const fetched = useFetched(`/snapshots/${encodeURIComponent(id)}`);
  const shown = /** @type {Shown | null} */ (fetched.value);
  if (!shown) return html`<${Page} title="Snapshot" above=${above}><${Fetched} of=${fetched} lines=${10}>${() => null}<//><//>`;
  const { snapshot } = shown;
  const title = snapshot.type === "group" ? `Group ${shown.group_title}` : (snapshot.hostname ?? "Snapshot");
  return html`<${Page} wide title=${title} tab=${`Snapshot of ${title}`} above=${above}
    lead=${html`<span class="server-lead"><strong><${When} at=${snapshot.date} as="exact" /></strong> <span><${When} at=${snapshot.date} />, taken by <${Taken} head=${snapshot} /></span>
      ${snapshot.server && html`<a href=${serverLink(snapshot.server)}>Server now</a>`}</span>`}
    actions=${html`<${Acts} head=${snapshot} />`}>
    <${States} shown=${shown} />
  <//>`;
}

/** @param {{head: Head}} props */
function Acts({ head }) {
  const of = head.type === "server" ? { server: head.server ?? "" } : { group: head.groups?.[0] ?? "" };
  const heads = /** @type {Head[]} */ (useFetched(url("/snapshots", { ...of, limit: 1_000 })).value?.items ?? []);
  const place = heads.findIndex((one) => one.id === head.id);
  const [later, earlier] = [heads[place - 1], place < 0 ? undefined : heads[place + 1]];
  const drop = () =>
    confirm({
      title: "Delete this snapshot?",
      words: "It can't be restored.",
      yes: "Delete",
      async act() {
        await remove(`/snapshots/${encodeURIComponent(head.id)}`);
        showToast("Snapshot deleted.");
        go("/snapshots");
      },
    });
  return html`${earlier && html`<${Button} href=${snapshotLink(earlier.id)}>Earlier<//>`}${later && html`<${Button} href=${snapshotLink(later.id)}>Later<//>`}
    ${earlier && html`<${Button} href=${url("/snapshots/compare", { before: earlier.id, after: head.id })}>Compare with earlier<//>`}
    ${may("delete_snapshots") && html`<${Button} kind="danger" onClick=${drop}>Delete<//>`}`;
}

/** @param {{shown: Shown}} props */
function States({ shown }) {
  const [query] = useQuery();
  const { states, snapshot } = shown;
  if (snapshot.type === "server") return states[0] ? html`<${Frozen} state=${states[0]} head=${snapshot} />` : html`<${Empty} title="The snapshot is empty." />`;
  const chosen = states.find((one) => one.server === query.get("server"));
  return html`<${Card} flush title=${counted(states.length, "server")}><${Table} columns=${COLUMNS} rows=${states} id=${(/** @type {ServerShown} */ one) => one.server} label="Servers in this snapshot"
      to=${(/** @type {ServerShown} */ one) => url("/snapshots/snapshot", { id: snapshot.id, server: one.server })} look=${(/** @type {ServerShown} */ one) => (one === chosen ? "row-chosen" : "")} /><//>
    ${chosen ? html`<h2 class="snapshot-of">${chosen.title || chosen.hostname}</h2><${Frozen} key=${chosen.server} state=${chosen} head=${snapshot} />` : html`<p class="soft">Select a server to see what it was doing.</p><${ActiveThen} head=${snapshot} />`}`;
}

const none = html`<span class="soft">–</span>`;
/** @type {import("../kit/table.js").Column<ServerShown>[]} */
const COLUMNS = [
  { head: "Server", kind: "main", cell: (one) => one.title || one.hostname },
  { head: "CPU", kind: "number", cell: (one) => (one.data ? percent(one.data.cpu.currentLoad) : none) },
  { head: "Memory", kind: "number", cell: (one) => (one.data ? html`${bytes(memory(one.data, "used"))} <span class="soft">of ${bytes(memory(one.data, "total"))}</span>` : none) },
  { head: "Load", kind: "number", cell: (one) => one.data?.load[0].toFixed(2) ?? none },
  { head: "Processes", kind: "number", cell: (one) => one.data?.processes.all ?? none },
  { head: "Connections", kind: "number", cell: (one) => one.data?.connections.all ?? none },
];

/** @param {{state: ServerShown, head: Head}} props */
function Frozen({ state, head }) {
  const { data, quick } = state;
  const second = quick.length > 0 && html`<${Card} title="The minute before"><${QuickPlots} quick=${quick} /><//>`;
  if (data === null) return html`<${Card}><${Empty} title="No full sample.">This server had sent none when the snapshot was taken.<//><//>${second}<${ActiveThen} head=${head} server=${state.server} />`;
  return html`<${Card}><${Meters} sample=${data} /><p class="hint sample-of">Sample of <${When} at=${data.date} as="exact" /></p><//>
    <${ActiveThen} head=${head} server=${state.server} />
    <${Processes} list=${data.processes.list} all=${data.processes.all} />
    ${second}
    <div class="columns"><div><${Mounts} sample=${data} /><${Users} sample=${data} /></div><div><${Interfaces} sample=${data} /><${ConnectionStates} sample=${data} /></div></div>
    <${Connections} sample=${data} />`;
}
