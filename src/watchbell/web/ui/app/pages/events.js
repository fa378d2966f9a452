/** The list of events with next and last run, filters and bulk actions. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { post, url, useList } from "../api.js";
import { useCell } from "../cell.js";
import { useQuery } from "../location.js";
import { may } from "../session.js";
import { confirm } from "../kit/dialog.js";
import { Button, Choice, Search } from "../kit/form.js";
import { Card, Empty, Page } from "../kit/layout.js";
import { Chip, State } from "../kit/state.js";
import { Listed } from "../kit/table.js";
import { When } from "../kit/time.js";
import { attempt } from "../kit/toast.js";
import { Sparkline } from "../runs/bars.js";
import { clock, lasting, took } from "../times.js";
import { counted } from "../words.js";
import { ChangeStream, useChanges } from "./events/changes.js";
import { ImportDialog } from "./events/import.js";
import { Dot, Ended, eventLink, jobLink, isWorkflow, recentBars, titleOf, useOptions, verdictOf, WORKFLOW } from "./events/words.js";

/** @typedef {import("./events/words.js").EventRow} EventRow */
/** @typedef {import("./events/words.js").Options} Options */

const PAGE = 50;
const SETTLED_MS = 1_000;
/** @type {[kind: string, words: string, query: Record<string, string>, look: string][]} */
const KINDS = [
  ["failing", "Failing", { failing: "true" }, "bad"],
  ["running", "Running", { running: "true" }, "soft"],
  ["disabled", "Disabled", { enabled: "false" }, "soft"],
  ["invalid", "Invalid", { invalid: "true" }, "bad"],
];
/** @type {[sort: string, words: string][]} */
const SORTS = [["title", "Title"], ["next", "Next run"], ["-last", "Last run"], ["-modified", "Last change"]];
const EXPORT = "/api/v1/events/export";
const MORE = ["category", "plugin", "target", "tag"];
const FILTERS = ["text", "kind", ...MORE];

export default function Events() {
  const [query, setQuery] = useQuery();
  const [selected, setSelected] = useState(/** @type {Set<string>} */ (new Set()));
  const options = useOptions();
  const given = Object.fromEntries(FILTERS.map((name) => [name, query.get(name) ?? ""]));
  const sort = query.get("sort") ?? "title";
  const status = KINDS.find(([kind]) => kind === given.kind)?.[2] ?? {};
  const list = useList(url("/events", { ...given, kind: null, ...status, sort: sort === "title" ? "" : sort, limit: PAGE }));
  // Keep the place of readers who have loaded more pages.
  useChanges(() => list.items.length <= PAGE && list.reload(), SETTLED_MS);
  const isFiltered = FILTERS.some((name) => given[name]);
  const clear = () => setQuery(Object.fromEntries(FILTERS.map((name) => [name, null])));
  const [isImporting, setIsImporting] = useState(false);
  const startImport = () => setIsImporting(true);
  const actions = html`${may("bulk_export") && list.items.length > 0 && html`<a class="button" href=${EXPORT} download="events.json">Export</a>`}
    ${may("create_events") && html`<${Button} onClick=${startImport}>Import<//><${Button} href="/events/new?type=workflow">New workflow<//><${Button} kind="main" href="/events/new">New event<//>`}`;
  return html`<${Page} wide title="Events" actions=${actions}>
    <${ChangeStream} />
    ${(isFiltered || list.items.length > 0) && html`<${Filters} options=${options.value} counts=${list.first?.counts} sort=${sort} />`}
    ${selected.size > 0 && html`<${Bulk} ids=${[...selected]} onClear=${() => setSelected(new Set())} onDone=${() => {
      setSelected(new Set());
      list.reload();
    }} />`}
    <div class="jobs"><${Card} flush>
      <${Listed} list=${list} columns=${columns(options.value)} label="Events" id=${(/** @type {EventRow} */ row) => row.id} to=${(/** @type {EventRow} */ row) => eventLink(row.id)}
        ...${may("run_jobs") ? { selected, onSelect: setSelected } : {}}
        empty=${isFiltered
          ? html`<${Empty} title="No events match these filters." action=${html`<${Button} onClick=${clear}>Clear filters<//>`} />`
          : html`<${NoEvents} onImport=${startImport} />`} />
    <//></div>
    ${list.first && list.first.total > 0 && html`<p class="soft" role="status">${counted(list.first.total, "event")}</p>`}
    ${isImporting && html`<${ImportDialog} targets=${options.value?.targets ?? []} onClose=${() => setIsImporting(false)} onDone=${() => {
      setIsImporting(false);
      list.reload();
      options.reload();
    }} />`}
  <//>`;
}

