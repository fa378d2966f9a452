/** Lists of definitions, each with a form: what events are made of, monitors, and alert definitions. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { ask, post, Problem, remove, url, useFetched } from "../../api.js";
import { useQuery } from "../../location.js";
import { may } from "../../session.js";
import { confirm, Dialog } from "../../kit/dialog.js";
import { Button, Form, Search } from "../../kit/form.js";
import { Card, Empty, Fetched, Page } from "../../kit/layout.js";
import { State } from "../../kit/state.js";
import { Table } from "../../kit/table.js";
import { withCode } from "../../kit/text.js";
import { showToast } from "../../kit/toast.js";
import { capitalized, counted } from "../../words.js";
import { ChangeStream, useChanges } from "../events/changes.js";
import { Revisions } from "../events/revisions.js";

/**
 * @typedef {Record<string, any> & {id: string, title: string}} Definition
 * @typedef {{record: Definition, events: number, problem: string}} DefinitionRow
 * @typedef {(changes: Record<string, any>) => void} Change
 * @typedef {{noun: string, plural: string, lead: string, empty: string, filter: string, columns: import("../../kit/table.js").Column<DefinitionRow>[],
 *   Fields: (props: {draft: any, change: Change, isNew: boolean}) => any, blank: Record<string, any>,
 *   body: (draft: any, isNew: boolean) => any, drafted?: (record: any) => any, wide?: boolean,
 *   to?: (id: string) => string, path?: string, rights?: string, actions?: any, notice?: any, canDelete?: (record: Definition) => boolean}} Kind
 *   `plural`: also in paths and privileges, unless `path` and `rights` have other words; `filter`: the
 *   filter of events that use one, empty where events use none; `blank`: what a new one begins with;
 *   `body`: what is sent; `to`: a page of its own in place of the dialog; `actions`: buttons of the
 *   list; `notice`: drawn above it
 */

/** Where the API has a kind. @param {Kind} kind */
const pathOf = (kind) => `/${kind.path ?? kind.plural}`;
/** The end of the names of its privileges. @param {Kind} kind */
const rightsOf = (kind) => kind.rights ?? kind.plural;

/** @param {{kind: Kind}} props */
export function Definitions({ kind }) {
  const { noun, plural } = kind;
  const [query, setQuery] = useQuery();
  const [isNew, setIsNew] = useState(false);
  const fetched = useFetched(pathOf(kind));
  useChanges(fetched.reload, 1_000);
  const rows = /** @type {DefinitionRow[] | null} */ (fetched.value);
  const text = (query.get("text") ?? "").toLowerCase();
  const shown = rows?.filter(({ record }) => `${record.title} ${record.id} ${record.notes ?? ""}`.toLowerCase().includes(text)) ?? [];
  const open = rows?.find((row) => row.record.id === query.get("id"));
  const close = () => {
    setIsNew(false);
    setQuery({ id: null });
  };
  const add = may(`create_${rightsOf(kind)}`) && html`<${Button} kind="main" ...${kind.to ? { href: kind.to("") } : { onClick: () => setIsNew(true) }}>New ${noun}<//>`;
  const to = kind.to ?? ((/** @type {string} */ id) => url(pathOf(kind), { text, id }));
  return html`<${Page} title=${capitalized(plural)} lead=${kind.lead} actions=${html`${kind.actions}${add}`}>
    <${ChangeStream} />
    ${kind.notice}
    ${(rows?.length ?? 0) > 8 && html`<div class="bar-of"><${Search} value=${query.get("text") ?? ""} onSearch=${(/** @type {string} */ typed) => setQuery({ text: typed })} placeholder="Filter by title or notes" /></div>`}
    <${Card} flush><${Fetched} of=${fetched} lines=${5}>${() =>
      shown.length === 0
        ? text
          ? html`<${Empty} title=${`No ${plural} match this filter.`} action=${html`<${Button} onClick=${() => setQuery({ text: null })}>Clear filter<//>`} />`
          : html`<${Empty} title=${`No ${plural} yet.`} action=${add}>${kind.empty}<//>`
        : html`<${Table} columns=${[titled(kind, to), ...kind.columns, ...(kind.filter ? [used(kind)] : [])]} rows=${shown} id=${(/** @type {DefinitionRow} */ row) => row.record.id} to=${(/** @type {DefinitionRow} */ row) => to(row.record.id)} label=${capitalized(plural)} />`}<//>
    <//>
    ${!kind.to && (isNew || open) && html`<${Editing} key=${open?.record.id ?? ""} kind=${kind} row=${isNew ? null : (open ?? null)} onClose=${close} onDone=${fetched.reload} />`}
  <//>`;
}

