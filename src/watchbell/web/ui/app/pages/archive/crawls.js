/** The crawls that match a filter, kept current. */

import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { url, useFetched } from "../../api.js";
import { LiveTable } from "../../kit/live_table.js";
import { useLive } from "../../live.js";
import { isOver } from "./words.js";

/** @typedef {import("./words.js").Crawl} Crawl */
/** @typedef {import("./words.js").Counts} Counts */

/** How many crawls a page shows at most. */
const MOST = 500;

/** @type {Record<string, number>} */
const RANKS = { running: 0, paused: 1, queued: 2 };
const byId = (/** @type {Crawl} */ a, /** @type {Crawl} */ b) => (a.id < b.id ? -1 : Number(a.id > b.id));
const rank = (/** @type {Crawl} */ row) => RANKS[row.state] ?? 3;
const place = (/** @type {Crawl} */ row) => (isOver(row.state) ? -(row.finished_at ?? 0) : ((row.state === "running" ? row.started_at : row.queued_at) ?? 0));

/** @type {Record<string, (a: Crawl, b: Crawl) => number>} */
const ORDERS = {
  state: (a, b) => rank(a) - rank(b) || place(a) - place(b) || byId(a, b),
  url: (a, b) => a.url.localeCompare(b.url, "en") || byId(a, b),
  rate: (a, b) => (b.rate ?? 0) - (a.rate ?? 0) || byId(a, b),
  size: (a, b) => b.bytes_downloaded - a.bytes_downloaded || byId(a, b),
  errors: (a, b) => b.error_count - a.error_count || byId(a, b),
  left: (a, b) => b.urls_left - a.urls_left || byId(a, b),
};

/** @type {Record<string, (row: Crawl) => boolean>} */
const GROUPS = {
  "": () => true,
  running: (row) => row.state === "running",
  paused: (row) => row.state === "paused",
  queued: (row) => row.state === "queued",
  ended: (row) => isOver(row.state),
};

/** @param {string} state @param {string} sort @returns {import("../../kit/live_table.js").Plan<Crawl>} */
function plan(state, sort) {
  return {
    matches: () => true,
    isShown: GROUPS[state] ?? (() => true),
    group: (row) => row.state,
    order: ORDERS[sort] ?? /** @type {any} */ (ORDERS.state),
    isVolatile: sort !== "state" && sort !== "url",
  };
}

/**
 * @param {{text: string, state: string, sort: string}} wanted
 * @returns {{rows: Crawl[] | null, counts: Counts | null, count: number, isComplete: boolean,
 *   problem: import("../../api.js").Problem | null, reload: () => void}} `rows`: null until they are loaded
 */
export function useCrawls({ text, state, sort }) {
  const { value, problem, reload } = useFetched(url("/archive/crawls", { text, limit: MOST, ...(sort === "state" ? {} : { sort }) }));
  const page = /** @type {import("./words.js").CrawlsPage | null} */ (value);
  const counts = useRef(page?.counts ?? null);
  const [, draw] = useState(0);
  const last = useRef(/** @type {LiveTable<Crawl> | null} */ (null));
  const table = useMemo(() => {
    if (!page) return last.current;
    counts.current = page.counts;
    return (last.current = new LiveTable(page.items, plan(state, sort)));
  }, [page]);
  useMemo(() => table?.show(plan(state, sort)), [table, state, sort]);
  const change = useCallback((/** @type {{rows: Crawl[], gone: string[], refreshed: Crawl[], counts: Counts}} */ sent) => {
    counts.current = sent.counts;
    last.current?.update([...sent.rows, ...sent.refreshed], sent.gone);
    draw((many) => many + 1);
  }, []);
  useLive(page && url("/archive/crawls/live", { text, resume: page.moment }), { changed: change, reset: reload });
  useEffect(() => () => void (last.current = null), []);
  return {
    rows: table?.shown ?? null,
    counts: counts.current,
    count: page?.count ?? 0,
    isComplete: page === null || page.next === null,
    problem: table ? null : problem,
    reload,
  };
}

/**
 * One crawl, kept current.
 * @param {string} ident
 * @param {Crawl} first as it was loaded
 * @param {() => void} changed called when more than its figures has changed
 */
export function useCrawl(ident, first, changed) {
  const [row, setRow] = useState(first);
  useEffect(() => setRow((old) => ({ ...first, rate: first.rate ?? old.rate, byte_rate: first.byte_rate ?? old.byte_rate })), [first]);
  useLive(url("/archive/crawls/live", { text: ident }), {
    changed: (/** @type {{rows: Crawl[], gone: string[], refreshed: Crawl[]}} */ sent) => {
      const found = [...sent.rows, ...sent.refreshed].find((one) => one.id === ident);
      if (found) setRow(found);
      if (sent.rows.some((one) => one.id === ident) || sent.gone.includes(ident)) changed();
    },
    reset: changed,
  });
  return row;
}
