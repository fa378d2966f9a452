/** The page of one definition, with its form and its history, and that of a new one. */

import { html } from "htm/preact";
import { useFetched } from "../../api.js";
import { go, useQuery } from "../../location.js";
import { may } from "../../session.js";
import { Card, Fetched, Page, Tabs } from "../../kit/layout.js";
import { withCode } from "../../kit/text.js";
import { Revisions } from "../events/revisions.js";
import { capitalized } from "../../words.js";
import { DefinitionForm, Definitions } from "./definitions.js";

/**
 * @param {{kind: import("./definitions.js").Kind & {path: string, rights: string, to: (id: string) => string},
 *   parts?: [tab: string, words: string, draw: (record: any) => any][], acts?: (record: any) => any, last?: any}} props
 *   `parts`: more tabs, before the history; `acts`: buttons of one definition
 */
export function DefinitionPages({ kind, parts = [], acts }) {
  const [query] = useQuery();
  const id = query.get("id");
  if (id) return html`<${Known} key=${id} id=${id} kind=${kind} parts=${parts} acts=${acts} />`;
  if (!query.get("new")) return html`<${Definitions} kind=${kind} />`;
  return html`<${Page} title=${`New ${kind.noun}`} above=${html`<a href=${`/${kind.path}`}>${capitalized(kind.plural)}</a>`}>
    <${Card}><${DefinitionForm} kind=${kind} record=${null} canEdit=${may(`create_${kind.rights}`)} onClose=${() => go(`/${kind.path}`)} onDone=${(/** @type {string} */ made) => go(kind.to(made))} /><//>
  <//>`;
}

/**
 * @param {{id: string, kind: import("./definitions.js").Kind & {path: string, rights: string}, parts: [tab: string, words: string, draw: (record: any) => any][],
 *   acts: ((record: any) => any) | undefined}} props
 */
function Known({ id, kind, parts, acts }) {
  const [query] = useQuery();
  const path = `/${kind.path}/${encodeURIComponent(id)}`;
  const fetched = useFetched(path);
  const { record } = fetched.value ?? {};
  const canEdit = may(`edit_${kind.rights}`);
  const tab = query.get("tab") ?? "edit";
  const part = parts.find(([name]) => name === tab);
  const back = () => go(`/${kind.path}`);
  return html`<${Page} wide=${Boolean(part)} title=${record?.title ?? capitalized(kind.noun)} above=${html`<a href=${`/${kind.path}`}>${capitalized(kind.plural)}</a>`} lead=${record?.notes && withCode(record.notes)} actions=${record && acts?.(record)}>
    <${Tabs} tabs=${[["edit", canEdit ? "Edit" : "Definition"], ...parts.map(([name, words]) => [name, words]), ["history", "History"]]} />
    <${Fetched} of=${fetched} lines=${8}>${() => {
      if (part) return part[2](record);
      if (tab === "history") return html`<${Revisions} path=${path} current=${fetched.value.revision} canRestore=${canEdit} onRestored=${fetched.reload} />`;
      return html`<${Card}><${DefinitionForm} key=${fetched.value.revision} kind=${kind} record=${record} canEdit=${canEdit} onClose=${back} onDone=${(/** @type {string} */ saved) => (saved ? fetched.reload() : back())} /><//>`;
    }}<//>
  <//>`;
}
