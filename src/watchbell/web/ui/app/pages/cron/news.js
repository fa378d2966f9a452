/** That something has changed in cron: one stream for a page, to which all its parts listen. */

import { useEffect, useRef } from "preact/hooks";
import { Cell } from "../../cell.js";
import { useLive } from "../../live.js";

const changes = new Cell(0);
const tell = () => changes.set(changes.value + 1);

/** The stream itself; a page draws it once. */
export function News() {
  useLive("/live?topics=cron", { cron: tell, reset: tell });
  return null;
}

/**
 * Calls this a while after something has changed, once for all that changes meanwhile.
 * @param {() => void} call
 * @param {number} wait milliseconds
 */
export function useNews(call, wait) {
  const latest = useRef(call);
  latest.current = call;
  useEffect(() => {
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    const end = changes.listen(() => {
      timer ??= setTimeout(() => {
        timer = undefined;
        latest.current();
      }, wait);
    });
    return () => {
      clearTimeout(timer);
      end();
    };
  }, [wait]);
}
