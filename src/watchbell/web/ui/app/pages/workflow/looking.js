/** Moving around in a graph that can't be changed. */

import { useState } from "preact/hooks";
import { keyOf } from "./commands.js";
import { nodeOf } from "./graph.js";
import { isArrow, neighbour, readingOrder } from "./navigation.js";

/** @type {ReadonlySet<string>} */
const NONE = new Set();

/**
 * @param {import("./graph.js").Graph} graph @param {import("./commands.js").Command[]} commands
 * @param {string | null} [first] the node that is selected at first
 */
export function useLooking(graph, commands, first = null) {
  const [wanted, setWanted] = useState(first);
  const current = wanted !== null && nodeOf(graph, wanted) ? wanted : null;
  const to = (/** @type {string | null} */ id) => {
    setWanted(id);
    if (id !== null) document.getElementById(`node-${id}`)?.focus({ preventScroll: true });
  };
  const key = (/** @type {KeyboardEvent} */ event) => {
    const at = /** @type {HTMLElement} */ (event.target).dataset.node ?? current;
    const command = commands.find((one) => one.keys.includes(keyOf(event)));
    if (command) command.act();
    else if (isArrow(event.key) && !event.altKey && !event.ctrlKey && !event.metaKey) {
      const next = at === null ? readingOrder(graph)[0]?.id : neighbour(graph, at, event.key);
      if (next) to(next);
    } else if (event.key === "Enter" || event.key === " ") {
      to(at);
    } else return;
    event.preventDefault();
  };
  return {
    current,
    selected: current === null ? NONE : new Set([current]),
    select: (/** @type {Set<string>} */ _, /** @type {string | null} */ at) => to(at),
    key,
  };
}
