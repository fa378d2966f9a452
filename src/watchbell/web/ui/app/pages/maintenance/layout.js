/** Places windows in the calendar: side by side where they overlap, up to a limit. */

import { DAY, SLOT } from "./days.js";

/** @typedef {import("./words.js").Window} Window */
/**
 * @typedef {{window: Window, start: number, end: number, lane: number, lanes: number}} Block
 * @typedef {{windows: Window[], start: number, end: number, lane: number, lanes: number}} Rest
 *   windows for which there is no room of their own
 */

/** Whether it is drawn as a bar over days. @param {Window} window */
export const isLong = (window) => window.duration >= DAY;

/**
 * Blocks of a stretch of time, as a day is one.
 * @param {Window[]} windows
 * @param {number} from
 * @param {number} to
 * @param {number} most lanes beside each other
 * @returns {{blocks: Block[], rests: Rest[]}}
 */
export function placed(windows, from, to, most) {
  const within = windows
    .filter((one) => one.start < to && one.end > from)
    .map((window) => {
      const start = Math.max(window.start, from);
      // What is short is drawn a little longer, or it could not be seen.
      return { window, start, end: Math.min(Math.max(window.end, start + SLOT), to), lane: 0, lanes: 1 };
    })
    .sort((a, b) => a.start - b.start || b.end - a.end || b.window.count - a.window.count);
  /** @type {Block[]} */
  const blocks = [];
  /** @type {Rest[]} */
  const rests = [];
  for (const cluster of clusters(within)) {
    const lanes = laned(cluster);
    if (lanes <= most) {
      for (const one of cluster) blocks.push({ ...one, lanes });
      continue;
    }
    const hidden = cluster.filter((one) => one.lane >= most - 1);
    for (const one of cluster) if (one.lane < most - 1) blocks.push({ ...one, lanes: most });
    for (const group of clusters(hidden)) {
      rests.push({
        windows: group.map((one) => one.window),
        start: Math.min(...group.map((one) => one.start)),
        end: Math.max(...group.map((one) => one.end)),
        lane: most - 1,
        lanes: most,
      });
    }
  }
  return { blocks, rests };
}

/**
 * Those that overlap, one with the next, belong together.
 * @param {Block[]} blocks by their start
 */
function clusters(blocks) {
  /** @type {Block[][]} */
  const found = [];
  let end = -Infinity;
  for (const block of blocks) {
    if (block.start >= end) found.push([]);
    found.at(-1)?.push(block);
    end = Math.max(end, block.end);
  }
  return found;
}

/** Gives each the first lane that is free; how many there are. @param {Block[]} cluster */
function laned(cluster) {
  /** @type {number[]} */
  const ends = [];
  for (const block of cluster) {
    const free = ends.findIndex((end) => end <= block.start);
    block.lane = free < 0 ? ends.length : free;
    ends[block.lane] = block.end;
  }
  return ends.length;
}

/**
 * Bars over days: of each the first and the last column that it touches.
 * @param {Window[]} windows
 * @param {number[]} edges beginnings of the days, and the end of the last one
 * @param {number} most rows
 * @returns {{bars: {window: Window, first: number, last: number, row: number}[], hidden: Window[]}}
 */
export function barred(windows, edges, most) {
  const [from, to] = [edges[0] ?? 0, edges.at(-1) ?? 0];
  /** @type {number[]} */
  const rows = [];
  const bars = [];
  const hidden = [];
  for (const window of windows) {
    if (window.start >= to || window.end <= from) continue;
    const first = Math.max(0, edges.findLastIndex((edge) => edge <= window.start));
    const after = edges.findIndex((edge) => edge >= window.end);
    const last = (after < 0 ? edges.length - 1 : after) - 1;
    let row = rows.findIndex((end) => end < first);
    if (row < 0) row = rows.length;
    if (row >= most) {
      hidden.push(window);
      continue;
    }
    rows[row] = last;
    bars.push({ window, first, last, row });
  }
  return { bars, hidden };
}
