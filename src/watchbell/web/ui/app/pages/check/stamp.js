/** Reloads parts of the page when the check changes. */

import { useEffect, useRef } from "preact/hooks";

/**
 * @param {string} stamp
 * @param {() => void} reload called when the stamp changes, not at first
 */
export function useStamp(stamp, reload) {
  const seen = useRef(stamp);
  useEffect(() => {
    if (seen.current === stamp) return;
    seen.current = stamp;
    reload();
  }, [stamp]);
}
