/** Imports events from a file or pasted text, after showing what would become of each item. */

import { html } from "htm/preact";
import { useId, useState } from "preact/hooks";
import { post } from "../../api.js";
import { Dialog } from "../../kit/dialog.js";
import { Choice, Field, Form, Toggle } from "../../kit/form.js";
import { Chip } from "../../kit/state.js";
import { showToast } from "../../kit/toast.js";
import { capitalized, counted } from "../../words.js";

/**
 * @typedef {"created" | "replaced" | "unchanged" | "left_out"} Outcome
 * @typedef {{kind: string, id: string, title: string, outcome: Outcome, reason: string, words: string}} Item
 * @typedef {{items: Item[], notes: {item: string, reason: string}[]}} Report
 */

/** @type {Record<string, [words: string, label: string, placeholder: string]>} */
const FORMATS = {
  xyops: ["JSON", "JSON of an export, or of xyOps", '{"type": "xypdf", "items": [ … ]}'],
  crontab: ["Crontab", "Crontab", "30 2 * * * /usr/local/bin/backup --all"],
  cronicle: ["Cronicle", "Export of Cronicle", "# Cronicle Data Export …"],
};
/** @type {[outcome: Outcome, title: string, done: string, tone: string][]} */
const OUTCOMES = [
  ["created", "To be created", "created", "good"],
  ["replaced", "To be replaced", "replaced", "warn"],
  ["left_out", "Left out", "left out", "bad"],
  ["unchanged", "Unchanged", "unchanged", "soft"],
];

/** @param {{targets: import("./words.js").Target[], onClose: () => void, onDone: () => void}} props */
export function ImportDialog({ targets, onClose, onDone }) {
  const [format, setFormat] = useState("xyops");
  const [text, setText] = useState("");
  const [target, setTarget] = useState("main");
  const [users, setUsers] = useState(false);
  const [replace, setReplace] = useState(false);
  const [report, setReport] = useState(/** @type {Report | null} */ (null));
  const change = (/** @type {() => void} */ act) => {
    act();
    setReport(null);
  };
  const isCrontab = format === "crontab";
  const body = { format, text, replace, skip: true, ...(isCrontab ? { users, targets: [target] } : {}) };
  const count = report?.items.filter((one) => one.outcome === "created" || one.outcome === "replaced").length ?? 0;
  const submit = async () => {
    if (count === 0) {
      setReport(await post("/events/import", { ...body, dry_run: true }));
      return;
    }
    const made = /** @type {Report} */ (await post("/events/import", body));
    const words = OUTCOMES.flatMap(([outcome, , done]) => {
      const number = made.items.filter((one) => one.outcome === outcome).length;
      return number > 0 ? [`${counted(number, "item")} ${done}`] : [];
    });
    showToast(`${words.join(", ")}.`);
    onDone();
  };
  const load = (/** @type {string} */ content, /** @type {string} */ name) => change(() => {
    setText(content);
    setFormat(formatOf(content, name));
  });
  const [, label, placeholder] = FORMATS[format] ?? ["", "", ""];
  return html`<${Dialog} title="Import events" onClose=${onClose} wide>
    <${Form} onSubmit=${submit} submit=${count > 0 ? `Import ${counted(count, "item")}` : "Preview"} disabled=${!text.trim() || (report !== null && count === 0)} cancel=${onClose}>
      <${FileField} onLoad=${load} />
      <${Choice} label="Format" value=${format} options=${Object.entries(FORMATS).map(([name, [words]]) => [name, words])} onChange=${(/** @type {string} */ to) => change(() => setFormat(to))} />
      <${Field} label=${label} name="text" mono rows=${7} value=${text} spellcheck=${false} placeholder=${placeholder} onInput=${(/** @type {string} */ to) => change(() => setText(to))} />
      ${isCrontab && html`<${Field} label="Run on" name="targets" value=${target} options=${targets.map((one) => [one.id, one.title || one.id])} onInput=${(/** @type {string} */ to) => change(() => setTarget(to))} />
        <${Toggle} label="Lines have a user column, as in /etc/crontab" checked=${users} onChange=${(/** @type {boolean} */ to) => change(() => setUsers(to))} />`}
      <${Toggle} label="Replace what has the same id" checked=${replace} onChange=${(/** @type {boolean} */ to) => change(() => setReplace(to))} />
      ${report && html`<${Reported} report=${report} />`}
    <//>
  <//>`;
}

/** @param {string} text @param {string} name of the file */
function formatOf(text, name) {
  if (/cronicle/i.test(name) || /^#.*cronicle/i.test(text)) return "cronicle";
  return /^\s*[[{]/.test(text) ? "xyops" : "crontab";
}

/** @param {{onLoad: (text: string, name: string) => void}} props */
function FileField({ onLoad }) {
  const id = useId();
  const [problem, setProblem] = useState("");
  const read = async (/** @type {HTMLInputElement} */ input) => {
    const file = input.files?.[0];
    if (!file) return;
    try {
      onLoad(await file.text(), file.name);
      setProblem("");
    } catch {
      setProblem(`${file.name} can't be read. Select it again.`);
    }
  };
  return html`<div class="field">
    <label for=${id}>File</label>
    <input id=${id} type="file" aria-describedby=${`${id}-more`} onChange=${(/** @type {any} */ event) => read(event.currentTarget)} />
    <div id=${`${id}-more`} class=${problem ? "wrong" : "hint"}>${problem || "Or paste its content below."}</div>
  </div>`;
}

/** @param {{report: Report}} props */
function Reported({ report }) {
  const groups = OUTCOMES.map(([outcome, title, , tone]) => ({ title, tone, items: report.items.filter((one) => one.outcome === outcome) }));
  return html`<div class="stack" role="status" aria-label="Preview">
    ${report.items.length === 0 && html`<p class="soft">Nothing to import was found. Check the format.</p>`}
    ${report.items.length > 0 && report.items.every((one) => one.outcome === "unchanged") && html`<p>Everything exists already. There is nothing to import.</p>`}
    ${groups.map(({ title, tone, items }) => items.length > 0 && html`<section class="import-group"><h3>${title} <${Chip} tone=${tone}>${items.length.toLocaleString("en")}<//></h3>
      <ul class="plan">${items.map((one) => html`<li><strong>${one.title}</strong> <span class="soft">${one.kind}</span>
        ${one.words && html`<div class="soft">${capitalized(one.words)}</div>`}${one.reason && html`<div class="bad">${capitalized(one.reason)}</div>`}</li>`)}</ul></section>`)}
    ${report.notes.length > 0 && html`<section class="import-group"><h3>Not carried over</h3>
      <ul class="plan">${report.notes.map((one) => html`<li><strong>${capitalized(one.item)}</strong><div class="soft">${one.reason}</div></li>`)}</ul></section>`}
  </div>`;
}
