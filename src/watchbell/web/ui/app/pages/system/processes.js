/** Processes with their roles, cron instances and gateways. */

import { html } from "htm/preact";
import { Card, Empty } from "../../kit/layout.js";
import { Chip, State } from "../../kit/state.js";
import { Table } from "../../kit/table.js";
import { Since, When } from "../../kit/time.js";

/**
 * @typedef {import("../system.js").Process} Process
 * @typedef {import("../system.js").Role} Role
 * @typedef {import("../system.js").Instance} Instance
 */

/** @type {Record<string, string>} */
const STATES = { running: "ok", starting: "running", waiting: "warning", failed: "critical", stopped: "disabled" };

/** @type {import("../../kit/table.js").Column<Role>[]} */
const ROLES = [
  { head: "Role", kind: "main", cell: (one) => html`<strong>${one.name}</strong>` },
  { head: "State", cell: (one) => html`<${State} state=${STATES[one.state] ?? "unknown"} word=${one.state} />` },
  { head: "Details", cell: (one) => html`<span>${one.words}</span>` },
  { head: "Failures", kind: "number", hide: "phone", cell: (one) => (one.failures ? html`<span class="bad">${one.failures}</span>` : html`<span class="soft">0</span>`) },
  { head: "Duration", cell: (one) => (one.since ? html`<${Since} since=${one.since} />` : html`<span class="soft">–</span>`) },
];

/** @param {{processes: Process[], version: string}} props */
export function Processes({ processes, version }) {
  if (processes.length === 0) {
    return html`<${Card} title="Processes"><${Empty} title="No processes yet."><p>Each process reports every five seconds.</p><//><//>`;
  }
  return processes.map(
    (one) => html`<${Card} key=${one.name} flush title=${html`<span class="process">${one.host} <span class="soft">process ${one.pid}</span>
        ${one.version !== version && html`<${Chip} tone="warn">version ${one.version}<//>`}</span>`}
      actions=${one.is_alive ? html`<${State} state="ok" word="running" />` : html`<${State} state="critical" word="not responding" /> <span class="soft">last seen <${When} at=${one.seen} /></span>`}>
      <div class="roles"><${Table} columns=${ROLES} rows=${one.roles} id=${(/** @type {Role} */ role) => role.name} label=${`Roles of ${one.host}, process ${one.pid}`} /></div>
    <//>`,
  );
}

/** @type {import("../../kit/table.js").Column<Instance>[]} */
const INSTANCES = [
  { head: "Name", kind: "main", cell: (one) => html`<span class="plain">${one.name}</span>` },
  { head: "Role", kind: "tight", cell: (one) => one.role },
  { head: "Details", cell: (one) => one.words },
  { head: "Last seen", kind: "tight", cell: (one) => html`<${When} at=${one.seen} />` },
];

/** @param {{instances: Instance[]}} props */
export function Instances({ instances }) {
  if (instances.length === 0) return null;
  return html`<${Card} flush title="Cron instances and gateways">
    <${Table} columns=${INSTANCES} rows=${instances} id=${(/** @type {Instance} */ one) => `${one.role} ${one.name}`} label="Cron instances and gateways" />
  <//>`;
}
