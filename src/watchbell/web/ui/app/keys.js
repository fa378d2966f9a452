/** The keyboard: what each key does just now, and the list of it that `?` shows. */

import { useLayoutEffect, useRef } from "preact/hooks";

/**
 * @typedef {[key: string, words: string, act: (event: KeyboardEvent) => void]} Binding
 *   key: as `j`, `Enter`, `Shift+J`, or two after each other as `g c`
 */

/** @type {{group: string, bindings: () => Binding[]}[]} */
const stack = [];
let pending = "";
/** @type {ReturnType<typeof setTimeout> | undefined} */
let forget;

/**
 * These keys, while the component is drawn. Those of what was drawn later win.
 * @param {string} group under which the help lists them
 * @param {Binding[]} bindings
 */
export function useKeys(group, bindings) {
  const latest = useRef(bindings);
  latest.current = bindings;
  useLayoutEffect(() => {
    const entry = { group, bindings: () => latest.current };
    stack.push(entry);
    return () => void stack.splice(stack.indexOf(entry), 1);
  }, [group]);
}

/** @returns {{group: string, bindings: Binding[]}[]} what can be typed here */
export function known() {
  return stack.map((entry) => ({ group: entry.group, bindings: entry.bindings() }));
}

/** @param {EventTarget | null} target */
function isTyping(target) {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.matches("textarea, select, input:not([type=checkbox], [type=radio])"))
  );
}

/** @param {KeyboardEvent} event */
function named(event) {
  const isLetter = /^[A-Z]$/.test(event.key);
  return event.shiftKey && isLetter ? `Shift+${event.key}` : event.key;
}

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (isTyping(event.target)) return;
  // A dialog has the keyboard to itself; buttons and links keep the keys that press them.
  if (document.querySelector("dialog[open]")) return;
  if (event.target instanceof Element && event.target.closest("button, a, summary") && (event.key === "Enter" || event.key === " ")) return;
  const key = named(event);
  const wanted = pending ? `${pending} ${key}` : key;
  for (const entry of [...stack].reverse()) {
    for (const [binding, , act] of entry.bindings()) {
      if (binding === wanted) {
        pending = "";
        event.preventDefault();
        act(event);
        return;
      }
    }
  }
  const begins = stack.some((entry) => entry.bindings().some(([binding]) => binding.startsWith(`${key} `)));
  pending = begins && !pending ? key : "";
  clearTimeout(forget);
  forget = setTimeout(() => (pending = ""), 1500);
});
