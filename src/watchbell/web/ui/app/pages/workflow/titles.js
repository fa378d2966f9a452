/** The titles of all events, for the nodes that run them. */

import { useEffect, useState } from "preact/hooks";
import { get, Problem, url } from "../../api.js";

const PAGE = 200;
const MOST = 10;
/** @type {ReadonlyMap<string, string>} */
const NONE = new Map();

/** @returns {ReadonlyMap<string, string>} by id; empty until they are loaded */
export function useEventTitles() {
  const [titles, setTitles] = useState(NONE);
  useEffect(() => {
    let isThere = true;
    load().then((found) => isThere && setTitles(found), (problem) => {
      if (!(problem instanceof Problem)) throw problem;
    });
    return () => void (isThere = false);
  }, []);
  return titles;
}

async function load() {
  const found = new Map();
  let cursor = "";
  for (let page = 0; page < MOST; page += 1) {
    const { items, next } = await get(url("/events", { limit: PAGE, ...(cursor ? { cursor } : {}) }));
    for (const one of items) found.set(one.id, one.title || one.id);
    if (!next) break;
    cursor = next;
  }
  return found;
}
