/** Changes in cron: one stream per page, shared by all its parts. */

import { useEffect, useRef } from "preact/hooks";
import { Cell } from "../../cell.js";
import { useLive } from "../../live.js";

const changes = new Cell(0);
const changed = () => changes.set(changes.value + 1);

/** The stream; each page renders it once. */
export function ChangeStream() {
  useLive("/live?topics=cron", { cron: changed, reset: changed });
  return null;
}

/**
 * Calls a function shortly after a change, once for all changes in between.
 * @param {() => void} call
 * @param {number} wait milliseconds
 */
export function useChanges(call, wait) {
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
