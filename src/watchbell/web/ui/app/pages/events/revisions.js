/** The revisions of a definition: who changed what, and a way back. */

import { html } from "htm/preact";
import { post, useFetched } from "../../api.js";
import { confirm } from "../../kit/dialog.js";
import { Button } from "../../kit/form.js";
import { Card, Empty, Fetched } from "../../kit/layout.js";
import { When } from "../../kit/time.js";
import { showToast } from "../../kit/toast.js";
import { capitalized } from "../../words.js";

/**
 * @typedef {{field: string, old: any, new: any}} Change
 * @typedef {{revision: number, modified: number, username: string, action: string, changes: Change[]}} Revision
 */

/** @type {Record<string, string>} */
const DONE = { create: "created it", update: "changed it", delete: "deleted it", restore: "restored it" };
/** What every change changes. */
const BORING = ["revision", "modified", "username", "created"];

/**
 * @param {{path: string, canRestore: boolean, current?: number, onRestored: () => void, empty?: any}} props
 *   `path`: of the definition, below `/api/v1`; `current`: its revision; none if it is deleted
 */
export function Revisions({ path, canRestore, current, onRestored, empty }) {
  const fetched = useFetched(`${path}/revisions`);
  const restore = (/** @type {Revision} */ one) =>
    confirm({
      title: `Restore revision ${one.revision}?`,
      words: "Everything becomes as it was then. This makes a new revision, so it can be taken back in the same way.",
      yes: "Restore",
      kind: "main",
      async act() {
        await post(`${path}/revisions/${one.revision}/restore`);
        showToast(`Revision ${one.revision} restored.`);
        fetched.reload();
        onRestored();
      },
    });
  return html`<${Fetched} of=${fetched} lines=${6}>${(/** @type {Revision[]} */ all) =>
    all.length === 0
      ? (empty === undefined ? html`<${Empty} title="No history yet.">Changes are listed here from now on.<//>` : empty)
      : html`<ol class="revisions" aria-label="Revisions">${all.map((one) => {
        const isCurrent = one.revision === current && one.action !== "delete";
        return html`<li key=${`${one.revision} ${one.action}`}><${Card} title=${`Revision ${one.revision}`}
          actions=${isCurrent ? html`<span class="soft">current</span>` : canRestore && one.action !== "delete" && html`<${Button} small onClick=${() => restore(one)} label=${`Restore revision ${one.revision}`}>Restore<//>`}>
          <p class="soft">${one.username || "somebody"} ${DONE[one.action] ?? one.action} <${When} at=${one.modified} /></p>
          <${Changes} revision=${one} />
        <//></li>`;
      })}</ol>`}<//>`;
}

/** @param {{revision: Revision}} props */
function Changes({ revision }) {
  const changes = revision.changes.filter((one) => !BORING.includes(one.field));
  if (changes.length === 0 || revision.action === "delete") return null;
  if (revision.action === "create") return html`<details><summary>${`${changes.length} properties`}</summary><${Diff} changes=${changes} /></details>`;
  return html`<${Diff} changes=${changes} />`;
}

/** @param {{changes: Change[]}} props */
function Diff({ changes }) {
  return html`<dl class="diff">${changes.map((one) => html`<div>
    <dt>${named(one.field)}</dt>
    <dd><${Lines} old=${written(one.old)} new=${written(one.new)} /></dd>
  </div>`)}</dl>`;
}

/**
 * What was removed and added, line by line; equal lines at both ends are left out.
 * @param {{old: string, new: string}} props
 */
function Lines({ old, new: now }) {
  const [before, after] = [old === "" ? [] : old.split("\n"), now === "" ? [] : now.split("\n")];
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < before.length - start && end < after.length - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  return html`${before.slice(start, before.length - end).map((line) => html`<del><span class="unseen">removed: </span>${line || " "}</del>`)}
    ${after.slice(start, after.length - end).map((line) => html`<ins><span class="unseen">added: </span>${line || " "}</ins>`)}`;
}

/** As `Timings 1, hours`. @param {string} field */
function named(field) {
  return capitalized(field.replace(/\[(\d+)\]/g, (_, place) => ` ${Number(place) + 1}`).replaceAll(".", ", ").replaceAll("_", " "));
}

/** @param {any} value */
function written(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "object" ? JSON.stringify(value, null, 1) : String(value);
}
