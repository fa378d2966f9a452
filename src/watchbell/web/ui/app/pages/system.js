/** The system: processes, queues and the store. */

import { html } from "htm/preact";
import { useFetched } from "../api.js";
import { useQuery } from "../location.js";
import { may } from "../session.js";
import { counted } from "../words.js";
import { Card, Fetched, Page, Tabs } from "../kit/layout.js";
import { State } from "../kit/state.js";
import { Instances, Processes } from "./system/processes.js";
import { Queues } from "./system/queues.js";
import { Families, Servers } from "./system/store.js";

/**
 * @typedef {{level: "ok" | "warning" | "error", subject: string, text: string, advice: string}} Finding
 * @typedef {{name: string, length: number, takers: string[]}} Queue
 * @typedef {{name: string, role: string, seen: number, words: string}} Instance
 * @typedef {{name: string, state: string, words: string, since: number, failures: number}} Role
 * @typedef {{name: string, host: string, pid: number, version: string, roles: Role[], seen: number, is_alive: boolean}} Process
 * @typedef {{name: string, memory: number, memory_peak: number, memory_limit: number, clients: number, commands: number, uptime: number}} Server
 * @typedef {{version: string, store: Finding[], servers: Server[], queues: Queue[], instances: Instance[], processes: Process[]}} System
 */

const STATES = { ok: "ok", warning: "warning", error: "critical" };

/** @param {{findings: Finding[]}} props */
function Health({ findings }) {
  return html`<${Card} title="Store health"><ul class="findings">
    ${findings.map((one) => html`<li><${State} state=${STATES[one.level]} word=${one.level} />
      <div>${one.text}${one.advice && html`<div class="soft">${one.advice}</div>`}</div></li>`)}
  </ul><//>`;
}

/** @param {System} now */
function summary({ version, processes }) {
  const gone = processes.filter((one) => !one.is_alive).length;
  const failed = processes.filter((one) => one.is_alive).flatMap((one) => one.roles.filter((role) => role.state === "failed")).length;
  const words = [`Watchbell ${version}`, counted(processes.length, "process", "processes")];
  return html`${words.join(" · ")}${gone > 0 && html` · <span class="bad">${gone} not responding</span>`}${failed > 0 &&
  html` · <span class="bad">${counted(failed, "failed role")}</span>`}`;
}

export default function SystemPage() {
  const [query] = useQuery();
  const system = useFetched("/system", { every: 3 });
  const isMemory = query.get("tab") === "memory" && may("admin");
  return html`<${Page} title="System" lead=${system.value && summary(system.value)}>
    ${may("admin") && html`<${Tabs} tabs=${[["now", "Status"], ["memory", "Memory by key family"]]} />`}
    ${isMemory
      ? html`<${Families} />`
      : html`<${Fetched} of=${system} lines=${8}>${(/** @type {System} */ now) => html`
          <${Processes} processes=${now.processes} version=${now.version} />
          <div class="columns">
            <${Queues} queues=${now.queues} />
            <div><${Health} findings=${now.store} /><${Servers} servers=${now.servers} /></div>
          </div>
          <${Instances} instances=${now.instances} />`}<//>`}
  <//>`;
}
