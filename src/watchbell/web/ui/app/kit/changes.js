/** Changes of a topic: one stream per page, shared by all its parts. */

import { useEffect, useRef } from "preact/hooks";
import { Cell } from "../cell.js";
import { useLive } from "../live.js";

/**
 * @param {string} topic of the server's live stream
 * @returns {{ChangeStream: () => null, useChanges: (call: () => void, wait: number) => void}}
 *   `ChangeStream`: the stream, which each page renders once; `useChanges`: calls a function shortly
 *   after a change (`wait` milliseconds), once for all changes in between
 */
export function changesOf(topic) {
  const changes = new Cell(0);
  const changed = () => changes.set(changes.value + 1);

  function ChangeStream() {
    useLive(`/live?topics=${topic}`, { [topic]: changed, reset: changed });
    return null;
  }

  /** @param {() => void} call @param {number} wait */
  function useChanges(call, wait) {
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

  return { ChangeStream, useChanges };
}
