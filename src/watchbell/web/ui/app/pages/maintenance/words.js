/** Labels for maintenance windows. */

import { html } from "htm/preact";
import { State } from "../../kit/state.js";
import { counted } from "../../words.js";

/**
 * @typedef {{id: string, kind: "scheduled" | "unscheduled", start: number, end: number, duration: number, summary: string,
 *   when: "past" | "current" | "future", count: number, checks: string[]}} Window windows of many checks that are alike
 */

/** The checks in few words. @param {Window} window */
export function who(window) {
  return window.count === 1 ? (window.checks[0] ?? "") : counted(window.count, "check");
}

/** What stands on it. @param {Window} window */
export const title = (window) => window.summary || who(window);

/** @param {Window} window */
export const kindWord = (window) => (window.kind === "scheduled" ? "scheduled" : "acknowledged");

/** Whether it is over, as its class says. @param {Window} window */
export const lookOf = (window) => `cal-${window.kind} cal-${window.when === "past" ? "over" : window.when}`;

/** @param {{window: Window}} props */
export function Kind({ window }) {
  return html`<${State} state=${window.kind === "scheduled" ? "maintenance" : "acknowledged"} word=${kindWord(window)} />`;
}

/** Whether it has no real end, like the maintenance that new checks start with. @param {Window} window */
export const isEndless = (window) => window.duration >= 20 * 365 * 86_400;
