/** The commands of the graph editor: in the menu, with their keys. */

import { DIRECTIONS, isArrow, neighbour } from "./navigation.js";
import { GRID } from "./graph.js";
import { targetsOf } from "./use_editor.js";
import { ZOOM_IN, ZOOM_OUT } from "./view.js";

/**
 * @typedef {{id: string, words: string, keys: string[], act: () => void, isOff?: boolean}} Command the first of the keys is shown
 * @typedef {import("./use_editor.js").Editing} Editing
 * @typedef {{toggleFull: () => void, isFull: boolean, focus: (id: string | null) => void, edit: () => void, clipboard: (verb: "copy" | "cut" | "paste") => void}} Surface
 */

/** @param {Editing} editing @param {import("./view.js").Viewing} viewing @param {Surface} surface @returns {Command[]} */
export function commandsOf(editing, viewing, surface) {
  const { graph, current, chosen, nodes } = editing;
  const isNone = nodes.length === 0;
  const remove = () => surface.focus(editing.remove());
  const edit = () => {
    if (current !== null) editing.select(chosen, current);
    surface.edit();
  };
  const wire = () => current !== null && editing.startWire(current);
  return [
    { id: "edit", words: "Edit", keys: ["Enter"], act: edit, isOff: chosen.size === 0 },
    { id: "wire", words: "Draw a wire from the node", keys: ["c"], act: wire, isOff: current === null },
    { id: "duplicate", words: "Duplicate", keys: ["d"], act: editing.duplicate, isOff: isNone },
    { id: "remove", words: "Delete", keys: ["Delete", "Backspace"], act: remove, isOff: chosen.size === 0 },
    { id: "undo", words: "Undo", keys: ["Ctrl+Z"], act: editing.undo, isOff: !editing.canUndo },
    { id: "redo", words: "Redo", keys: ["Ctrl+Shift+Z", "Ctrl+Y"], act: editing.redo, isOff: !editing.canRedo },
    { id: "cut", words: "Cut", keys: ["Ctrl+X"], act: () => surface.clipboard("cut"), isOff: isNone },
    { id: "copy", words: "Copy", keys: ["Ctrl+C"], act: () => surface.clipboard("copy"), isOff: isNone },
    { id: "paste", words: "Paste", keys: ["Ctrl+V"], act: () => surface.clipboard("paste") },
    { id: "all", words: "Select all", keys: ["Ctrl+A"], act: editing.selectAll, isOff: graph.nodes.length === 0 },
    { id: "arrange", words: "Arrange automatically", keys: ["l"], act: editing.arrange, isOff: graph.nodes.length === 0 },
    { id: "snap", words: editing.isSnapping ? "Don't snap to the grid" : "Snap to the grid", keys: ["s"], act: () => editing.setSnapping(!editing.isSnapping) },
    ...viewCommands(viewing, surface),
  ];
}

/** @param {import("./view.js").Viewing} viewing @param {Pick<Surface, "toggleFull" | "isFull">} surface @returns {Command[]} */
export function viewCommands(viewing, surface) {
  return [
    { id: "fit", words: "Fit everything", keys: ["0"], act: viewing.fit },
    { id: "in", words: "Zoom in", keys: ["+", "="], act: () => viewing.zoom(ZOOM_IN) },
    { id: "out", words: "Zoom out", keys: ["-"], act: () => viewing.zoom(ZOOM_OUT) },
    { id: "full", words: surface.isFull ? "Leave full screen" : "Full screen", keys: ["f"], act: surface.toggleFull },
  ];
}

/** What has no entry in the menu, for the list of shortcuts. @type {[keys: string, words: string][]} */
export const MOVES = [
  ["← → ↑ ↓", "go to another node"],
  ["Shift+Arrow", "move the selected nodes"],
  ["Space", "select more"],
];

/** The key as commands name it, such as `Ctrl+Shift+Z`. @param {KeyboardEvent} event */
export function keyOf(event) {
  const isLetter = event.key.length === 1;
  const key = isLetter && (event.ctrlKey || event.metaKey || event.shiftKey) && /[a-z]/i.test(event.key) ? event.key.toUpperCase() : event.key;
  const isShifted = event.shiftKey && (!isLetter || /[A-Z]/.test(key));
  return `${event.ctrlKey || event.metaKey ? "Ctrl+" : ""}${isShifted ? "Shift+" : ""}${key}`;
}

/**
 * What a key does in the graph, besides the commands.
 * @param {KeyboardEvent} event @param {Editing} editing @param {Surface} surface @returns {boolean} whether it did something
 */
export function moveByKey(event, editing, surface) {
  const { graph, current, selected, chosen } = editing;
  if (editing.aim) return aimByKey(event, editing, surface);
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  if (isArrow(event.key)) {
    if (event.shiftKey) {
      const [dx, dy] = DIRECTIONS[event.key];
      editing.move(dx * GRID, dy * GRID, chosen, `keys ${[...chosen].join(" ")}`);
    } else {
      const next = current === null ? graph.nodes[0]?.id : neighbour(graph, current, event.key);
      if (next) {
        editing.select([next], next);
        surface.focus(next);
      }
    }
    return true;
  }
  if (event.key === " " && current !== null) {
    const more = new Set(selected);
    if (!more.delete(current)) more.add(current);
    editing.select(more, current);
    return true;
  }
  if (event.key === "Escape") {
    if (surface.isFull && selected.size === 0) surface.toggleFull();
    editing.select([], current);
    return true;
  }
  return false;
}

/** Aims a wire. @param {KeyboardEvent} event @param {Editing} editing @param {Surface} surface */
function aimByKey(event, editing, surface) {
  const { graph, aim } = editing;
  if (!aim) return false;
  const targets = targetsOf(graph, aim.source);
  if (isArrow(event.key)) editing.aimAt(neighbour(graph, aim.target ?? aim.source, event.key, (id) => targets.includes(id)));
  else if (event.key === "Tab") editing.aimAt(targets.at((targets.indexOf(aim.target ?? "") + (event.shiftKey ? -1 : 1)) % targets.length) ?? null);
  else if (event.key === "Enter") editing.connect(aim.source, aim.target, true);
  else if (event.key === "Escape") editing.endWire();
  else return false;
  surface.focus(aim.source);
  return true;
}