/** @param {{onImport: () => void}} props */
function NoEvents({ onImport }) {
  const action = may("create_events") && html`<div class="actions"><${Button} kind="main" href="/events/new">Create your first event<//><${Button} onClick=${onImport}>Import events<//></div>`;
  return html`<${Empty} title="No events yet." action=${action}>An event says what to run, where and when. Each run of it is a job.<//>`;
}

/** @param {{options: Options | null, counts: Record<string, number> | undefined, sort: string}} props */
function Filters({ options, counts, sort }) {
  const [query, setQuery] = useQuery();
  const [isOpen, setIsOpen] = useState(MORE.some((name) => query.get(name)));
  const kinds = [
    ["", html`All${counts && html` <span class="soft">${(counts.all ?? 0).toLocaleString("en")}</span>`}`],
    ...KINDS.filter(([kind]) => kind !== "invalid" || counts?.invalid || query.get("kind") === kind).map(([kind, words, , look]) => [kind, html`${words}${(counts?.[kind] ?? 0) > 0 && html` <span class=${look}>${counts?.[kind]?.toLocaleString("en")}</span>`}`]),
  ];
  /** @type {[name: string, words: string, among: {id: string, title: string}[]][]} */
  const selects = [
    ["category", "category", options?.categories ?? []],
    ["plugin", "plugin", [...(options?.plugins ?? []), { id: WORKFLOW, title: "Workflow" }]],
    ["target", "target", options?.targets ?? []],
    ["tag", "tag", options?.tags ?? []],
  ];
  return html`<div class="bar-of">
      <${Search} value=${query.get("text") ?? ""} onSearch=${(/** @type {string} */ text) => setQuery({ text })} placeholder="Filter by title or notes" />
      <${Choice} label="Filter by status" value=${query.get("kind") ?? ""} options=${kinds} onChange=${(/** @type {string} */ kind) => setQuery({ kind })} />
      <${Button} aria-expanded=${isOpen ? "true" : "false"} onClick=${() => setIsOpen(!isOpen)}>Filters<//>
      <select aria-label="Sort by" value=${sort} onChange=${(/** @type {any} */ event) => setQuery({ sort: event.currentTarget.value === "title" ? null : event.currentTarget.value })}>
        ${SORTS.map(([one, words]) => html`<option value=${one} selected=${one === sort}>${words}</option>`)}
      </select>
    </div>
    ${isOpen && html`<div class="bar-of">
      ${selects.map(([name, words, among]) => {
        const value = query.get(name) ?? "";
        return html`<select key=${name} aria-label=${`Filter by ${words}`} value=${value} onChange=${(/** @type {any} */ event) => setQuery({ [name]: event.currentTarget.value })}>
          <option value="">Any ${words}</option>
          ${[...among, ...(value && !among.some((one) => one.id === value) ? [{ id: value, title: value }] : [])].map((one) => html`<option value=${one.id} selected=${one.id === value}>${one.title || one.id}</option>`)}
        </select>`;
      })}
      <${Button} kind="quiet" onClick=${() => setQuery(Object.fromEntries(MORE.map((name) => [name, null])))}>Clear<//>
    </div>`}`;
}

