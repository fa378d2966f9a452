/** The servers that match a filter, kept current. */

import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { url, useFetched } from "../../api.js";
import { LiveTable } from "../../kit/live_table.js";
import { useLive } from "../../live.js";
import { nameOf } from "./words.js";

/** @typedef {import("./words.js").Row} Row */

/** How many servers a page shows at most. */
const MOST = 500;

const part = (/** @type {Row} */ row) => (row.memory ?? 0) / (row.memory_total || 1);
const byName = (/** @type {Row} */ a, /** @type {Row} */ b) => nameOf(a).localeCompare(nameOf(b), "en", { numeric: true }) || (a.id < b.id ? -1 : Number(a.id > b.id));
const STATES = ["offline", "alerts", "online", "disabled"];
const urgency = (/** @type {Row} */ row) => STATES.indexOf(row.state === "online" && row.alerts > 0 ? "alerts" : row.state);

/** @type {Record<string, (a: Row, b: Row) => number>} */
const ORDERS = {
  name: byName,
  state: (a, b) => urgency(a) - urgency(b) || byName(a, b),
  cpu: (a, b) => (b.cpu ?? -1) - (a.cpu ?? -1) || byName(a, b),
  memory: (a, b) => part(b) - part(a) || byName(a, b),
  jobs: (a, b) => b.jobs - a.jobs || byName(a, b),
};

/** @param {string} state @param {string} sort @returns {import("../../kit/live_table.js").Plan<Row>} */
function plan(state, sort) {
  return {
    matches: () => true,
    isShown: (row) => state === "" || (state === "alerts" ? row.alerts > 0 : row.state === state),
    group: (row) => row.state,
    order: ORDERS[sort] ?? byName,
    isVolatile: sort !== "name",
  };
}

/**
 * @param {{text: string, group: string, state: string, sort: string}} wanted
 * @returns {{rows: Row[] | null, counts: import("./words.js").Counts | null, count: number, isComplete: boolean,
 *   problem: import("../../api.js").Problem | null, reload: () => void}} `rows`: null until they are loaded
 */
export function useServers({ text, group, state, sort }) {
  const filter = { text, group };
  const { value, problem, reload } = useFetched(url("/servers", { ...filter, limit: MOST, ...(sort === "name" ? {} : { sort }) }));
  const page = /** @type {import("./words.js").ServersPage | null} */ (value);
  const counts = useRef(page?.counts ?? null);
  const [, draw] = useState(0);
  const last = useRef(/** @type {LiveTable<Row> | null} */ (null));
  const table = useMemo(() => {
    if (!page) return last.current;
    counts.current = page.counts;
    return (last.current = new LiveTable(page.items, plan(state, sort)));
  }, [page]);
  useMemo(() => table?.show(plan(state, sort)), [table, state, sort]);
  const change = useCallback((/** @type {{rows: Row[], gone: string[], refreshed: Row[], counts: import("./words.js").Counts}} */ sent) => {
    counts.current = sent.counts;
    last.current?.update([...sent.rows, ...sent.refreshed], sent.gone);
    draw((number) => number + 1);
  }, []);
  useLive(page && url("/servers/live", { ...filter, resume: page.moment }), { changed: change, reset: reload });
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
