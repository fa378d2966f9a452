/** Arranges runs in rows: by event or by server, close ones together, overlapping ones below each other. */

import { subjectLink } from "../jobs/words.js";

/**
 * @typedef {import("../timeline.js").Run} Run
 * @typedef {import("../timeline.js").Planned} Planned
 * @typedef {import("../timeline.js").Frequent} Frequent
 * @typedef {{key: string, title: string, kind: import("../jobs/words.js").Kind | "", to: string, past: Run[], ahead: Planned[], frequent: Frequent[]}} Row
 * @typedef {{runs: Run[], start: number, end: number | null, verdict: string, lane: number}} Bar runs of the same verdict that are too close to tell apart
 * @typedef {{fires: Planned[], at: number}} Dot
 */

/**
 * @param {import("../timeline.js").Found} found @param {"event" | "server"} by @param {string} text words that must be in the title
 * @returns {{rows: Row[], past: Run[], ahead: Planned[], frequent: Frequent[]}}
 */
export function rowsOf(found, by, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (/** @type {{title: string, where?: string}} */ one) => words.every((word) => `${one.title} ${one.where ?? ""}`.toLowerCase().includes(word));
  const past = found.past.filter(fits);
  const ahead = found.ahead.filter(fits);
  const frequent = found.frequent.filter(fits);
  /** @type {Map<string, Row>} */
  const rows = new Map();
  const row = (/** @type {{kind: import("../jobs/words.js").Kind, name: string, title: string}} */ one, /** @type {string} */ where) => {
    const isServer = by === "server";
    const key = isServer ? where : `${one.kind} ${one.name}`;
    let made = rows.get(key);
    if (!made) {
      const to = isServer ? "" : subjectLink(one);
      made = { key, title: isServer ? where || "No server" : one.title, kind: isServer ? "" : one.kind, to, past: [], ahead: [], frequent: [] };
      rows.set(key, made);
    }
    return made;
  };
  // Servers of what will run are not known yet.
  for (const one of ahead) row(one, "Planned").ahead.push(one);
  for (const one of frequent) row(one, "Planned often").frequent.push(one);
  for (const one of past) row(one, one.where).past.push(one);
  const sorted = [...rows.values()].sort((a, b) => a.title.localeCompare(b.title, "en"));
  return { rows: sorted, past, ahead, frequent };
}

const MOST_LANES = 8;

/**
 * The bars of a row, each in the first lane that is free.
 * @param {Run[]} runs @param {number} now @param {number} least the length of the shortest bar that can be seen, in seconds
 * @returns {{bars: Bar[], lanes: number}}
 */
export function barsOf(runs, now, least) {
  /** @type {Bar[]} */
  const bars = [];
  /** @type {Map<string, Bar>} the last one of each verdict */
  const last = new Map();
  for (const run of [...runs].sort((a, b) => a.start - b.start)) {
    const end = Math.max(run.ended ?? now, run.start);
    const before = last.get(run.verdict);
    const isShort = end - run.start < least;
    if (before && isShort && before.end !== null && before.runs.every(isOver) && run.start - before.end < least && before.end - before.start < least * 400 && isOver(run) && isCluster(before, least)) {
      before.runs.push(run);
      before.end = end;
      continue;
    }
    const bar = { runs: [run], start: run.start, end: run.ended === null ? null : end, verdict: run.verdict, lane: 0 };
    bars.push(bar);
    last.set(run.verdict, bar);
  }
  return { bars, lanes: placed(bars, now, least) };
}

/** @param {Run} run */
const isOver = (run) => run.ended !== null;

/** Whether it has short runs only. @param {Bar} bar @param {number} least */
function isCluster(bar, least) {
  const first = bar.runs[0];
  return bar.runs.length > 1 || (first !== undefined && (first.ended ?? 0) - first.start < least);
}

/** @param {Bar[]} bars @param {number} now @param {number} least @returns {number} how many lanes there are */
function placed(bars, now, least) {
  /** @type {number[]} */
  const ends = [];
  for (const bar of bars) {
    const free = ends.findIndex((end) => end <= bar.start);
    bar.lane = free >= 0 ? free : Math.min(ends.length, MOST_LANES - 1);
    ends[bar.lane] = Math.max(ends[bar.lane] ?? 0, bar.end ?? now, bar.start + least);
  }
  return Math.max(1, ends.length);
}

/** Fires that are too close to tell apart are one dot. @param {Planned[]} fires @param {number} least seconds @returns {Dot[]} */
export function dotsOf(fires, least) {
  /** @type {Dot[]} */
  const dots = [];
  for (const fire of fires) {
    const before = dots.at(-1);
    if (before && fire.at - (before.fires.at(-1)?.at ?? 0) < least) before.fires.push(fire);
    else dots.push({ fires: [fire], at: fire.at });
  }
  return dots;
}
