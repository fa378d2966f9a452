/** The store: servers, and memory by key family. */

import { html } from "htm/preact";
import { useFetched } from "../../api.js";
import { useQuery } from "../../location.js";
import { lasting } from "../../times.js";
import { Choice, Search } from "../../kit/form.js";
import { Card, Empty, Facts, Fetched } from "../../kit/layout.js";
import { Table } from "../../kit/table.js";

/**
 * @typedef {import("../system.js").Server} Server
 * @typedef {{document: string, name: string, pattern: string, type: string, keys: number, bytes: number, expiring: number}} Family
 */

/** @type {[unit: string, size: number][]} */
const UNITS = [
  ["GiB", 1 << 30],
  ["MiB", 1 << 20],
  ["KiB", 1 << 10],
];

/** As `12.4 MiB`. @param {number} bytes */
function size(bytes) {
  const [unit, each] = UNITS.find(([, least]) => bytes >= least) ?? ["B", 1];
  const count = bytes / each;
  return `${count >= 100 || each === 1 ? Math.round(count) : count.toFixed(1)} ${unit}`;
}

/** @param {{part: number, label: string}} props `part`: of one */
function Bar({ part, label }) {
  const width = `${Math.max(0.5, Math.min(100, part * 100)).toFixed(1)}%`;
  return html`<div class="weight" role="img" aria-label=${label}><div style=${{ width }}></div></div>`;
}

/** @param {{servers: Server[]}} props */
export function Servers({ servers }) {
  return servers.map(
    (one) => html`<${Card} key=${one.name} title=${html`Store <span class="soft">${one.name}</span>`}>
      <${Facts} rows=${[
        ["Memory", html`${size(one.memory)} <span class="soft">peak ${size(one.memory_peak)}</span>`],
        one.memory_limit > 0 && ["Limit", html`${size(one.memory_limit)}<${Bar} part=${one.memory / one.memory_limit} label=${`${Math.round((100 * one.memory) / one.memory_limit)} % used`} />`],
        ["Commands", html`${one.commands.toLocaleString("en")} per second`],
        ["Clients", one.clients.toLocaleString("en")],
        ["Uptime", lasting(one.uptime, 2)],
      ]} />
    <//>`,
  );
}

/** @param {{family: Family, most: number}} props */
function Weight({ family, most }) {
  return html`<div class="family-weight"><span>${size(family.bytes)}</span><${Bar} part=${most ? family.bytes / most : 0} label=${`${size(family.bytes)}`} /></div>`;
}

/** @param {number} most @returns {import("../../kit/table.js").Column<Family>[]} */
const columns = (most) => [
  { head: "Key family", kind: "main", cell: (one) => html`<div><span class="mono">${one.pattern}</span><div class="soft plain">${one.name}, ${one.document}</div></div>` },
  { head: "Type", kind: "tight", hide: "phone", cell: (one) => html`<span class="soft">${one.type}</span>` },
  { head: "Keys", kind: "number", cell: (one) => html`<span title=${`${one.expiring.toLocaleString("en")} with expiry`}>${one.keys.toLocaleString("en")}</span>` },
  { head: "Memory", cell: (one) => html`<${Weight} family=${one} most=${most} />` },
];

export function Families() {
  const [query, setQuery] = useQuery();
  const all = useFetched("/system/families", { every: 60 });
  const text = (query.get("text") ?? "").toLowerCase();
  const isAll = query.get("which") === "all";
  return html`<div class="bar-of">
      <${Search} value=${query.get("text") ?? ""} onSearch=${(/** @type {string} */ value) => setQuery({ text: value })} />
      <${Choice} label="Filter by use" value=${isAll ? "all" : ""} options=${[["", "In use"], ["all", "All"]]} onChange=${(/** @type {string} */ which) => setQuery({ which })} />
    </div>
    <${Fetched} of=${all} lines=${8}>${(/** @type {Family[]} */ families) => {
      const found = families
        .filter((one) => (isAll || one.keys > 0) && `${one.pattern} ${one.name} ${one.document}`.toLowerCase().includes(text))
        .sort((one, other) => other.bytes - one.bytes || one.pattern.localeCompare(other.pattern));
      const sum = found.reduce((bytes, one) => bytes + one.bytes, 0);
      if (found.length === 0) return html`<${Card}><${Empty} title=${text ? "No key families match these filters." : "The store is empty."} /><//>`;
      return html`<${Card} flush title=${`${size(sum)} in ${found.reduce((keys, one) => keys + one.keys, 0).toLocaleString("en")} keys`} actions=${html`<span class="soft">updated every minute</span>`}>
        <${Table} columns=${columns(found[0]?.bytes ?? 0)} rows=${found} id=${(/** @type {Family} */ one) => one.pattern} label="Key families" /><//>`;
    }}<//>`;
}
