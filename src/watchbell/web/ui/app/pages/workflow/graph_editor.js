/** The editor of a graph: its commands, the canvas and the panel of what is selected. */

import { html } from "htm/preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { useKeys } from "../../keys.js";
import { Button } from "../../kit/form.js";
import { counted } from "../../words.js";
import { Adding } from "../events/items.js";
import { Canvas } from "./canvas.js";
import { CommandMenu } from "./command_menu.js";
import { commandsOf, keyOf, MOVES, moveByKey } from "./commands.js";
import { NEW_NODES, NEW_OTHERS, newNode } from "./fields.js";
import { toGraph } from "./geometry.js";
import { nodeOf } from "./graph.js";
import { Panel } from "./panel.js";
import { useView } from "./view.js";
import { FullIcon } from "./view_bar.js";

/**
 * @typedef {import("./use_editor.js").Editing} Editing
 * @typedef {import("./commands.js").Surface} Surface
 * @typedef {import("./panel.js").Problem} Problem
 */

const HINT = "Arrow keys go from node to node, Enter edits one, C draws a wire from it, Shift with an arrow moves it. All commands are in the menu.";

/**
 * @param {{editing: Editing, facts: Map<string, import("./words.js").Fact>, problems: Problem[], modifiers: number, options: import("../events/words.js").Options,
 *   events: ReadonlyMap<string, string>}} props
 */
export function GraphEditor(props) {
  const { editing, facts, problems } = props;
  const { graph, aim } = editing;
  const viewing = useView(graph);
  const side = useRef(/** @type {HTMLElement | null} */ (null));
  const [isFull, setIsFull] = useState(false);
  const latest = useLatest(editing);
  const middle = () => {
    const { clientWidth = 0, clientHeight = 0 } = viewing.frame.current ?? {};
    return toGraph(viewing.view, { x: clientWidth / 2, y: clientHeight / 2 });
  };
  const focus = useFocus((/** @type {string | null} */ id) => focusNode(viewing.frame.current, id));
  const toPanel = useFocus(() => /** @type {HTMLElement | null} */ (side.current?.querySelector("input, select, textarea, button"))?.focus());
  /** @type {Surface} */
  const surface = {
    isFull,
    toggleFull: () => setIsFull(!isFull),
    focus,
    edit: () => toPanel(null),
    clipboard: (verb) => {
      focusNode(viewing.frame.current, editing.current);
      if (verb !== "paste") document.execCommand(verb);
      else void clipboardText().then((text) => latest.current.paste(text, middle()));
    },
  };
  const commands = commandsOf(editing, viewing, surface);
  useClipboard(viewing.frame, latest, middle);
  useGraphKeys(commands, viewing.frame);
  const key = (/** @type {KeyboardEvent} */ event) => {
    if (event.defaultPrevented) return;
    const command = editing.aim ? undefined : commands.find((one) => one.keys.includes(keyOf(event)) && !["cut", "copy", "paste"].includes(one.id));
    if (command && !command.isOff) command.act();
    if (command || moveByKey(event, editing, surface)) event.preventDefault();
  };
  const badges = useMemo(() => badgesOf(problems), [problems]);
  const wrong = useMemo(() => new Set(problems.filter((one) => !one.is_warning).map((one) => one.connection)), [problems]);
  const add = (/** @type {string} */ kind) => focus(editing.add(...newNode(kind), middle()).id);
  const button = (/** @type {string} */ id, /** @type {any} */ words, label = "") => {
    const one = commands.find((command) => command.id === id);
    return one && html`<${Button} onClick=${one.act} disabled=${one.isOff} title=${`${one.words} (${one.keys[0]})`} ...${label ? { label } : {}}>${words}<//>`;
  };
  const added = graph.nodes.at(-1);
  useLayoutEffect(() => {
    if (added && editing.selected.has(added.id)) viewing.show(added);
  }, [added?.id]);
  return html`<div class=${isFull ? "workflow workflow-full" : "workflow"} onKeyDown=${(/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Escape" && isFull && !event.defaultPrevented) setIsFull(false);
  }}>
    <div class="workflow-main">
      <div class="workflow-bar" role="toolbar" aria-label="Graph">
        <${Adding} label="Add a node" options=${[...NEW_NODES, NEW_OTHERS]} onAdd=${add} />
        ${button("undo", "↶", "Undo")}${button("redo", "↷", "Redo")}${button("arrange", "Arrange")}
        <${CommandMenu} commands=${commands} />
        <span class="workflow-gap"></span>
        <span class="workflow-group">${button("out", "−", "Zoom out")}${button("in", "+", "Zoom in")}${button("fit", "Fit", "Fit everything")}${button("full", html`<${FullIcon} />`, isFull ? "Leave full screen" : "Full screen")}</span>
      </div>
      <${Canvas} graph=${graph} facts=${facts} badges=${badges} wrong=${wrong} viewing=${viewing} selected=${editing.selected} current=${editing.current} label="Workflow" hint=${HINT} isEditable
        isSnapping=${editing.isSnapping} aim=${aim} onKeyDown=${key} onOpen=${surface.edit} onFocus=${(/** @type {string} */ id) => id !== editing.current && editing.select([id], id)} onConnect=${editing.connect}
        onSelect=${(/** @type {Set<string>} */ ids, /** @type {string | null} */ at) => {
          editing.select(ids, at);
          focus(at);
        }}
        onMove=${(/** @type {import("./gestures.js").Drag} */ { ids, dx, dy }) => editing.move(dx, dy, ids)}>
        ${graph.nodes.length === 0 && html`<div class="workflow-empty">Add a trigger and the nodes that run after it.</div>`}
      <//>
      <p class="workflow-said" role="status">${aim ? aimWords(aim, facts) : editing.said}${!aim && problems.length > 0 && html` <button type="button" class="button button-small button-quiet" onClick=${() => editing.select([], null)}>${counted(problems.length, "problem")}</button>`}</p>
    </div>
    <aside class="workflow-side" ref=${side} aria-label=${nodeOf(graph, [...editing.selected][0] ?? "") ? "Node" : "Details"}>
      <${Panel} ...${props} middle=${middle} focus=${focus} show=${viewing.show} />
    </aside>
  </div>`;
}

