/** How the nodes of a run are doing, in a few words. No DOM. */

import { took } from "../../times.js";
import { counted } from "../../words.js";

/**
 * @typedef {import("./node_box.js").Badge} Badge
 * @typedef {{id: string, index: number, is_over: boolean, code: number | string, description: string, server: string, elapsed: number,
 *   retried: boolean, replay: boolean}} RunJob a job of a node; it has no id if it could not be launched
 * @typedef {"idle" | "running" | "waiting" | "held" | "succeeded" | "failed"} Condition
 * @typedef {{id: string, type: string, condition: Condition, active: number, count: number, failed: number, max: number, started: number, completed: number,
 *   reason: string, jobs: RunJob[]}} RunNode
 * @typedef {{id: string, source: string, dest: string, fired: number}} RunWire
 * @typedef {{start: string, is_over: boolean, suspended: string, nodes: RunNode[], wires: RunWire[]}} RunView
 */

/** @type {Record<Condition, [state: string, word: string]>} */
const CONDITIONS = {
  idle: ["none", "not run"],
  running: ["running", "running"],
  waiting: ["paused", "waiting"],
  held: ["paused", "held back"],
  succeeded: ["ok", "done"],
  failed: ["critical", "failed"],
};

/** A badge for each node. @param {RunView} run @param {number} now @returns {Map<string, Badge>} */
export function badgesOf(run, now) {
  // Actions that belong to jobs have no state: the pages of the jobs show what became of them.
  const isShown = (/** @type {RunNode} */ one) => !["note", "limit"].includes(one.type) && (one.type !== "action" || one.condition !== "idle");
  return new Map(run.nodes.filter(isShown).map((one) => [one.id, badgeOf(one, run, now)]));
}

/** @param {RunNode} node @param {RunView} run @param {number} now @returns {Badge} */
function badgeOf(node, run, now) {
  if (node.type === "trigger") return node.id === run.start ? { state: "ok", word: "started here" } : { state: "none", word: "not used" };
  const [state, word] = CONDITIONS[node.condition];
  if (node.condition === "idle") return { state, word: run.is_over ? word : "not run yet" };
  const isReused = node.condition === "succeeded" && node.jobs.length > 0 && node.jobs.every((one) => one.replay);
  const progress = node.condition === "running" && node.max > 1 ? { progress: node.count / node.max } : {};
  return { state, word: isReused ? "result of an earlier run" : word, words: wordsOf(node, now), ...progress };
}

/** Counts and duration. @param {RunNode} node @param {number} now */
function wordsOf({ type, started, completed, active, count, failed, max, jobs }, now) {
  const isMany = type !== "controller" && max > 1;
  const counts = isMany && (active > 0 ? `${count} of ${max}` : counted(max, "job"));
  const failures = isMany && failed > 0 && `${failed} failed`;
  const retries = jobs.filter((one) => one.retried).length;
  const until = active > 0 ? now : completed;
  const duration = started > 0 && until >= started && took(until - started);
  return [counts, failures, retries > 0 && counted(retries, "retry", "retries"), duration].filter(Boolean).join(" · ");
}

/** @param {RunView} run @returns {Set<string>} ids of wires */
export const firedIn = ({ wires }) => new Set(wires.filter((one) => one.fired > 0).map((one) => one.id));