/** @param {Options | null} options @returns {import("../kit/table.js").Column<EventRow>[]} */
function columns(options) {
  return [
    { head: "Event", kind: "main", cell: (row) => html`<div class="job-name"><a href=${eventLink(row.id)}>${row.title}</a>
      ${row.problem
        ? html`<div class="bad">${row.problem}</div>`
        : html`<div class="event-about soft"><${Dot} color=${options?.categories.find((one) => one.id === row.category)?.color} /> <span>${titleOf(options?.categories, row.category)}</span>
            ${isWorkflow(row) ? html`<${Chip}>Workflow<//>` : html`<span>· ${titleOf(options?.plugins, row.plugin)}</span>`} ${row.tags.map((tag) => html`<${Chip} tone="soft" href=${url("/events", { tag })}>${titleOf(options?.tags, tag)}<//>`)}</div>`}</div>` },
    { head: "Runs", cell: (row) => html`<div class="job-words">${row.words || html`<span class="soft">–</span>`}</div>` },
    { head: "Next run", cell: (row) => html`<${Next} row=${row} />` },
    { head: "Last run", cell: (row) => html`<${Last} row=${row} />` },
    { head: "Recent jobs", kind: "tight", cell: (row) => html`<${Sparkline} spans=${recentBars(row)} />` },
  ];
}

/** @param {{row: EventRow}} props */
export function Next({ row }) {
  const now = useCell(clock);
  if (row.status === "invalid") return html`<${State} state="critical" word="invalid" />`;
  if (!row.enabled) return html`<${State} state="disabled" word="disabled" />`;
  const at = row.next.find((time) => time > now) ?? row.next.at(-1);
  if (at === undefined) return html`<span class="soft">on demand</span>`;
  return html`<div class="pair-of"><span><${When} at=${at} as="short" /></span><span class="soft">${at > now ? `in ${lasting(at - now, 2)}` : "now"}</span></div>`;
}

/** @param {{row: EventRow}} props */
function Last({ row }) {
  const busy = [row.running > 0 && `${row.running} running`, row.queued > 0 && `${row.queued} queued`].filter(Boolean).join(", ");
  const last = row.last && html`<a href=${jobLink(row.last.id)}><${Ended} verdict=${verdictOf(row.last.code)} /></a>
    <span class="soft"><${When} at=${row.last.completed} /> · ${took(row.last.elapsed)}</span>`;
  if (!last && !busy) return html`<span class="soft">never</span>`;
  return html`<div class="pair-of">${busy && html`<${State} state=${row.running > 0 ? "running" : "acknowledged"} word=${busy} />`}${last}</div>`;
}

/** @param {{ids: string[], onDone: () => void, onClear: () => void}} props */
function Bulk({ ids, onDone, onClear }) {
  const send = (/** @type {string} */ action, /** @type {string} */ done) =>
    attempt(
      () => post("/events/bulk", { ids, action }),
      (/** @type {{items: {id: string, problem: string}[]}} */ { items }) => {
        const failed = items.filter((one) => one.problem);
        const good = `${counted(items.length - failed.length, "event")} ${done}.`;
        return failed.length ? `${good} Skipped: ${failed.map((one) => `${one.id} (${one.problem})`).join(", ")}` : good;
      },
    );
  const act = (/** @type {string} */ action, /** @type {string} */ done) => async () => {
    if (await send(action, done)) onDone();
  };
  const remove = () =>
    confirm({
      title: `Delete ${counted(ids.length, "event")}?`,
      words: "Jobs in progress continue, and finished jobs are kept. A deleted event can be restored from its history for 90 days.",
      yes: "Delete",
      act: act("delete", "deleted"),
    });
  return html`<div class="bar-of bulk" role="group" aria-label="Actions for the selected events">
    <strong>${counted(ids.length, "event")} selected</strong>
    <${Button} onClick=${act("run", "started")}>Run now<//>
    ${may("edit_events") && html`<${Button} onClick=${act("enable", "enabled")}>Enable<//><${Button} onClick=${act("disable", "disabled")}>Disable<//>`}
    ${may("bulk_export") && html`<a class="button" href=${url(EXPORT, { id: ids })} download="events.json">Export</a>`}
    ${may("delete_events") && html`<${Button} kind="danger" onClick=${remove}>Delete<//>`}
    <${Button} kind="quiet" onClick=${onClear}>Clear selection<//>
  </div>`;
}
