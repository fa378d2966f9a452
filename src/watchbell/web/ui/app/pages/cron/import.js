/** Imports jobs from a crontab or an export, with a preview. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { post } from "../../api.js";
import { Dialog } from "../../kit/dialog.js";
import { Choice, Field, Form, Toggle } from "../../kit/form.js";
import { Chip } from "../../kit/state.js";
import { showToast } from "../../kit/toast.js";
import { counted } from "../../words.js";

/**
 * @typedef {{line: number, name: string, words: string, command: string, is_known: boolean, problems: {field: string, reason: string}[]}} Made
 * @typedef {{jobs: Made[], left_out: {line: number, text: string, reason: string}[], obstacles: string[], done: number}} Plan
 */

/** @param {{onClose: () => void, onDone: () => void}} props */
export function ImportDialog({ onClose, onDone }) {
  const [form, setForm] = useState("crontab");
  const [text, setText] = useState("");
  const [users, setUsers] = useState(false);
  const [replace, setReplace] = useState(false);
  const [plan, setPlan] = useState(/** @type {Plan | null} */ (null));
  const change = (/** @type {() => void} */ act) => {
    act();
    setPlan(null);
  };
  const body = { text, form, users: users && form === "crontab", replace };
  const canDo = plan && plan.jobs.length > 0 && plan.obstacles.length === 0;
  const submit = async () => {
    if (!canDo) {
      setPlan(await post("/cron/import/preview", body));
      return;
    }
    const { done } = await post("/cron/import", body);
    showToast(`${counted(done, "job")} imported.`);
    onDone();
  };
  return html`<${Dialog} title="Import jobs" onClose=${onClose} wide>
    <${Form} onSubmit=${submit} submit=${canDo ? `Import ${counted(plan.jobs.length, "job")}` : "Preview"} disabled=${!text.trim()} cancel=${onClose}>
      <${Choice} label="Format" value=${form} options=${[["crontab", "Crontab"], ["json", "JSON export"]]} onChange=${(/** @type {string} */ to) => change(() => setForm(to))} />
      <${Field} label=${form === "crontab" ? "Crontab" : "Exported JSON"} name="text" mono rows=${8} value=${text} spellcheck=${false}
        placeholder=${form === "crontab" ? "30 2 * * * /usr/local/bin/backup --all" : '{"backup": {"cron_args": …}}'}
        onInput=${(/** @type {string} */ to) => change(() => setText(to))} />
      ${form === "crontab" && html`<${Toggle} label="Lines have a user column, as in /etc/crontab" checked=${users} onChange=${(/** @type {boolean} */ to) => change(() => setUsers(to))} />`}
      <${Toggle} label="Replace jobs with the same name" checked=${replace} onChange=${(/** @type {boolean} */ to) => change(() => setReplace(to))} />
      ${plan && html`<${Planned} plan=${plan} />`}
    <//>
  <//>`;
}

/** @param {{plan: Plan}} props */
function Planned({ plan }) {
  return html`<div class="stack" role="status">
    ${plan.obstacles.length > 0 && html`<div class="failed"><ul>${plan.obstacles.map((one) => html`<li>${one}</li>`)}</ul></div>`}
    ${plan.jobs.length === 0 && html`<p class="soft">No jobs found.</p>`}
    <ul class="plan">
      ${plan.jobs.map((job) => html`<li><strong>${job.name}</strong> ${job.is_known && html`<${Chip} tone="warn">exists already<//>`} ${job.problems.length > 0 && html`<${Chip} tone="bad">invalid<//>`}
        <div>${job.words}</div><code class="soft">${job.command}</code></li>`)}
    </ul>
    ${plan.left_out.length > 0 && html`<div><p>Skipped:</p><ul class="plan">
      ${plan.left_out.map((one) => html`<li>Line ${one.line}: <code>${one.text}</code><div class="soft">${one.reason}</div></li>`)}
    </ul></div>`}
  </div>`;
}
