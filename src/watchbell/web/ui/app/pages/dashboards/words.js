/** Dashboards as the pages show them: types, titles and links. */

import { url } from "../../api.js";

/**
 * @typedef {"plot" | "servers" | "checks" | "alerts" | "jobs" | "crawls" | "text"} PanelType
 * @typedef {"small" | "medium" | "large"} Height
 * @typedef {import("../monitors/words.js").Resolution} Resolution
 * @typedef {{type: PanelType, title?: string, width?: number, height?: Height, monitor?: string, servers?: string[], group?: string,
 *   span?: Resolution, count?: number, filter?: string, text?: string}} Panel
 * @typedef {{id: string, title: string, notes?: string, panels?: Panel[], username?: string, modified?: number, revision: number}} Dashboard
 * @typedef {import("../monitors/words.js").Monitor} Monitor
 */

export const COLUMNS = 6;

/** What a panel has where it says nothing else. */
export const BLANK = { width: 3, height: /** @type {Height} */ ("medium"), span: /** @type {Resolution} */ ("day"), count: 5 };

/** @type {Record<PanelType, {words: string, title: string}>} */
export const TYPES = {
  plot: { words: "Plot of a monitor", title: "Plot" },
  servers: { words: "Servers as tiles", title: "Servers" },
  checks: { words: "Failing checks", title: "Failing checks" },
  alerts: { words: "Active server alerts", title: "Server alerts" },
  jobs: { words: "Jobs that run or ended lately", title: "Jobs" },
  crawls: { words: "Crawls of the archive", title: "Crawls" },
  text: { words: "Text", title: "Text" },
};

/** @type {Record<Height, number>} pixels of the content */
export const HEIGHTS = { small: 130, medium: 240, large: 420 };

/** @type {Panel[]} */
export const FIRST_PANELS = [
  { type: "plot", monitor: "cpu_usage", width: 3, span: "day" },
  { type: "plot", monitor: "mem_free", width: 3, span: "day" },
  { type: "checks", width: 3, count: 5 },
  { type: "jobs", width: 3, count: 5 },
];

/** @param {string} id @param {Record<string, string>} more */
export const dashboardLink = (id, more = {}) => url("/dashboards/dashboard", { id, ...more });

/** @param {Panel} panel @param {Monitor[]} monitors */
export function titleOf(panel, monitors) {
  if (panel.title) return panel.title;
  if (panel.type === "plot") return monitors.find((one) => one.id === panel.monitor)?.title ?? panel.monitor ?? "";
  return TYPES[panel.type].title;
}

/** Where the content of a panel has a page of its own. @param {Panel} panel */
export function pageOf(panel) {
  const { group = "", filter = "" } = panel;
  if (panel.type === "plot") return url("/monitors", { id: panel.monitor ?? "", tab: "compare", span: panel.span ?? BLANK.span, group, server: panel.servers ?? [] });
  if (panel.type === "servers") return url("/fleet", { group });
  if (panel.type === "checks") return url("/checks", { state: ["critical", "warning", "unknown"], text: filter });
  if (panel.type === "alerts") return url("/server-alerts", { state: "active", group });
  if (panel.type === "jobs") return filter ? url("/events/event", { id: filter }) : "/jobs";
  return panel.type === "crawls" ? "/archive" : "";
}
