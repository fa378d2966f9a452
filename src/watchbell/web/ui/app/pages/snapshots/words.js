/** Snapshots as the pages show them: types, names and sources. */

import { html } from "htm/preact";
import { url } from "../../api.js";

/**
 * @typedef {import("../machine/sample.js").Sample} Sample
 * @typedef {import("../machine/sample.js").Quick} Quick
 * @typedef {{id: string, type: "server" | "group", source: "alert" | "watch" | "user" | "job", date: number, username?: string, cause?: string,
 *   server?: string, hostname?: string, ip?: string, groups?: string[], jobs?: string[], alerts?: string[], servers?: number}} Head
 *   properties without a value are left out
 * @typedef {{server: string, hostname: string, title: string, ip: string, groups: string[], data: Sample | null, quick: Quick[]}} ServerShown
 * @typedef {{snapshot: Head, states: ServerShown[], group_title: string}} Snapshot
 */

/** @param {string} id */
export const snapshotLink = (id) => url("/snapshots/snapshot", { id });

/** @type {Record<Head["source"], string>} */
export const SOURCES = { user: "a person", watch: "a watch", alert: "a server alert", job: "a job" };

/** What it shows. @param {Head} head @param {import("../servers/words.js").Group[] | undefined} groups */
export function subjectOf(head, groups) {
  if (head.type === "server") return head.hostname ?? head.server ?? "";
  const id = head.groups?.[0] ?? "";
  return `Group ${groups?.find((one) => one.id === id)?.title ?? id}`;
}

/** Who or what took it. @param {{head: Head}} props */
export function Taken({ head }) {
  const { source, cause = "", username = "" } = head;
  if (source === "alert" && cause) return html`<a href=${url("/server-alerts", { id: cause })}>a server alert</a>`;
  if (source === "job" && cause) return html`<a href=${url("/jobs/job", { id: cause })}>a job</a>`;
  if (source === "watch") return html`<span>a watch${username && ` of ${username}`}</span>`;
  return html`<span>${username || SOURCES[source]}</span>`;
}
