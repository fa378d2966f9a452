/** Keyboard shortcuts: what each key does now, and the list that `?` shows. */

import { useLayoutEffect, useRef } from "preact/hooks";

/**
 * @typedef {[key: string, words: string, act: (event: KeyboardEvent) => void]} Binding
 *   key: as `j`, `Enter`, `Shift+J`, or a sequence such as `g c`
 */

/** @type {{group: string, bindings: () => Binding[]}[]} */
const stack = [];
let pending = "";
/** @type {ReturnType<typeof setTimeout> | undefined} */
let forget;

/**
 * Binds keys while the component is rendered. Components rendered later win.
 * @param {string} group heading in the list of shortcuts
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

/** @returns {{group: string, bindings: Binding[]}[]} all shortcuts active now */
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
  // Shortcuts are off while a dialog is open; buttons and links keep Enter and Space.
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
  const isPrefix = stack.some((entry) => entry.bindings().some(([binding]) => binding.startsWith(`${key} `)));
  pending = isPrefix && !pending ? key : "";
  clearTimeout(forget);
  forget = setTimeout(() => (pending = ""), 1500);
});
