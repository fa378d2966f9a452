/** One event: how it is doing, its definition and its history; and the form for a new event. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { ask, get, post, Problem, remove, url, useFetched } from "../api.js";
import { go, usePath, useQuery } from "../location.js";
import { may } from "../session.js";
import { confirm } from "../kit/dialog.js";
import { Button } from "../kit/form.js";
import { Empty, Fetched, Page, Tabs } from "../kit/layout.js";
import { attempt, showToast, showToastWithUndo } from "../kit/toast.js";
import { ChangeStream, useChanges } from "./events/changes.js";
import { Editor } from "./events/editor.js";
import { Overview } from "./events/overview.js";
import { Revisions } from "./events/revisions.js";
import { RunDialog } from "./events/run_dialog.js";
import { eventLink, EventStatus, isWorkflow, useOptions } from "./events/words.js";
import { WorkflowForm } from "./workflow/form.js";

/** @typedef {import("./events/words.js").EventShown} EventShown */
/** @typedef {import("./events/words.js").Options} Options */

const above = html`<a href="/events">Events</a>`;

export default function Event() {
  const path = usePath();
  const [query] = useQuery();
  const id = query.get("id") ?? "";
  if (path === "/events/new") return html`<${New} key=${query.toString()} from=${query.get("from") ?? ""} plugin=${query.get("plugin") ?? ""} type=${query.get("type") ?? ""} />`;
  if (!id) return html`<${Page} title="Event" above=${above}><${Empty} title="No event selected." action=${html`<${Button} href="/events">Show all events<//>`} /><//>`;
  return html`<${Known} key=${id} id=${id} />`;
}

/** @param {{from: string, plugin: string, type: string}} props `from`: the event to copy */
function New({ from, plugin, type }) {
  const options = useOptions();
  const source = useFetched(from ? `/events/${encodeURIComponent(from)}` : null);
  const save = async (/** @type {any} */ body) => {
    const saved = await post("/events", body);
    showToast(`${body.title} created. It runs ${saved.words}.`);
    go(eventLink(saved.id), { ask: false });
  };
  const copied = source.value && { ...source.value.event, title: `Copy of ${source.value.event.title}` };
  const isReady = options.value && (!from || copied);
  const isGraph = type === "workflow" || (copied && isWorkflow(copied));
  return html`<${Page} wide title=${isGraph ? "New workflow" : "New event"} above=${above}>
    ${isReady
      ? html`<${isGraph ? WorkflowForm : Editor} isNew event=${copied ?? (plugin ? { plugin } : null)} options=${options.value} onSave=${save} cancel=${() => go("/events")} />`
      : html`<${Fetched} of=${from && options.value ? source : options} lines=${8}>${() => null}<//>`}
  <//>`;
}

/** @param {{id: string}} props */
function Known({ id }) {
  const fetched = useFetched(`/events/${encodeURIComponent(id)}`);
  const options = useOptions();
  useChanges(fetched.reload, 1_000);
  const shown = /** @type {EventShown | null} */ (fetched.value);
  if (!shown || !options.value) {
    const isGone = fetched.problem?.status === 404;
    return html`<${Page} title=${isGone ? "Deleted event" : "Event"} above=${above}>
      <${Fetched} of=${shown ? options : fetched} lines=${8}>${() => null}<//>
      ${isGone && html`<${Revisions} path=${`/events/${encodeURIComponent(id)}`} canRestore=${may("edit_events")} onRestored=${fetched.reload} empty=${null} />`}
    <//>`;
  }
  return html`<${ChangeStream} /><${Body} shown=${shown} options=${options.value} reload=${fetched.reload} />`;
}

