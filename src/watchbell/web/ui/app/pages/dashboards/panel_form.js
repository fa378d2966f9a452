/** The form of one panel. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { Problem, url, useFetched } from "../../api.js";
import { Dialog } from "../../kit/dialog.js";
import { Field, Form, Toggle } from "../../kit/form.js";
import { nameOf } from "../monitors/lines.js";
import { SPANS } from "../monitors/words.js";
import { BLANK, titleOf, TYPES } from "./words.js";

/**
 * @typedef {import("./words.js").Panel} Panel
 * @typedef {import("./words.js").Monitor} Monitor
 * @typedef {import("../monitors/lines.js").Now} Now
 * @typedef {{draft: Panel, change: (changes: Partial<Panel>) => void, monitors: Monitor[]}} Part
 */

/** @type {[string, string][]} */
const WIDTHS = [["1", "One sixth"], ["2", "One third"], ["3", "Half"], ["4", "Two thirds"], ["5", "Five sixths"], ["6", "Whole row"]];
/** @type {[string, string][]} */
const HEIGHT_WORDS = [["small", "Small"], ["medium", "Medium"], ["large", "Large"]];
/** @type {[string, string][]} */
const SPAN_WORDS = Object.entries(SPANS).map(([value, { words }]) => [value, words]);
/** Servers of one plot. */
const MOST_LINES = 10;
const MOST_ROWS = 50;

/** @param {{panel: Panel | null, monitors: Monitor[], onDone: (panel: Panel) => void, onClose: () => void}} props `panel`: null for a new one */
export function PanelDialog({ panel, monitors, onDone, onClose }) {
  const [draft, setDraft] = useState(() => /** @type {Panel} */ ({ ...BLANK, ...(panel ?? { type: "plot", monitor: monitors[0]?.id ?? "" }) }));
  const change = (/** @type {Partial<Panel>} */ changes) => setDraft((old) => ({ ...old, ...changes }));
  const save = async () => {
    const problem = wrong(draft);
    if (problem) throw new Problem(422, problem.reason, [problem]);
    onDone(only(draft));
  };
  const text = (/** @type {"title" | "width" | "height" | "span" | "monitor" | "group" | "filter" | "text"} */ name) => ({ name, value: String(draft[name] ?? ""), onInput: (/** @type {string} */ value) => change({ [name]: name === "width" ? Number(value) : value }) });
  const types = /** @type {[string, string][]} */ (Object.entries(TYPES).map(([value, { words }]) => [value, words]));
  return html`<${Dialog} title=${panel ? `Edit ${titleOf(panel, monitors)}` : "Add panel"} onClose=${onClose}>
    <${Form} onSubmit=${save} submit=${panel ? "Apply" : "Add"} cancel=${onClose}>
      <${Field} label="Shows" name="type" value=${draft.type} options=${types} onInput=${(/** @type {any} */ type) => change({ type })} />
      <${Field} label="Title" ...${text("title")} placeholder=${titleOf({ ...draft, title: "" }, monitors)} />
      <${OfType} draft=${draft} change=${change} monitors=${monitors} text=${text} />
      <div class="panel-sizes"><${Field} label="Width" options=${WIDTHS} ...${text("width")} hint="On a phone, every panel takes the whole width." />
      <${Field} label="Height" options=${HEIGHT_WORDS} ...${text("height")} /></div>
    <//>
  <//>`;
}

/** @param {Part & {text: (name: any) => any}} props */
function OfType({ draft, change, monitors, text }) {
  if (draft.type === "text") return html`<${Field} label="Text" rows=${6} ...${text("text")} />`;
  const isPlot = draft.type === "plot";
  const count = html`<${Field} label=${isPlot ? "Servers, at most" : "Rows, at most"} name="count" type="number" min="1" max=${isPlot ? MOST_LINES : MOST_ROWS} value=${draft.count ?? BLANK.count}
    onInput=${(/** @type {string} */ value) => change({ count: Number(value) })} hint=${isPlot && "Those with the highest values now."} />`;
  if (isPlot) {
    return html`<${Field} label="Monitor" options=${monitors.map(({ id, title }) => [id, title])} ...${text("monitor")} />
      <${Field} label="Time range" options=${SPAN_WORDS} ...${text("span")} />
      <${GroupField} text=${text} />
      ${(draft.servers ?? []).length === 0 && count}
      <${ServerFields} draft=${draft} change=${change} monitors=${monitors} />`;
  }
  if (draft.type === "servers" || draft.type === "alerts") return html`<${GroupField} text=${text} />${count}`;
  if (draft.type === "checks") return html`<${Field} label="Words" ...${text("filter")} hint="Only checks whose name or summary contains all of them." />${count}`;
  if (draft.type === "jobs") return html`<${EventField} text=${text} />${count}`;
  return count;
}

/** @param {{text: (name: any) => any}} props */
function GroupField({ text }) {
  const groups = /** @type {{id: string, title: string}[]} */ (useFetched("/groups").value?.items ?? []);
  return html`<${Field} label="Servers of" options=${[["", "All groups"], ...groups.map(({ id, title }) => [id, title])]} ...${text("group")} />`;
}

/** @param {{text: (name: any) => any}} props */
function EventField({ text }) {
  const events = /** @type {{id: string, title: string}[]} */ (useFetched("/events?limit=200").value?.items ?? []);
  return html`<${Field} label="Jobs of" options=${[["", "All events"], ...events.map(({ id, title }) => [id, title])]} ...${text("filter")} />`;
}

/** @param {Part} props */
function ServerFields({ draft, change }) {
  const known = /** @type {Now[]} */ (useFetched(url("/servers/values", { group: draft.group })).value ?? []);
  const servers = draft.servers ?? [];
  const select = (/** @type {string} */ id, /** @type {boolean} */ isOn) => change({ servers: isOn ? [...servers, id] : servers.filter((one) => one !== id) });
  if (known.length === 0) return null;
  return html`<fieldset class="group-choice"><legend>Certain servers</legend>
    <div class="group-choices">${known.map((one) => html`<${Toggle} key=${one.server} label=${nameOf(one)} checked=${servers.includes(one.server)} disabled=${!servers.includes(one.server) && servers.length >= MOST_LINES}
      onChange=${(/** @type {boolean} */ isOn) => select(one.server, isOn)} />`)}</div>
    <p class="hint">Select up to ${MOST_LINES} to have these in place of those with the highest values.</p></fieldset>`;
}

/** @param {Panel} panel @returns {{field: string, reason: string} | null} */
function wrong({ type, monitor, text, count = BLANK.count }) {
  if (type === "plot" && !monitor) return { field: "monitor", reason: "Select a monitor." };
  if (type === "text" && !text?.trim()) return { field: "text", reason: "Enter a text." };
  const most = type === "plot" ? MOST_LINES : MOST_ROWS;
  return Number.isInteger(count) && count >= 1 && count <= most ? null : { field: "count", reason: `Enter a whole number from 1 to ${most}.` };
}

/** @type {Record<import("./words.js").PanelType, (keyof Panel)[]>} */
const OWN = { plot: ["monitor", "servers", "group", "span", "count"], servers: ["group", "count"], checks: ["filter", "count"], alerts: ["group", "count"], jobs: ["filter", "count"], crawls: ["count"], text: ["text"] };

/** The panel without what only other types have. @param {Panel} draft @returns {Panel} */
function only(draft) {
  const names = ["type", "title", "width", "height", ...OWN[draft.type]];
  return /** @type {Panel} */ (Object.fromEntries(Object.entries(draft).filter(([name]) => names.includes(name))));
}
