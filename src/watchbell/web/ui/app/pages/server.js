/** One server: what it uses, its processes, network, alerts, jobs and settings. */

import { html } from "htm/preact";
import { patch, remove, useFetched } from "../api.js";
import { go, useQuery } from "../location.js";
import { may } from "../session.js";
import { confirm } from "../kit/dialog.js";
import { Button } from "../kit/form.js";
import { Card, Empty, Fetched, Page, Tabs } from "../kit/layout.js";
import { Since, When } from "../kit/time.js";
import { attempt, showToast, showToastWithUndo } from "../kit/toast.js";
import { useLive } from "../live.js";
import { Connections, ConnectionStates, Interfaces } from "./machine/connections.js";
import { Meters } from "./machine/meters.js";
import { Mounts, Users } from "./machine/mounts.js";
import { Processes } from "./machine/processes.js";
import { Access } from "./server/access.js";
import { ActiveAlerts, Alerts } from "./server/alerts.js";
import { Gauges } from "./server/gauges.js";
import { Jobs } from "./server/jobs.js";
import { Machine } from "./server/machine.js";
import { Plots } from "./server/plots.js";
import { Settings } from "./server/settings.js";
import { nameOf, ServerState } from "./servers/words.js";
import { TakeSnapshot, WatchButton } from "./snapshots/acts.js";

/**
 * @typedef {import("./servers/words.js").Shown} Shown
 * @typedef {import("./machine/sample.js").Sample} Sample
 */

const above = html`<a href="/servers">Servers</a>`;
/** Seconds between two readings of the gauges. */
const EVERY = 5;
/** Seconds between two readings of the full sample, of which there is one a minute. */
const MACHINE_EVERY = 20;
/** @type {[string, string][]} */
const TABS = [["overview", "Overview"], ["processes", "Processes"], ["network", "Network"], ["alerts", "Alerts"], ["jobs", "Jobs"], ["settings", "Settings"]];

export default function Server() {
  const [query] = useQuery();
  const id = query.get("id") ?? "";
  if (!id) return html`<${Page} title="Server" above=${above}><${Empty} title="No server selected." action=${html`<${Button} href="/servers">Show all servers<//>`} /><//>`;
  return html`<${Known} key=${id} id=${id} />`;
}

/** @param {{id: string}} props */
function Known({ id }) {
  const path = `/servers/${encodeURIComponent(id)}`;
  const fetched = useFetched(path, { every: EVERY });
  useLive("/live?topics=servers", { servers: fetched.reload, reset: fetched.reload });
  const groups = useFetched("/groups", { every: 60 }).value?.items;
  const shown = /** @type {Shown | null} */ (fetched.value);
  if (!shown) return html`<${Page} title="Server" above=${above}><${Fetched} of=${fetched} lines=${8}>${() => null}<//><//>`;
  return html`<${Body} shown=${shown} path=${path} groups=${groups} reload=${fetched.reload} problem=${fetched.problem} />`;
}

/** @param {{shown: Shown, path: string, groups: import("./servers/words.js").Group[] | undefined, reload: () => void, problem: import("../api.js").Problem | null}} props */
function Body({ shown, path, groups, reload, problem }) {
  const [query] = useQuery();
  const { row } = shown;
  return html`<${Page} wide title=${nameOf(row)} above=${above} lead=${html`<${Lead} row=${row} />`} actions=${html`<${Acts} shown=${shown} path=${path} reload=${reload} />`}>
    ${problem?.status === 404 && html`<div class="notice notice-warn notice-wide" role="status"><span>This server was removed.</span><${Button} href="/servers">Show all servers<//></div>`}
    ${!row.enabled && html`<div class="notice notice-wide" role="status">This server is disabled: it gets no new jobs.${row.jobs > 0 && " Jobs that it runs continue."}</div>`}
    <${Tabs} tabs=${TABS} />
    <${Tab} tab=${query.get("tab") ?? "overview"} shown=${shown} path=${path} groups=${groups} reload=${reload} />
  <//>`;
}