/** @param {Kind} kind @param {(id: string) => string} to @returns {import("../../kit/table.js").Column<DefinitionRow>} */
function titled(kind, to) {
  return { head: capitalized(kind.noun), kind: "main", cell: ({ record, problem }) => html`<div><a href=${to(record.id)}>${record.title}</a>
    ${record.enabled === false && html` <${State} state="disabled" word="disabled" />`}
    ${problem ? html`<div class="bad">${problem}</div>` : record.notes && html`<div class="soft notes-line">${withCode(record.notes)}</div>`}</div>` };
}

/** @param {Kind} kind @returns {import("../../kit/table.js").Column<DefinitionRow>} */
function used(kind) {
  return { head: "Events", kind: "number", cell: ({ record, events }) =>
    events > 0 ? html`<a href=${url("/events", { [kind.filter]: record.id })}>${events.toLocaleString("en")}</a>` : html`<span class="soft">–</span>` };
}

/** @param {{kind: Kind, row: DefinitionRow | null, onClose: () => void, onDone: () => void}} props */
function Editing({ kind, row, onClose, onDone }) {
  const record = row?.record;
  const canEdit = may(`${record ? "edit" : "create"}_${rightsOf(kind)}`);
  const done = () => {
    onDone();
    onClose();
  };
  return html`<${Dialog} title=${record ? record.title : `New ${kind.noun}`} onClose=${onClose} wide=${kind.wide}>
    <${DefinitionForm} kind=${kind} record=${record ?? null} canEdit=${canEdit} onDone=${done} onClose=${onClose} />
    ${record && html`<details class="definition-history"><summary>History</summary>
      <${Revisions} path=${`${pathOf(kind)}/${encodeURIComponent(record.id)}`} current=${record.revision} canRestore=${canEdit} onRestored=${done} />
    </details>`}
  <//>`;
}

/**
 * @param {{kind: Kind, record: Definition | null, canEdit: boolean, onDone: (id: string) => void, onClose: () => void}} props
 *   `record`: null for a new one
 */
export function DefinitionForm({ kind, record, canEdit, onDone, onClose }) {
  const { noun } = kind;
  const [draft, setDraft] = useState(() => (record ? (kind.drafted?.(record) ?? { ...record }) : { ...kind.blank }));
  const change = (/** @type {Record<string, any>} */ changes) => setDraft((/** @type {any} */ old) => ({ ...old, ...changes }));
  const path = record ? `${pathOf(kind)}/${encodeURIComponent(record.id)}` : pathOf(kind);
  const save = async () => {
    const body = kind.body(draft, record === null);
    try {
      const saved = record ? await ask("PUT", path, body, { headers: { "if-match": `"${record.revision}"` } }) : await post(path, body);
      showToast(record ? "Saved." : `${body.title} created.`);
      onDone(saved.id);
    } catch (error) {
      if (error instanceof Problem && error.status === 412) throw new Problem(412, `Somebody else changed this ${noun}. Close it and open it again to see the changes.`);
      throw error;
    }
  };
  const drop = () =>
    confirm({
      title: `Delete ${record?.title}?`,
      words: `The ${noun} is deleted. Its history is kept for 90 days.`,
      yes: "Delete",
      async act() {
        await remove(path);
        showToast(`${record?.title} deleted.`);
        onDone("");
      },
    });
  const canDelete = record && may(`delete_${rightsOf(kind)}`) && (kind.canDelete?.(record) ?? true);
  const fields = html`<fieldset class="plain-fieldset" disabled=${!canEdit}><div class="stack"><${kind.Fields} draft=${draft} change=${change} isNew=${record === null} /></div></fieldset>`;
  if (!canEdit) return fields;
  return html`<${Form} onSubmit=${save} submit=${record ? "Save" : `Create ${noun}`} cancel=${onClose}
    extra=${canDelete && html`<${Button} kind="danger" onClick=${drop}>Delete<//>`}>${fields}<//>`;
}

/** As `2 users, 1 address`. @param {[count: number, noun: string, plural?: string][]} parts */
export function listed(parts) {
  return parts.filter(([count]) => count > 0).map(([count, noun, plural]) => counted(count, noun, plural)).join(", ");
}