/** @param {import("./use_editor.js").Aim} aim @param {Map<string, import("./words.js").Fact>} facts */
function aimWords({ source, target }, facts) {
  const title = (/** @type {string | null} */ id) => facts.get(id ?? "")?.title ?? "";
  return `Wire from ${title(source)} to ${title(target)}. Arrow keys or Tab select another node, Enter draws the wire, Escape cancels.`;
}

/** What is wrong with a node, as a badge. @param {Problem[]} problems @returns {Map<string, import("./node_box.js").Badge>} */
function badgesOf(problems) {
  /** @type {Map<string, import("./node_box.js").Badge>} */
  const badges = new Map();
  for (const one of problems.filter((problem) => problem.node)) {
    const before = badges.get(one.node);
    const state = one.is_warning && before?.state !== "critical" ? "warning" : "critical";
    badges.set(one.node, { state, word: [before?.word, one.reason].filter(Boolean).join("; ") });
  }
  return badges;
}

/**
 * A function that moves the focus with the next drawing, so that no key is lost in between.
 * @template T @param {(to: T) => void} move
 */
function useFocus(move) {
  const [wanted, setWanted] = useState(/** @type {{to: T} | null} */ (null));
  useLayoutEffect(() => {
    if (wanted) move(wanted.to);
  }, [wanted]);
  return (/** @type {T} */ to) => setWanted({ to });
}

/** @template T @param {T} value */
function useLatest(value) {
  const latest = useRef(value);
  latest.current = value;
  return latest;
}

/** @param {HTMLElement | null} frame @param {string | null} id */
function focusNode(frame, id) {
  const node = id === null ? null : document.getElementById(`node-${id}`);
  (node ?? frame)?.focus({ preventScroll: true });
}

/** Browsers may keep pages from reading the clipboard; then what was copied here last is pasted. @returns {Promise<string | undefined>} */
async function clipboardText() {
  try {
    return await navigator.clipboard.readText();
  } catch {
    return undefined;
  }
}

/** @param {{current: HTMLElement | null}} frame @param {{current: Editing}} latest @param {() => {x: number, y: number}} middle */
function useClipboard(frame, latest, middle) {
  useEffect(() => {
    const handle = (/** @type {ClipboardEvent} */ event) => {
      if (!frame.current?.contains(document.activeElement)) return;
      event.preventDefault();
      if (event.type === "paste") {
        latest.current.paste(event.clipboardData?.getData("text/plain") ?? "", middle());
        return;
      }
      const text = latest.current.copy();
      if (text) event.clipboardData?.setData("text/plain", text);
      if (text && event.type === "cut") latest.current.remove();
    };
    const names = /** @type {const} */ (["copy", "cut", "paste"]);
    for (const name of names) document.addEventListener(name, handle);
    return () => names.forEach((name) => document.removeEventListener(name, handle));
  });
}

/**
 * Lists the keys for `?`. Those without Ctrl work as long as nothing else has the focus.
 * @param {import("./commands.js").Command[]} commands @param {{current: HTMLElement | null}} frame
 */
export function useGraphKeys(commands, frame) {
  const isFree = () => document.activeElement === document.body || frame.current?.contains(document.activeElement);
  useKeys("Graph", [
    ...MOVES.map(([keys, words]) => /** @type {import("../../keys.js").Binding} */ ([keys, words, () => undefined])),
    ...commands.map(({ keys, words, act, isOff }) => /** @type {import("../../keys.js").Binding} */ ([
      keys[0] === "Enter" ? "⏎" : (keys[0] ?? ""), words.charAt(0).toLowerCase() + words.slice(1), () => !isOff && isFree() && act(),
    ])),
  ]);
}
