/** One cron job: its runs, schedule and definition; and the form for a new job. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { ask, get, post, Problem, remove, url, useFetched } from "../api.js";
import { go, usePath, useQuery } from "../location.js";
import { may } from "../session.js";
import { confirm } from "../kit/dialog.js";
import { Button } from "../kit/form.js";
import { Card, Empty, Facts, Fetched, Page, Tabs } from "../kit/layout.js";
import { State } from "../kit/state.js";
import { attempt, showToast, showToastWithUndo } from "../kit/toast.js";
import { Bars } from "../runs/bars.js";
import { Next } from "./cron.js";
import { Editor } from "./cron/editor.js";
import { Missed } from "./cron/missed.js";
import { ChangeStream, useChanges } from "./cron/changes.js";
import { Fires } from "./cron/preview.js";
import { Runs } from "./cron/runs.js";
import { counted } from "../words.js";
import { barOf, jobLink, runLink, Status } from "./cron/words.js";

/** @typedef {{row: import("./cron/words.js").Job, definition: any, is_masked: boolean, version: string, obstacle: string, fires: import("./cron/preview.js").Fire[]}} Shown */

const above = html`<a href="/cron">Cron</a>`;

export default function CronJob() {
  const path = usePath();
  const [query] = useQuery();
  const name = query.get("name") ?? "";
  if (path === "/cron/new") return html`<${New} />`;
  if (!name) return html`<${Page} title="Job" above=${above}><${Empty} title="No job selected." action=${html`<${Button} href="/cron">Show all jobs<//>`} /><//>`;
  return html`<${Known} key=${name} name=${name} />`;
}

function New() {
  const save = async (/** @type {string} */ name, /** @type {any} */ definition) => {
    const saved = await post("/cron/jobs", { name, definition });
    showToast(`${saved.name} created. It runs ${saved.words}.`);
    go(jobLink(saved.name));
  };
  return html`<${Page} wide title="New job" above=${above}><${Editor} isNew name="" definition=${null} onSave=${save} cancel=${() => go("/cron")} /><//>`;
}

/** @param {{name: string}} props */
function Known({ name }) {
  const fetched = useFetched(url("/cron/job", { name }));
  useChanges(fetched.reload, 500);
  const shown = /** @type {Shown | null} */ (fetched.value);
  if (!shown) return html`<${Page} title=${name} above=${above}><${Fetched} of=${fetched} lines=${8}>${() => null}<//><//>`;
  return html`<${ChangeStream} /><${Body} shown=${shown} reload=${fetched.reload} />`;
}

/** @param {{shown: Shown, reload: () => void}} props */
function Body({ shown, reload }) {
  const [query] = useQuery();
  const { row } = shown;
  const tab = query.get("tab") ?? "runs";
  return html`<${Page} wide title=${row.name} above=${above}
    lead=${html`<span class="run-lead"><${Standing} row=${row} /> <span>${row.words}</span></span>`} actions=${html`<${Acts} row=${row} reload=${reload} />`}>
    ${row.problems.length > 0 && html`<div class="failed" role="alert"><ul>${row.problems.map((one) => html`<li>${one.field && `${one.field}: `}${one.reason}</li>`)}</ul></div>`}
    ${shown.obstacle && html`<div class="notice notice-warn" role="status">This job can't run: ${shown.obstacle}.</div>`}
    <${Tabs} tabs=${[["runs", "Runs"], ["definition", may("write") ? "Edit" : "Definition"], ["missed", "Missed"]]} />
    ${tab === "definition" ? html`<${Definition} shown=${shown} reload=${reload} />` : tab === "missed" ? html`<${Missed} job=${row.name} />` : html`<${Course} shown=${shown} />`}
  <//>`;
}

/** @param {{row: Shown["row"]}} props */
function Standing({ row }) {
  if (row.state === "invalid") return html`<${State} state="critical" word="invalid" />`;
  if (row.state === "paused") return html`<${State} state="paused" word="paused" />`;
  if (row.state === "running") return html`<${Status} status="running" />`;
  return row.last ? html`<${Status} status=${row.last.status} />` : html`<${State} state="none" word="never ran" />`;
}

/** @param {{row: Shown["row"], reload: () => void}} props */
function Acts({ row, reload }) {
  if (!may("operate")) return null;
  const send = async (/** @type {string} */ verb) => {
    const { items } = await post(`/cron/jobs/${verb}`, { names: [row.name] });
    if (!items[0].done) throw new Problem(422, items[0].reason);
    return items[0];
  };
  const act = (/** @type {string} */ verb, /** @type {string} */ done, /** @type {[verb: string, done: string] | []} */ [back, undone] = []) => async () => {
    if (await attempt(() => send(verb))) showToastWithUndo(done, back ? () => send(back) : undefined, undone, reload);
    reload();
  };
  const run = async () => {
    await attempt(() => send("trigger"), triggered);
    reload();
  };
  const [paused, resumed] = ["Job paused.", "Job resumed."];
  return html`${row.is_paused
      ? html`<${Button} onClick=${act("resume", resumed, ["pause", paused])}>Resume<//>`
      : html`<${Button} onClick=${act("pause", paused, ["resume", resumed])}>Pause<//>`}
    <${Button} kind="main" disabled=${row.problems.length > 0} onClick=${run}>Run now<//>`;
}

