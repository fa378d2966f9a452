/** The form of a job, with what it would mean beside it. */

import { html } from "htm/preact";
import { useMemo, useState } from "preact/hooks";
import { useFetched } from "../../api.js";
import { Choice, Field, Form, Toggle } from "../../kit/form.js";
import { Card } from "../../kit/layout.js";
import { Advanced, Failing, text, Where } from "./conduct.js";
import { defined, drafted, FIELDS } from "./draft.js";
import { Previewing, usePreview } from "./preview.js";

/** @typedef {import("./draft.js").Draft} Draft */
/** @typedef {{timezone: string, missed_grace: number, kill_after: number, output_limit: number, shell: string, limits: string[]}} Defaults */
/** @typedef {(changes: Partial<Draft>) => void} Change */
/** @typedef {(field: string) => string} Wrong what is wrong with a field, where one may say so already */

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
  const preview = usePreview(name, whole);
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
    <${Form} onSubmit=${() => onSave(name.trim(), whole)} submit=${isNew ? "Add this job" : "Save"} cancel=${cancel} extra=${extra}>
      <${Card} title="What">
        <div class="stack">
          ${isNew && html`<${Field} label="Name" name="name" value=${name} onInput=${setName} placeholder="nightly backup" autofocus
            problem=${name ? (preview.value?.problems.find((one) => one.field === "name")?.reason ?? "") : ""} />`}
          <${Field} label="Command" name="job_args.cmd" mono rows=${Math.min(12, Math.max(3, draft.cmd.split("\n").length))} value=${draft.cmd} spellcheck=${false}
            onInput=${(/** @type {string} */ cmd) => change({ cmd })} problem=${wrong("job_args.cmd")} placeholder="pg_dump shop > /srv/backup/shop.sql"
            hint=${`Given to ${defaults?.shell ?? "the shell"}. It finds WB_JOB, WB_FIRE, WB_ATTEMPT and WB_RUN in its environment.`} />
        </div>
      <//>
      <${When} ...${parts} preview=${preview} />
      <${How} ...${parts} />
      <${Failing} ...${parts} />
      <${Where} ...${parts} />
      <${Advanced} ...${parts} />
      <details class="card"><summary>As JSON</summary><pre class="json">${JSON.stringify(whole, null, 2)}</pre></details>
    <//>
    <aside class="editor-aside"><${Card} title="When it fires"><${Previewing} preview=${preview} /><//></aside>
  </div>`;
}

/** @typedef {{draft: Draft, change: Change, wrong: Wrong, defaults: Defaults | null}} Parts */

/** @param {Parts & {preview: ReturnType<typeof usePreview>}} props */
function When({ draft, change, wrong, defaults, preview }) {
  const zones = useMemo(() => Intl.supportedValuesOf("timeZone"), []);
  const fields = FIELDS.map((name) => html`<${Field} key=${name} label=${name.replaceAll("_", " ")} name=${`cron_args.${name}`} mono value=${draft.fields[name] ?? ""}
    placeholder=${/** @type {Record<string, string>} */ (EXPECTED)[name]} problem=${wrong(`cron_args.${name}`)}
    onInput=${(/** @type {string} */ value) => change({ fields: { ...draft.fields, [name]: value } })} />`);
  return html`<${Card} title="When"><div class="stack">
    <${Choice} label="How the times are said" value=${draft.by} onChange=${(/** @type {any} */ by) => change({ by })}
      options=${[["text", "Expression"], ["fields", "Single fields"]]} />
    ${draft.by === "text"
      ? html`<${Field} label="Schedule" name="cron_args.cronstring" mono value=${draft.cronstring} placeholder="30 2 * * mon-fri" spellcheck=${false}
          onInput=${(/** @type {string} */ cronstring) => change({ cronstring })} problem=${wrong("cron_args.cronstring") || (draft.cronstring && wrong("cron_args"))}
          hint="Minute, hour, day, month, weekday; or @daily, @hourly, @every 90s, @never." />`
      : html`<div class="form-row narrow-row">${fields}</div>${wrong("cron_args") && html`<div class="wrong">${wrong("cron_args")}</div>`}`}
    <${Field} label="Time zone" name="cron_args.timezone" value=${draft.timezone} list=${zones} placeholder=${defaults?.timezone ?? ""}
      onInput=${(/** @type {string} */ timezone) => change({ timezone })} problem=${wrong("cron_args.timezone")} />
    <div class="editor-inline"><${Previewing} preview=${preview} /></div>
    <details open=${Boolean(draft.start_date || draft.end_date || draft.jitter)}><summary>From, until, and spread</summary>
      <div class="form-row">
        ${text("From", "cron_args.start_date", draft.start_date, (start_date) => change({ start_date }), wrong, { placeholder: "2026-01-31 08:00" })}
        ${text("Until", "cron_args.end_date", draft.end_date, (end_date) => change({ end_date }), wrong, { placeholder: "2026-12-31" })}
        ${text("Spread over seconds", "cron_args.jitter", draft.jitter, (jitter) => change({ jitter }), wrong, { placeholder: "0", inputmode: "numeric", hint: "Each fire is delayed by up to so much." })}
      </div>
    </details>
  </div><//>`;
}