/** @param {{shown: EventShown, options: Options, reload: () => void}} props */
function Body({ shown, options, reload }) {
  const [query] = useQuery();
  const { row, event } = shown;
  const canEdit = may("edit_events") && !shown.is_masked;
  const tab = query.get("tab") ?? "overview";
  const tabs = [["overview", "Overview"], ...(canEdit ? [["edit", "Edit"]] : []), ["history", "History"]];
  return html`<${Page} wide title=${row.title} above=${above} actions=${html`<${Acts} shown=${shown} options=${options} reload=${reload} />`}
    lead=${html`<span class="run-lead"><${EventStatus} status=${row.status} /> <span>${row.words}</span></span>`}>
    ${shown.obstacle && html`<div class="notice notice-warn notice-wide" role="status">It can't run now: ${shown.obstacle}.</div>`}
    <${Tabs} tabs=${tabs} />
    ${tab === "edit" && canEdit
      ? html`<${Edit} shown=${shown} options=${options} reload=${reload} />`
      : tab === "history"
        ? html`<${Revisions} path=${`/events/${encodeURIComponent(event.id)}`} canRestore=${canEdit} current=${event.revision} onRestored=${reload} />`
        : html`<${Overview} shown=${shown} options=${options} />`}
  <//>`;
}

/** @param {{shown: EventShown, options: Options, reload: () => void}} props */
function Acts({ shown, options, reload }) {
  const [isRunning, setIsRunning] = useState(false);
  const { id, enabled } = shown.row;
  const set = (/** @type {boolean} */ to) => post(`/events/${encodeURIComponent(id)}/${to ? "enable" : "disable"}`);
  const toggle = async () => {
    const [done, undone] = enabled ? ["Event disabled.", "Event enabled."] : ["Event enabled.", "Event disabled."];
    if (await attempt(() => set(!enabled))) showToastWithUndo(done, () => set(enabled), undone, reload);
    reload();
  };
  return html`${may("create_events") && html`<${Button} href=${url("/events/new", { from: id })}>Duplicate<//>`}
    ${may("edit_events") && html`<${Button} onClick=${toggle}>${enabled ? "Disable" : "Enable"}<//>`}
    ${may("run_jobs") && html`<${Button} kind="main" onClick=${() => setIsRunning(true)}>Run now<//>`}
    ${isRunning && html`<${RunDialog} event=${shown.event} options=${options} onClose=${() => setIsRunning(false)} onDone=${reload} />`}`;
}

/** @param {{shown: EventShown, options: Options, reload: () => void}} props */
function Edit({ shown, options, reload }) {
  // Keep the form's content if the event changes in the meantime.
  const [base, setBase] = useState(shown);
  const [isOutdated, setIsOutdated] = useState(false);
  const { id, title, revision } = base.event;
  const path = `/events/${encodeURIComponent(id)}`;
  const reloadForm = () =>
    attempt(async () => {
      setBase(await get(path));
      setIsOutdated(false);
    });
  const save = async (/** @type {any} */ body) => {
    try {
      const saved = await ask("PUT", path, body, { headers: { "if-match": `"${revision}"` } });
      showToast(`Saved. It runs ${saved.words}.`);
      go(eventLink(id), { ask: false });
      reload();
    } catch (error) {
      setIsOutdated(error instanceof Problem && error.status === 412);
      throw error;
    }
  };
  const drop = () =>
    confirm({
      title: `Delete ${title}?`,
      words: "Jobs in progress continue, and finished jobs are kept. The event can be restored from its history for 90 days.",
      yes: "Delete",
      async act() {
        await remove(path);
        go("/events", { ask: false });
        showToastWithUndo(`${title} deleted.`, () => post(`${path}/revisions/${revision}/restore`), `${title} restored.`, () => go(eventLink(id)));
      },
    });
  return html`${isOutdated && html`<div class="notice notice-warn notice-wide"><span>Your changes were not saved: somebody else changed this event.</span>
      <${Button} onClick=${reloadForm}>Discard my changes and reload<//></div>`}
    <${isWorkflow(base.event) ? WorkflowForm : Editor} key=${base.event.revision} isNew=${false} event=${base.event} options=${options} onSave=${save} cancel=${() => go(eventLink(id))}
      extra=${may("delete_events") && html`<${Button} kind="danger" onClick=${drop}>Delete<//>`} />
    <details class="card"><summary>JSON</summary><pre class="json">${JSON.stringify(base.event, null, 2)}</pre></details>`;
}