/** @param {{runs: string[], reason: string}} item */
function triggered({ runs, reason }) {
  if (runs.length === 0) return reason ? `Run requested. Waiting: ${reason}.` : "Run requested.";
  return html`Started ${runs.map((id) => html`<a href=${runLink(id)}>run ${id.slice(0, 8)}</a> `)}`;
}

/** @param {{shown: Shown}} props */
function Course({ shown }) {
  const { row, fires } = shown;
  const recent = useFetched(url("/cron/runs", { job: row.name, limit: 100 }));
  useChanges(recent.reload, 500);
  return html`<div class="job-columns">
      <${Card} title="Duration of recent runs">
        ${recent.value?.items.length ? html`<${Bars} spans=${recent.value.items.map(barOf)} />` : html`<p class="soft">No finished runs yet.</p>`}
      <//>
      <${Card} title="Next runs" actions=${html`<${Next} job=${row} />`}>
        ${fires.length > 0 ? html`<${Fires} words="" fires=${fires.slice(0, 5)} />` : html`<p class="soft">${row.is_paused ? "This job is paused." : "This job has no schedule."}</p>`}
      <//>
    </div>
    <${Runs} job=${row.name} />`;
}

/** @param {{shown: Shown, reload: () => void}} props */
function Definition({ shown, reload }) {
  // Keep the form's content if the job changes in the meantime.
  const [base, setBase] = useState(shown);
  const [isOutdated, setIsOutdated] = useState(false);
  const { name } = base.row;
  if (!may("write")) return html`<${ReadOnly} shown=${shown} />`;
  if (base.definition === null || typeof base.definition !== "object") {
    return html`<${Empty} title="The definition can't be read." action=${html`<${Removal} name=${name} />`}>It is not a JSON object. Delete the job and create it again.<//>`;
  }
  const reloadForm = () =>
    attempt(async () => {
      setBase(await get(url("/cron/job", { name })));
      setIsOutdated(false);
    });
  const save = async (/** @type {string} */ _, /** @type {any} */ definition) => {
    try {
      const saved = await ask("PUT", url("/cron/job", { name }), { definition }, { headers: { "if-match": base.version } });
      showToast(`Saved. It runs ${saved.words}.`);
      go(jobLink(name));
      reload();
    } catch (error) {
      setIsOutdated(error instanceof Problem && error.status === 412);
      throw error;
    }
  };
  return html`${isOutdated && html`<div class="notice notice-warn notice-wide"><span>Your changes were not saved: somebody else changed this job.</span>
      <${Button} onClick=${reloadForm}>Discard my changes and reload<//></div>`}
    <${Editor} key=${base.version} name=${name} isNew=${false} definition=${base.definition} onSave=${save} extra=${html`<${Removal} name=${name} />`} />`;
}

/** @param {{name: string}} props */
function Removal({ name }) {
  const ask = () =>
    confirm({
      title: `Delete ${name}?`,
      words: "The job and the history of its runs are deleted. Current runs continue. This can't be undone.",
      yes: "Delete",
      async act() {
        await remove(url("/cron/job", { name }));
        showToast(`${name} deleted.`);
        go("/cron");
      },
    });
  return html`<${Button} kind="danger" onClick=${ask}>Delete<//>`;
}

/** As `Time limit`. @param {string} name */
function sentence(name) {
  return name.charAt(0).toUpperCase() + name.slice(1).replaceAll("_", " ");
}

/** @param {{shown: Shown}} props */
function ReadOnly({ shown }) {
  const { cron_args: when = {}, job_args: args = {}, watchbell: settings = {} } = shown.definition ?? {};
  const rows = Object.entries({ ...settings, environment: undefined, limits: undefined })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => /** @type {[any, any]} */ ([sentence(name), String(value)]));
  const variables = Object.keys(settings.environment ?? {});
  return html`<${Card}><${Facts} rows=${[
    ["Command", html`<pre class="json">${String(args.cmd ?? "")}</pre>`],
    ["Schedule", html`<code>${Object.entries(when).map(([name, value]) => (name === "cronstring" ? value : `${name} ${value}`)).join(", ")}</code>`],
    ["Lock", typeof args.lock === "string" ? args.lock : args.lock ? "own lock" : "none: every instance runs it"],
    ...rows,
    variables.length > 0 && ["Environment", html`${variables.map((name) => html`<code>${name}</code> `)}<span class="soft">${counted(variables.length, "value")} hidden</span>`],
  ]} /><//>`;
}