/** @param {Parts} props */
function How({ draft, change, wrong, defaults }) {
  return html`<${Card} title="On the fleet"><div class="stack">
    <${Field} label="Who runs a fire" name="sharing" value=${draft.sharing} onInput=${(/** @type {any} */ sharing) => change({ sharing })}
      options=${[["own", "One instance, and one run at a time"], ["named", "One instance, and one run at a time of all jobs that share a lock"], ["everywhere", "Every instance"]]} />
    ${draft.sharing === "named" && text("Name of the lock", "job_args.lock", draft.lock, (lock) => change({ lock }), wrong, { placeholder: "database" })}
    <div class="form-row">
      <${Field} label="While the last run goes on, a fire is" name="watchbell.overlap" value=${draft.overlap} onInput=${(/** @type {string} */ overlap) => change({ overlap })}
        options=${[["", draft.sharing === "everywhere" ? "run as well (usual)" : "skipped (usual)"], ["skip", "skipped"], ["queue", "queued, one of them"], ["allow", "run as well"]]} problem=${wrong("watchbell.overlap")} />
      <${Field} label="Fires that were missed are" name="watchbell.missed" value=${draft.missed} onInput=${(/** @type {string} */ missed) => change({ missed })}
        options=${[["", "left out (usual)"], ["once", "made up for by one run"], ["all", "all made up for, up to 100"]]} problem=${wrong("watchbell.missed")} />
    </div>
    <div class="form-row">
      ${text("Seconds by which one may be late", "watchbell.grace", draft.grace, (grace) => change({ grace }), wrong, { placeholder: String(defaults?.missed_grace ?? ""), inputmode: "numeric" })}
      ${draft.sharing !== "everywhere" && text("Seconds for which a dead lock is kept", "job_args.ttl", draft.ttl, (ttl) => change({ ttl }), wrong, { placeholder: "60", inputmode: "numeric", hint: "A run that can't reach the store for so long is ended." })}
    </div>
    <div class="form-row">
      ${text("Only on these hosts", "watchbell.hosts", draft.hosts, (hosts) => change({ hosts }), wrong, { placeholder: "every host", hint: "Names, with commas." })}
      ${text("Only on instances with these tags", "watchbell.tags", draft.tags, (tags) => change({ tags }), wrong, { placeholder: "any instance", hint: "All of them. An instance has those of its setting cron.tags." })}
    </div>
    <${Toggle} label="Tell alerting how its runs end" name="watchbell.alert" checked=${draft.alert} onChange=${(/** @type {boolean} */ alert) => change({ alert })} hint="A failure is a critical check of the entity cron." />
  </div><//>`;
}
