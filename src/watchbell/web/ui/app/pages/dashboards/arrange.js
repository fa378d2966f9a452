/** Arranges the panels of a dashboard: by mouse, finger and keyboard. */

import { html } from "htm/preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Button, Errors, Field } from "../../kit/form.js";
import { Card, Empty, Page } from "../../kit/layout.js";
import { useUnsaved } from "../../kit/unsaved.js";
import { moved, useDrag } from "./drag.js";
import { PanelDialog } from "./panel_form.js";
import { PanelCard } from "./panels.js";
import { BLANK, COLUMNS, titleOf } from "./words.js";

/**
 * @typedef {import("./words.js").Panel} Panel
 * @typedef {import("./words.js").Dashboard} Dashboard
 * @typedef {import("./words.js").Monitor} Monitor
 * @typedef {{key: number, panel: Panel}} Item
 */

/** @type {Record<string, (place: number, last: number) => number>} */
const STEPS = {
  ArrowLeft: (place) => place - 1,
  ArrowUp: (place) => place - 1,
  ArrowRight: (place) => place + 1,
  ArrowDown: (place) => place + 1,
  Home: () => 0,
  End: (_, last) => last,
};

/**
 * @param {{dashboard: Dashboard, monitors: Monitor[], problem: import("../../api.js").Problem | null, above: any,
 *   onSave: (changes: Partial<Dashboard>) => Promise<void>, onCancel: () => void, onDelete: (() => void) | null}} props
 */
export function Arranging({ dashboard, monitors, problem, above, onSave, onCancel, onDelete }) {
  const [title, setTitle] = useState(dashboard.title);
  const [notes, setNotes] = useState(dashboard.notes ?? "");
  const [items, setItems] = useState(() => (dashboard.panels ?? []).map((panel, key) => /** @type {Item} */ ({ key, panel })));
  const [edited, setEdited] = useState(/** @type {{key: number, panel: Panel | null} | null} */ (null));
  const [said, setSaid] = useState("");
  const changes = useMemo(() => ({ title, notes, panels: items.map((one) => one.panel) }), [title, notes, items]);
  useUnsaved(changes);
  const next = useRef(items.length);
  const focused = useRef(/** @type {number | null} */ (null));
  const handles = useRef(/** @type {Map<number, HTMLElement>} */ (new Map()));
  const move = (/** @type {number} */ from, /** @type {number} */ to) => {
    const item = items[from];
    if (!item || to < 0 || to >= items.length || from === to) return;
    setItems(moved(items, from, to));
    setSaid(`${titleOf(item.panel, monitors)}: place ${to + 1} of ${items.length}`);
    focused.current = item.key;
  };
  // A button that has moved in the document has lost the focus; it gets it back before the next key.
  useLayoutEffect(() => {
    if (focused.current !== null) handles.current.get(focused.current)?.focus();
    focused.current = null;
  }, [items]);
  const drag = useDrag(items.length, move);
  const change = (/** @type {number} */ key, /** @type {Partial<Panel>} */ values) => setItems(items.map((one) => (one.key === key ? { key, panel: { ...one.panel, ...values } } : one)));
  const done = (/** @type {Panel} */ panel) => {
    setItems(edited?.panel ? items.map((one) => (one.key === edited.key ? { key: one.key, panel } : one)) : [...items, { key: (next.current += 1), panel }]);
    setEdited(null);
  };
  const add = html`<${Button} onClick=${() => setEdited({ key: -1, panel: null })}>Add panel<//>`;
  const tools = (/** @type {Item} */ { key, panel }, /** @type {number} */ place) => {
    const [name, width] = [titleOf(panel, monitors), panel.width ?? BLANK.width];
    return html`<div class="panel-tools">
      <button type="button" class="button button-quiet button-small panel-handle" aria-label=${`Move ${name}`} title="Drag, or use the arrow keys"
        ref=${(/** @type {HTMLElement | null} */ element) => (element ? handles.current.set(key, element) : handles.current.delete(key))}
        onPointerDown=${(/** @type {PointerEvent} */ event) => drag.begin(place, event)}
        onKeyDown=${(/** @type {KeyboardEvent} */ event) => {
          const step = STEPS[event.key];
          if (!step) return;
          event.preventDefault();
          move(place, step(place, items.length - 1));
        }}>⠿</button>
      <${Button} small kind="quiet" label=${`Make ${name} narrower`} disabled=${width <= 1} onClick=${() => change(key, { width: width - 1 })}>−<//>
      <${Button} small kind="quiet" label=${`Make ${name} wider`} disabled=${width >= COLUMNS} onClick=${() => change(key, { width: width + 1 })}>+<//>
      <${Button} small kind="quiet" label=${`Edit ${name}`} onClick=${() => setEdited({ key, panel })}>Edit<//>
      <${Button} small kind="quiet" label=${`Remove ${name}`} onClick=${() => setItems(items.filter((one) => one.key !== key))}>✕<//>
    </div>`;
  };
  return html`<${Page} wide title=${dashboard.title} above=${above} lead="Drag panels by their handles, or focus a handle and use the arrow keys."
    actions=${html`${add}<${Button} onClick=${onCancel}>Cancel<//><${Button} kind="main" onClick=${() => onSave(changes)}>Save<//>`}>
    ${problem && html`<div class="failed" role="alert"><p>${problem.message}</p>${problem.errors.map(({ field, reason }) => html`<p>${wordsOf(field, items, monitors)}: ${reason}</p>`)}</div>`}
    <${Errors} errors=${problem?.errors ?? []}><${Card}><div class="panel-sizes">
      <${Field} label="Title" name="title" value=${title} onInput=${setTitle} />
      <${Field} label="Notes" name="notes" value=${notes} onInput=${setNotes} />
    </div>${onDelete && html`<p class="panel-more"><${Button} small kind="danger" onClick=${onDelete}>Delete dashboard<//></p>`}<//><//>
    ${items.length === 0 && html`<${Card}><${Empty} title="No panels yet." action=${add} /><//>`}
    <div class="panels panels-edited">${items.map((item, place) => html`<${PanelCard} key=${item.key} panel=${item.panel} monitors=${monitors} span=${null} tools=${tools(item, place)} place=${place}
      order=${drag.orderOf(place)} look=${drag.isDragged(place) ? "panel-dragged" : ""} />`)}</div>
    <p class="unseen" role="status">${said}</p>
    ${edited && html`<${PanelDialog} panel=${edited.panel} monitors=${monitors} onDone=${done} onClose=${() => setEdited(null)} />`}
  <//>`;
}

/** As `CPU usage, count` for `panels[2].count`. @param {string} field @param {Item[]} items @param {Monitor[]} monitors */
function wordsOf(field, items, monitors) {
  const found = /^panels\[(\d+)\](?:\.(.*))?$/.exec(field);
  const item = items[Number(found?.[1])];
  return found && item ? [titleOf(item.panel, monitors), found[2]].filter(Boolean).join(", ") : field;
}
