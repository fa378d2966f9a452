/** Forms whose content is not lost by accident. */

import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import { guardPage } from "../location.js";
import { confirm } from "./dialog.js";

/**
 * Asks before the page is left while the form holds something else than at first.
 * @param {any} value what would be saved; the same object as long as nothing changes
 */
export function useUnsaved(value) {
  const text = useMemo(() => JSON.stringify(value), [value]);
  const [first] = useState(text);
  const isChanged = text !== first;
  useLayoutEffect(() => {
    if (!isChanged) return undefined;
    const end = guardPage((leave) =>
      confirm({ title: "Discard your changes?", words: "You have changes that are not saved.", yes: "Discard changes", act: async () => leave() }));
    const warn = (/** @type {Event} */ event) => event.preventDefault();
    window.addEventListener("beforeunload", warn);
    return () => {
      end();
      window.removeEventListener("beforeunload", warn);
    };
  }, [isChanged]);
}
