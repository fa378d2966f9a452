/** Instances that run cron jobs. */

import { html } from "htm/preact";
import { post, useFetched } from "../../api.js";
import { may } from "../../session.js";
import { confirm } from "../../kit/dialog.js";
import { Button } from "../../kit/form.js";
import { Card, Empty, Fetched } from "../../kit/layout.js";
import { State } from "../../kit/state.js";
import { Table } from "../../kit/table.js";
import { Since, When } from "../../kit/time.js";
import { attempt, showToast } from "../../kit/toast.js";
import { Command } from "../../kit/copy.js";
import { counted } from "../../words.js";

/**
 * @typedef {{name: string, host: string, ip: string, pid: number, version: string, since: number, seen: number, jobs: number,
 *   running: number, capacity: number, is_drained: boolean, is_silent: boolean, tags: string[]}} Instance
 */

export function Fleet() {
  const fetched = useFetched("/cron/instances", { every: 5 });
  const drain = (/** @type {Instance} */ one) =>
    confirm({
      title: `Drain ${one.host}?`,
      words: "Its instances start no new runs; current runs continue and other instances take over. This lasts until you resume all instances.",
      yes: "Drain",
      async act() {
        await post("/cron/instances/drain", { hosts: [one.host] });
        showToast(`${one.host} drained.`);
        fetched.reload();
      },
    });
  const reload = () => attempt(() => post("/cron/instances/reload"), "All instances resumed and reloaded their jobs.");
  /** @type {import("../../kit/table.js").Column<Instance>[]} */
  const columns = [
    { head: "Instance", kind: "main", cell: (one) => html`${one.name}<div class="soft">${one.host}, process ${one.pid}, ${one.version}${one.tags.length > 0 && `; tags: ${one.tags.join(", ")}`}</div>` },
    { head: "State", cell: (one) => html`<${State} state=${one.is_silent ? "unknown" : one.is_drained ? "paused" : "ok"} word=${one.is_silent ? "not responding" : one.is_drained ? "drained" : "active"} />` },
    { head: "Runs", cell: (one) => html`<meter min="0" max=${one.capacity} value=${one.running} aria-hidden="true"></meter> ${one.running} of ${one.capacity}` },
    { head: "Jobs", kind: "number", cell: (one) => one.jobs.toLocaleString("en") },
    { head: "Uptime", cell: (one) => html`<${Since} since=${one.since} />` },
    { head: "Last seen", cell: (one) => html`<${When} at=${one.seen} />` },
    ...(may("admin") ? [{ head: "", kind: /** @type {const} */ ("actions"), cell: (/** @type {Instance} */ one) => !one.is_drained && html`<${Button} small onClick=${() => drain(one)}>Drain<//>` }] : []),
  ];
  return html`<${Fetched} of=${fetched}>${(/** @type {{instances: Instance[], pending: number}} */ { instances, pending }) => html`
    ${pending > 0 && html`<div class="notice notice-warn" role="status">${counted(pending, "run")} waiting for a free slot.</div>`}
    <${Card} flush title="Instances" actions=${may("admin") && instances.some((one) => one.is_drained) && html`<${Button} onClick=${reload}>Resume all<//>`}>
      ${instances.length === 0
        ? html`<${Empty} title="No instances are running." action=${html`<${Command} text="watchbell run cron" />`}>Jobs don't run until you start one.<//>`
        : html`<${Table} columns=${columns} rows=${instances} id=${(/** @type {Instance} */ one) => one.name} label="Cron instances" />`}
    <//>`}<//>`;
}
