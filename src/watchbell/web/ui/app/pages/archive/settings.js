/** What may change while a crawl runs: its pace, its note, and whether ignored URLs are logged. */

import { html } from "htm/preact";
import { useLayoutEffect, useState } from "preact/hooks";
import { patch } from "../../api.js";
import { NumberField } from "../../kit/amounts.js";
import { Field, Form, Toggle } from "../../kit/form.js";
import { Card, Facts } from "../../kit/layout.js";
import { showToast } from "../../kit/toast.js";
import { may } from "../../session.js";
import { crawlPath } from "./words.js";

/** @typedef {import("./words.js").Shown} Shown */

/** @param {Shown} shown */
const draftOf = ({ row, reports_ignores }) => ({
  delay_min: /** @type {any} */ (row.delay_min),
  delay_max: /** @type {any} */ (row.delay_max),
  concurrency: /** @type {any} */ (row.concurrency),
  note: row.note,
  reports_ignores,
});

/** @param {{shown: Shown, onDone: () => void}} props */
export function Settings({ shown, onDone }) {
  const [base, setBase] = useState(() => draftOf(shown));
  const [draft, setDraft] = useState(base);
  const isTouched = JSON.stringify(draft) !== JSON.stringify(base);
  const [serial, setSerial] = useState(0);
  // Somebody else's changes are shown unless they would replace what is being typed.
  const latest = JSON.stringify(draftOf(shown));
  useLayoutEffect(() => {
    if (isTouched || latest === JSON.stringify(base)) return;
    setBase(draftOf(shown));
    setDraft(draftOf(shown));
    setSerial((count) => count + 1);
  }, [latest]);
  if (!may("operate")) return html`<${Card} title="Settings"><${Facts} rows=${[["Delay", `${base.delay_min} to ${base.delay_max} ms`], ["Downloaders", base.concurrency], ["Ignored URLs", base.reports_ignores ? "logged" : "not logged"]]} /><//>`;
  const change = (/** @type {Partial<typeof draft>} */ changes) => setDraft((old) => ({ ...old, ...changes }));
  const save = async () => {
    const changes = Object.fromEntries(Object.entries(draft).filter(([name, value]) => value !== /** @type {any} */ (base)[name]));
    await patch(crawlPath(shown.row.id), changes);
    setBase(draft);
    showToast("Saved. The crawl follows within a second.");
    onDone();
  };
  return html`<${Card} title="Settings"><${Form} key=${serial} onSubmit=${save} disabled=${!isTouched}>
    <div class="form-row">
      <${NumberField} label="Shortest delay in ms" name="delay_min" value=${draft.delay_min} onInput=${(/** @type {any} */ delay_min) => change({ delay_min })} />
      <${NumberField} label="Longest delay in ms" name="delay_max" value=${draft.delay_max} onInput=${(/** @type {any} */ delay_max) => change({ delay_max })} />
      <${NumberField} label="Downloaders" name="concurrency" value=${draft.concurrency} onInput=${(/** @type {any} */ concurrency) => change({ concurrency })} />
    </div>
    <${Field} label="Note" name="note" value=${draft.note} onInput=${(/** @type {string} */ note) => change({ note })} maxlength="1000" />
    <${Toggle} label="Log ignored URLs" name="reports_ignores" checked=${draft.reports_ignores} onChange=${(/** @type {boolean} */ reports_ignores) => change({ reports_ignores })} />
  <//><//>`;
}
