/** The server's preview of something that is being edited. */

import { useEffect, useRef, useState } from "preact/hooks";
import { ask, Problem } from "../api.js";

/**
 * @template T
 * @typedef {{value: T | null, problem: Problem | null}} Preview
 *   The last good answer stays if the next request fails.
 */

const WAIT_MS = 250;

/**
 * What the server answers to a draft, shortly after its last change.
 * @template [T=any]
 * @param {string} path
 * @param {unknown} draft
 * @returns {Preview<T>}
 */
export function usePreview(path, draft) {
  const [found, setFound] = useState(/** @type {Preview<T>} */ ({ value: null, problem: null }));
  const body = JSON.stringify(draft);
  const isFirst = useRef(true);
  useEffect(() => {
    const abort = new AbortController();
    const timer = setTimeout(
      () =>
        ask("POST", path, body, { signal: abort.signal }).then(
          (value) => setFound({ value, problem: null }),
          (problem) => {
            if (abort.signal.aborted) return;
            if (!(problem instanceof Problem)) throw problem;
            setFound((old) => ({ ...old, problem }));
          },
        ),
      isFirst.current ? 0 : WAIT_MS,
    );
    isFirst.current = false;
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [path, body]);
  return found;
}
