/** Servers as the pages show them: types, names and states. */

import { html } from "htm/preact";
import { url } from "../../api.js";
import { State } from "../../kit/state.js";

/**
 * @typedef {{id: string, hostname: string, title: string, icon: string, state: "online" | "offline" | "disabled", is_online: boolean,
 *   enabled: boolean, groups: string[], auto_group: boolean, ip: string, jobs: number, slots: number, alerts: number, seen: number | null,
 *   since: number | null, cpu: number | null, load: number | null, memory: number | null, memory_total: number | null,
 *   os: string, agent: string}} Row
 * @typedef {{online: number, offline: number, disabled: number, jobs: number, slots: number, alerting: number}} Counts
 * @typedef {{items: Row[], next: string | null, count: number, counts: Counts, moment: string}} ServersPage
 * @typedef {{at: number, cpu: number, load: [number, number, number], memory: number, memory_total: number, disk: number,
 *   disk_total: number, network_in: number, network_out: number, jobs: number}} Sample
 * @typedef {{arch?: string, platform?: string, release?: string, os?: Record<string, string>, cpu?: Record<string, any>,
 *   memory?: Record<string, any>, virt?: string, booted?: number, agent?: string, python?: string, slots?: number}} Info
 * @typedef {{row: Row, autoGroup: boolean, userData: Record<string, any>, maxJobs: number | null, notes: string, info: Info,
 *   sample: Sample | null, created: number, modified: number, revision: number}} Shown
 * @typedef {{id: string, server: string, hostname: string, groups: string[], created: number, created_by: string,
 *   expires: number | null, last_used: number | null}} Token
 * @typedef {{token: Token, secret: string, command: string}} CreatedToken
 * @typedef {{id: string, title: string, icon: string, notes: string, hostname_match: string, max_jobs_per_server: number | null,
 *   sort_order: number, servers: number, online: number, username: string, created: number, modified: number, revision: number}} Group
 */

/** @type {Record<Row["state"], [state: string, word: string]>} */
const STATES = { online: ["ok", "up"], offline: ["critical", "down"], disabled: ["disabled", "disabled"] };

/** The id of the group of servers that match no other. */
export const MAIN = "main";

/** @param {{row: Row}} props */
export function ServerState({ row }) {
  const [state, word] = STATES[row.state];
  return html`<${State} state=${state} word=${word} />`;
}

/** @param {Row} row */
export const nameOf = (row) => row.title || row.hostname;

/** @param {string} id */
export const serverLink = (id) => url("/servers/server", { id });

/** @param {Group[] | undefined} groups @param {string} id */
export const groupTitle = (groups, id) => groups?.find((one) => one.id === id)?.title ?? (id === MAIN ? "Main" : id);

/** As `12.5 %`. @param {number} value */
export const percent = (value) => `${value < 10 ? Number(value.toFixed(1)) : Math.round(value)} %`;
