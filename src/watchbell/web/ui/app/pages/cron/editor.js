/** The form of a job, with a preview of its next runs. */

import { html } from "htm/preact";
import { useMemo, useState } from "preact/hooks";
import { useFetched } from "../../api.js";
import { Choice, Field, Form, Toggle } from "../../kit/form.js";
import { Card } from "../../kit/layout.js";
import { usePreview } from "../../runs/preview.js";
import { Advanced, Environment, Failures, text } from "./editor_sections.js";
import { defined, drafted, FIELDS } from "./draft.js";
import { Previewing } from "./preview.js";

/** @typedef {import("./draft.js").Draft} Draft */
/** @typedef {{timezone: string, missed_grace: number, kill_after: number, output_limit: number, shell: string, limits: string[]}} Defaults */
/** @typedef {(changes: Partial<Draft>) => void} Change */
/** @typedef {(field: string) => string} Wrong the error of a field, once it was edited */

/** @type {Record<string, string>} */
const FIELD_LABELS = {
  year: "Year", month: "Month", day: "Day", week: "Week", day_of_week: "Day of week", hour: "Hour", minute: "Minute", second: "Second",
};
const EXPECTED = {
  year: "2026", month: "1-3, jun", day: "1, 15, last, 2nd mon", week: "1-53", day_of_week: "mon-fri", hour: "8-18", minute: "*/15", second: "0",
};

/**
 * @param {{name: string, definition: any, isNew: boolean, onSave: (name: string, definition: any) => Promise<any>,
 *   cancel?: () => void, extra?: any}} props
 */
export function Editor({ name: given, definition, isNew, onSave, cancel, extra }) {
  const [name, setName] = useState(given);
  const [draft, setDraft] = useState(() => drafted(definition));
  const [touched, setTouched] = useState(/** @type {Set<string>} */ (new Set()));
  const defaults = /** @type {Defaults | null} */ (useFetched("/cron/defaults").value);
  const whole = useMemo(() => defined(draft, definition), [draft, definition]);
  const preview = /** @type {import("../../runs/preview.js").Preview<import("./preview.js").Previewed>} */ (usePreview("/cron/preview", { name: name || "preview", definition: whole, count: 8 }));
  /** @type {Change} */
  const change = (changes) => {
    setDraft({ ...draft, ...changes });
    setTouched(new Set([...touched, ...Object.keys(changes)]));
  };
  /** @type {Wrong} */
  const wrong = (field) => {
    const last = field.split(".").at(-1) ?? "";
    const hasBeen = !isNew || touched.has(last) || (field.startsWith("cron_args") && touched.has("fields"));
    const found = hasBeen ? preview.value?.problems.find((one) => one.field === field) : undefined;
    return found?.reason ?? "";
  };
  const parts = { draft, change, wrong, defaults };
  return html`<div class="editor">
    <${Form} onSubmit=${() => onSave(name.trim(), whole)} submit=${isNew ? "Create job" : "Save"} cancel=${cancel} extra=${extra}>
      <${Card} title="Job">
        <div class="stack">
          ${isNew && html`<${Field} label="Name" name="name" value=${name} onInput=${setName} placeholder="nightly backup" autofocus
            problem=${name ? (preview.value?.problems.find((one) => one.field === "name")?.reason ?? "") : ""} />`}
          <${Field} label="Command" name="job_args.cmd" mono rows=${Math.min(12, Math.max(3, draft.cmd.split("\n").length))} value=${draft.cmd} spellcheck=${false}
            onInput=${(/** @type {string} */ cmd) => change({ cmd })} problem=${wrong("job_args.cmd")} placeholder="pg_dump shop > /srv/backup/shop.sql"
            hint=${`Run by ${defaults?.shell ?? "the shell"}, with WB_JOB, WB_FIRE, WB_ATTEMPT and WB_RUN in its environment.`} />
        </div>
      <//>
      <${When} ...${parts} preview=${preview} />
      <${How} ...${parts} />
      <${Failures} ...${parts} />
      <${Environment} ...${parts} />
      <${Advanced} ...${parts} />
      <details class="card"><summary>JSON</summary><pre class="json">${JSON.stringify(whole, null, 2)}</pre></details>
    <//>
    <aside class="editor-aside"><${Card} title="Next runs"><${Previewing} preview=${preview} /><//></aside>
  </div>`;
}

/** @typedef {{draft: Draft, change: Change, wrong: Wrong, defaults: Defaults | null}} Parts */

