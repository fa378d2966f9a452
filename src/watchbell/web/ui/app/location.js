/** The current path, and the query in which a page keeps its filters. */

import { useCallback, useMemo } from "preact/hooks";
import { Cell, useCell } from "./cell.js";

const here = () => window.location.pathname + window.location.search;
const place = new Cell(here());
/** @typedef {(leave: () => void) => void} Guard asks whether the page may be left, and then calls `leave` */
/** @type {Guard | null} */
let guard = null;

window.addEventListener("popstate", () => {
  if (!guard || here() === place.value) {
    place.set(here());
    return;
  }
  // The browser has left already; this page comes back as a new entry, after the one that was wanted.
  window.history.pushState(null, "", place.value);
  guard(() => {
    guard = null;
    window.history.back();
  });
});

/** @param {Guard} asks before the page is left @returns {() => void} ends that */
export function guardPage(asks) {
  guard = asks;
  return () => {
    if (guard === asks) guard = null;
  };
}

/**
 * Opens a page of this application.
 * @param {string} to
 * @param {{replace?: boolean, ask?: boolean}} [options] `replace`: leave no entry in the history; `ask`: whether a guard may keep people here
 */
export function go(to, { replace = false, ask = true } = {}) {
  if (to === place.value) return;
  if (ask && guard) {
    guard(() => go(to, { replace, ask: false }));
    return;
  }
  window.history[replace ? "replaceState" : "pushState"](null, "", to);
  const samePath = to.split("?")[0] === place.value.split("?")[0];
  place.set(here());
  if (!samePath) window.scrollTo(0, 0);
}

/** @returns {string} the path, without the query */
export function usePath() {
  return useCell(place).split("?")[0] ?? "/";
}

/**
 * The query and a function that changes parts of it; empty values are removed.
 * @returns {[URLSearchParams, (changes: Record<string, string | string[] | null>) => void]}
 */
export function useQuery() {
  const text = useCell(place).split("?")[1] ?? "";
  const query = useMemo(() => new URLSearchParams(text), [text]);
  const change = useCallback((/** @type {Record<string, string | string[] | null>} */ changes) => {
    const words = new URLSearchParams(window.location.search);
    for (const [name, value] of Object.entries(changes)) {
      words.delete(name);
      for (const one of Array.isArray(value) ? value : [value]) if (one) words.append(name, one);
    }
    const changed = words.toString();
    go(window.location.pathname + (changed ? `?${changed}` : ""), { replace: true });
  }, []);
  return [query, change];
}

// Links to our own pages open without a full page load.
document.addEventListener("click", (event) => {
  if (event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = event.target instanceof Element ? event.target.closest("a") : null;
  if (!link || link.origin !== window.location.origin || link.target || link.hasAttribute("download")) return;
  if (link.dataset.native !== undefined || link.pathname.startsWith("/api/")) return;
  event.preventDefault();
  go(link.pathname + link.search);
});
