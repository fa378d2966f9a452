/** When lists are loaded again. */

import { useEffect, useRef } from "preact/hooks";

/**
 * A function that calls another one soon, once for all calls in between.
 * @param {() => void} call
 * @param {number} wait milliseconds
 */
export function useSoon(call, wait) {
  const timer = useRef(/** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined));
  const latest = useRef(call);
  latest.current = call;
  useEffect(() => () => clearTimeout(timer.current), []);
  return () => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      latest.current();
    }, wait);
  };
}

/**
 * Calls a function whenever the number has changed, but not at first.
 * @param {number} changes
 * @param {() => void} reload
 */
export function useReload(changes, reload) {
  const seen = useRef(changes);
  useEffect(() => {
    if (seen.current === changes) return;
    seen.current = changes;
    reload();
  }, [changes]);
}