/** @param {{tab: string, shown: Shown, path: string, groups: import("./servers/words.js").Group[] | undefined, reload: () => void}} props */
function Tab({ tab, shown, path, groups, reload }) {
  const { row } = shown;
  if (tab === "settings") {
    return html`<div class="server-columns"><${Settings} shown=${shown} path=${path} groups=${groups} reload=${reload} />
      <div>${may("update_servers") && html`<${Access} shown=${shown} path=${path} /><${Removal} shown=${shown} path=${path} />`}</div></div>`;
  }
  if (tab === "jobs") return html`<${Jobs} server=${row.id} />`;
  if (tab === "alerts") return html`<${Alerts} server=${row.id} />`;
  if (tab === "processes") {
    return html`<${WithSample} path=${path}>${(/** @type {Sample} */ sample) => html`<${Card}><${Meters} sample=${sample} /><//><${Processes} list=${sample.processes.list} all=${sample.processes.all} />`}<//>`;
  }
  if (tab === "network") return html`<${WithSample} path=${path}>${(/** @type {Sample} */ sample) => html`<div class="columns"><${Interfaces} sample=${sample} /><${ConnectionStates} sample=${sample} /></div><${Connections} sample=${sample} />`}<//>`;
  return html`<${ActiveAlerts} server=${row.id} /><${Gauges} shown=${shown} />
    <${Plots} path=${path} row=${row} />
    <div class="columns"><div><${WithSample} path=${path} isQuiet>${(/** @type {Sample} */ sample) => html`<${Mounts} sample=${sample} /><${ConnectionStates} sample=${sample} /><${Users} sample=${sample} />`}<//></div>
      <div><${Jobs} server=${row.id} isShort /><${Machine} shown=${shown} groups=${groups} /></div></div>`;
}

/**
 * The last full sample of a server.
 * @param {{path: string, isQuiet?: boolean, children?: any}} props `isQuiet`: nothing where there is none; `children`: a function of the sample
 */
function WithSample({ path, isQuiet = false, children }) {
  const fetched = useFetched(`${path}/machine`, { every: MACHINE_EVERY });
  return html`<${Fetched} of=${fetched} lines=${6}>${(/** @type {{data: Sample | null}} */ { data }) => {
    if (data === null) return isQuiet ? null : html`<${Card}><${Empty} title="No sample yet.">The agent sends a full sample once a minute.<//><//>`;
    return html`${!isQuiet && html`<p class="soft sample-at">As of <${When} at=${data.date} />; there is a sample each minute.</p>`}${children(data)}`;
  }}<//>`;
}

/** @param {{row: Shown["row"]}} props */
function Lead({ row }) {
  return html`<span class="server-lead"><${ServerState} row=${row} />
    <span>${row.is_online ? html`connected for <${Since} since=${row.since} />` : row.seen === null ? "never connected" : html`last seen <${When} at=${row.seen} />`}</span>
    ${row.title && html`<span>${row.hostname}</span>`}${row.ip && html`<span>${row.ip}</span>`}</span>`;
}

/** @param {{shown: Shown, path: string, reload: () => void}} props */
function Acts({ shown, path, reload }) {
  const { row } = shown;
  const target = { type: "server", id: row.id, name: nameOf(row) };
  return html`<${TakeSnapshot} target=${target} disabled=${row.seen === null} /><${WatchButton} target=${target} />
    ${may("update_servers") && html`<${Switch} shown=${shown} path=${path} reload=${reload} />`}`;
}

/** @param {{shown: Shown, path: string, reload: () => void}} props */
function Switch({ shown, path, reload }) {
  const { row } = shown;
  const set = async (/** @type {boolean} */ enabled) => {
    const words = (/** @type {boolean} */ isOn) => `${nameOf(row)} ${isOn ? "enabled" : "disabled"}.`;
    const change = (/** @type {boolean} */ to) => patch(path, { enabled: to });
    if (await attempt(() => change(enabled))) showToastWithUndo(words(enabled), () => change(!enabled), words(!enabled), reload);
    reload();
  };
  return row.enabled ? html`<${Button} onClick=${() => set(false)}>Disable<//>` : html`<${Button} kind="main" onClick=${() => set(true)}>Enable<//>`;
}

/** @param {{shown: Shown, path: string}} props */
function Removal({ shown, path }) {
  const name = nameOf(shown.row);
  const ask = () =>
    confirm({
      title: `Remove ${name}?`,
      words: html`<p>Its agent is disconnected, and its token is revoked. Its settings and measurements are deleted; the history of its jobs stays.</p>
        <p>Events that run on this server alone can't run any more. To come back, the machine has to join again.</p>`,
      yes: "Remove",
      async act() {
        await remove(path);
        showToast(`${name} removed.`);
        go("/servers");
      },
    });
  return html`<${Card} title="Remove server">
    <div class="stack"><p class="soft">${shown.row.jobs > 0 ? "A server that runs jobs can't be removed. Disable it and wait for its jobs, or abort them." : "Use this when the machine is gone for good. To give it no more jobs for now, disable it."}</p>
    <div class="actions"><${Button} kind="danger" disabled=${shown.row.jobs > 0} onClick=${ask}>Remove server<//></div></div>
  <//>`;
}