/** @param {Parts & {preview: import("../../runs/preview.js").Preview<import("./preview.js").Previewed>}} props */
function When({ draft, change, wrong, defaults, preview }) {
  const zones = useMemo(() => Intl.supportedValuesOf("timeZone"), []);
  const fields = FIELDS.map((name) => html`<${Field} key=${name} label=${FIELD_LABELS[name]} name=${`cron_args.${name}`} mono value=${draft.fields[name] ?? ""}
    placeholder=${/** @type {Record<string, string>} */ (EXPECTED)[name]} problem=${wrong(`cron_args.${name}`)}
    onInput=${(/** @type {string} */ value) => change({ fields: { ...draft.fields, [name]: value } })} />`);
  return html`<${Card} title="Schedule"><div class="stack">
    <${Choice} label="Format" value=${draft.by} onChange=${(/** @type {any} */ by) => change({ by })}
      options=${[["text", "Expression"], ["fields", "Fields"]]} />
    ${draft.by === "text"
      ? html`<${Field} label="Schedule" name="cron_args.cronstring" mono value=${draft.cronstring} placeholder="30 2 * * mon-fri" spellcheck=${false}
          onInput=${(/** @type {string} */ cronstring) => change({ cronstring })} problem=${wrong("cron_args.cronstring") || (draft.cronstring && wrong("cron_args"))}
          hint="Minute, hour, day, month, weekday; or @daily, @hourly, @every 90s, @never." />`
      : html`<div class="form-row narrow-row">${fields}</div>${wrong("cron_args") && html`<div class="wrong">${wrong("cron_args")}</div>`}`}
    <${Field} label="Time zone" name="cron_args.timezone" value=${draft.timezone} list=${zones} placeholder=${defaults?.timezone ?? ""}
      onInput=${(/** @type {string} */ timezone) => change({ timezone })} problem=${wrong("cron_args.timezone")} />
    <div class="editor-inline"><${Previewing} preview=${preview} /></div>
    <details open=${Boolean(draft.start_date || draft.end_date || draft.jitter)}><summary>Start, end and jitter</summary>
      <div class="form-row">
        ${text("Start", "cron_args.start_date", draft.start_date, (start_date) => change({ start_date }), wrong, { placeholder: "2026-01-31 08:00" })}
        ${text("End", "cron_args.end_date", draft.end_date, (end_date) => change({ end_date }), wrong, { placeholder: "2026-12-31" })}
        ${text("Jitter (seconds)", "cron_args.jitter", draft.jitter, (jitter) => change({ jitter }), wrong, { placeholder: "0", inputmode: "numeric", hint: "Each run is delayed at random by up to this much." })}
      </div>
    </details>
  </div><//>`;
}

/** @param {Parts} props */
function How({ draft, change, wrong, defaults }) {
  return html`<${Card} title="Execution"><div class="stack">
    <${Field} label="Run on" name="sharing" value=${draft.sharing} onInput=${(/** @type {any} */ sharing) => change({ sharing })}
      options=${[["own", "One instance, one run at a time"], ["named", "One instance, one run at a time across jobs that share a lock"], ["everywhere", "Every instance"]]} />
    ${draft.sharing === "named" && text("Lock name", "job_args.lock", draft.lock, (lock) => change({ lock }), wrong, { placeholder: "database" })}
    <div class="form-row">
      <${Field} label="If the previous run is still running" name="watchbell.overlap" value=${draft.overlap} onInput=${(/** @type {string} */ overlap) => change({ overlap })}
        options=${[["", draft.sharing === "everywhere" ? "Run in parallel (default)" : "Skip (default)"], ["skip", "Skip"], ["queue", "Queue one run"], ["allow", "Run in parallel"]]} problem=${wrong("watchbell.overlap")} />
      <${Field} label="Missed runs" name="watchbell.missed" value=${draft.missed} onInput=${(/** @type {string} */ missed) => change({ missed })}
        options=${[["", "Skip (default)"], ["once", "Run once"], ["all", "Run all, up to 100"]]} problem=${wrong("watchbell.missed")} />
    </div>
    <div class="form-row">
      ${text("Allowed delay (seconds)", "watchbell.grace", draft.grace, (grace) => change({ grace }), wrong, { placeholder: String(defaults?.missed_grace ?? ""), inputmode: "numeric" })}
      ${draft.sharing !== "everywhere" && text("Lock timeout (seconds)", "job_args.ttl", draft.ttl, (ttl) => change({ ttl }), wrong, { placeholder: "60", inputmode: "numeric", hint: "A run that loses the store for this long is stopped." })}
    </div>
    <div class="form-row">
      ${text("Hosts", "watchbell.hosts", draft.hosts, (hosts) => change({ hosts }), wrong, { placeholder: "any host", hint: "Host names, separated by commas." })}
      ${text("Instance tags", "watchbell.tags", draft.tags, (tags) => change({ tags }), wrong, { placeholder: "any instance", hint: "The instance must have all of them (setting cron.tags)." })}
    </div>
    <${Toggle} label="Alert on failures" name="watchbell.alert" checked=${draft.alert} onChange=${(/** @type {boolean} */ alert) => change({ alert })} hint="A failed run makes the check of this job on the entity cron critical." />
  </div><//>`;
}
