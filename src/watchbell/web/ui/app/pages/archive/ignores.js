/** The ignore patterns of a crawl, with how many URLs each has matched. */

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { patch, useFetched } from "../../api.js";
import { Button, Search } from "../../kit/form.js";
import { Card, Empty, Fetched } from "../../kit/layout.js";
import { Table } from "../../kit/table.js";
import { attempt, showToastWithUndo } from "../../kit/toast.js";
import { may } from "../../session.js";
import { counted } from "../../words.js";
import { IgnoreDialog } from "./ignore_dialog.js";
import { crawlPath, number } from "./words.js";

/** @typedef {{pattern: string, matches: number}} Ignore */

const MANY = 12;

/** @param {{ident: string, over: boolean, changes: number, onDone: () => void}} props */
export function Ignores({ ident, over, changes, onDone }) {
  const fetched = useFetched(`${crawlPath(ident)}/ignores`, { every: over ? 0 : 10 });
  const sets = useFetched(may("operate") && !over ? "/archive/ignore-sets" : null).value?.items ?? [];
  const [text, setText] = useState("");
  const [isAdding, setIsAdding] = useState(false);
  useEffect(() => void ((over || changes > 0) && fetched.reload()), [over, changes]);
  const canChange = may("operate") && !over;
  const drop = async (/** @type {string} */ pattern) => {
    const done = await attempt(() => patch(crawlPath(ident), { unignore: [pattern] }));
    if (!done) return;
    fetched.reload();
    showToastWithUndo("Pattern removed.", () => patch(crawlPath(ident), { ignore: [pattern] }), "Pattern restored.", fetched.reload);
  };
  const addSet = async (/** @type {any} */ event) => {
    const select = event.currentTarget;
    const name = select.value;
    select.value = "";
    if (!name) return;
    await attempt(() => patch(crawlPath(ident), { ignore_sets: [name] }), (/** @type {{ignored: number}} */ { ignored }) => `${counted(ignored, "pattern")} added.`);
    onDone();
  };
  const actions = canChange && html`<select aria-label="Add an ignore set" onChange=${addSet}><option value="">Add set…</option>
    ${sets.map((/** @type {{name: string, patterns: number}} */ one) => html`<option value=${one.name}>${one.name} (${one.patterns})</option>`)}</select>
    <${Button} onClick=${() => setIsAdding(true)}>Add pattern<//>`;
  /** @type {import("../../kit/table.js").Column<Ignore>[]} */
  const columns = [
    { head: "Pattern", kind: "main", cell: (one) => html`<code class="break">${one.pattern}</code>` },
    { head: "Matches", kind: "number", cell: (one) => (one.matches ? number(one.matches) : html`<span class="soft">0</span>`) },
    ...(canChange ? [/** @type {import("../../kit/table.js").Column<Ignore>} */ ({ head: "", kind: "actions", cell: (one) => html`<${Button} small kind="quiet" label=${`Remove ${one.pattern}`} onClick=${() => drop(one.pattern)}>Remove<//>` })] : []),
  ];
  return html`<${Card} flush title="Ignore patterns" actions=${actions}>
    <${Fetched} of=${fetched}>${(/** @type {{items: Ignore[]}} */ { items }) => {
      const shown = items.filter((one) => one.pattern.toLowerCase().includes(text.toLowerCase()));
      return html`${items.length > MANY && html`<div class="output-bar"><${Search} value=${text} onSearch=${setText} placeholder=${`Filter ${counted(items.length, "pattern")}`} label="Filter patterns" /></div>`}
        ${items.length === 0 ? html`<${Empty} title="No ignore patterns.">URLs that match a pattern are not fetched.<//>`
          : shown.length === 0 ? html`<${Empty} title="No patterns match this filter." />`
          : html`<div class="crawl-short"><${Table} columns=${columns} rows=${shown.slice(0, 500)} id=${(/** @type {Ignore} */ one) => one.pattern} label="Ignore patterns" keys=${false} /></div>`}`;
    }}<//>
    ${isAdding && html`<${IgnoreDialog} ident=${ident} urls=${[]} onClose=${() => setIsAdding(false)} onDone=${onDone} />`}
  <//>`;
}
