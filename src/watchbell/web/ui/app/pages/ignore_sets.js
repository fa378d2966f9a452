/** Ignore sets: patterns of URLs that crawls skip, under a name. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { post, Problem, put, remove, useFetched } from "../api.js";
import { useKeys } from "../keys.js";
import { useQuery } from "../location.js";
import { may } from "../session.js";
import { counted } from "../words.js";
import { CodeEditor } from "../kit/code_editor.js";
import { confirm, Dialog } from "../kit/dialog.js";
import { Button, Field, Form } from "../kit/form.js";
import { Card, Empty, Facts, Failed, Fetched, Loading, Page } from "../kit/layout.js";
import { Chip } from "../kit/state.js";
import { Table } from "../kit/table.js";
import { showToast } from "../kit/toast.js";
import { ArchiveNav } from "./archive/nav.js";
import { number } from "./archive/words.js";

/**
 * @typedef {{name: string, patterns: number, is_ours: boolean, is_changed: boolean}} Row
 * @typedef {{name: string, patterns: string[], is_ours: boolean, is_changed: boolean}} Shown
 */

const path = (/** @type {string} */ name) => `/archive/ignore-sets/${encodeURIComponent(name)}`;
const link = (/** @type {string} */ name) => `/archive/ignore-sets?set=${encodeURIComponent(name)}`;

export default function IgnoreSets() {
  const [query, setQuery] = useQuery();
  const [isNew, setIsNew] = useState(false);
  const fetched = useFetched("/archive/ignore-sets");
  const open = query.get("set");
  const close = () => {
    setIsNew(false);
    setQuery({ set: null });
  };
  const add = may("write") && html`<${Button} kind="main" onClick=${() => setIsNew(true)}>New ignore set<//>`;
  useKeys("Ignore sets", may("write") ? [["n", "new ignore set", () => setIsNew(true)]] : []);
  return html`<${Page} title="Ignore sets" lead="Patterns of URLs that crawls skip. Every crawl begins with the set global." actions=${add}>
    <${ArchiveNav} />
    <${Card} flush><${Fetched} of=${fetched} lines=${5}>${(/** @type {{items: Row[]}} */ { items }) =>
      items.length === 0
        ? html`<${Empty} title="No ignore sets yet." action=${add} />`
        : html`<${Table} columns=${COLUMNS} rows=${items} id=${(/** @type {Row} */ one) => one.name} to=${(/** @type {Row} */ one) => link(one.name)} label="Ignore sets" />`}<//><//>
    ${isNew && html`<${Editor} shown=${null} known=${(fetched.value?.items ?? []).map((/** @type {Row} */ one) => one.name)} onClose=${close} onDone=${fetched.reload} />`}
    ${open && !isNew && html`<${Opened} key=${open} name=${open} onClose=${close} onDone=${fetched.reload} />`}
  <//>`;
}

/** @type {import("../kit/table.js").Column<Row>[]} */
const COLUMNS = [
  { head: "Name", kind: "main", cell: (one) => html`<a href=${link(one.name)}>${one.name}</a>` },
  { head: "Patterns", kind: "number", cell: (one) => number(one.patterns) },
  { head: "Origin", kind: "tight", cell: (one) => (one.is_ours ? html`comes with Watchbell${one.is_changed && html` <${Chip} tone="warn">changed<//>`}` : "made here") },
];

/** @param {{name: string, onClose: () => void, onDone: () => void}} props */
function Opened({ name, onClose, onDone }) {
  const fetched = useFetched(path(name));
  if (fetched.value) return html`<${Editor} shown=${fetched.value} known=${[]} onClose=${onClose} onDone=${onDone} />`;
  return html`<${Dialog} title=${name} onClose=${onClose} wide>${fetched.problem ? html`<${Failed} problem=${fetched.problem} retry=${fetched.reload} />` : html`<${Loading} lines=${6} />`}<//>`;
}

/** @param {{shown: Shown | null, known: string[], onClose: () => void, onDone: () => void}} props `shown`: null for a new one */
function Editor({ shown, known, onClose, onDone }) {
  const [name, setName] = useState(shown?.name ?? "");
  const [text, setText] = useState(shown?.patterns.join("\n") ?? "");
  const patterns = text.split("\n").map((line) => line.trim()).filter((line) => line && !line.startsWith("#"));
  const save = async () => {
    if (!shown && known.includes(name.trim())) throw new Problem(422, "The set was not saved.", [{ field: "name", reason: "there is an ignore set of this name already" }]);
    if (!/^[A-Za-z0-9_.-]{1,100}$/.test(name.trim())) throw new Problem(422, "The set was not saved.", [{ field: "name", reason: "a name has letters, digits and _.-" }]);
    await put(path(name.trim()), { patterns });
    showToast("Saved. New crawls use these patterns.");
    onDone();
    onClose();
  };
  const drop = () =>
    confirm({
      title: shown?.is_ours ? `Restore ${shown.name}?` : `Delete ${shown?.name}?`,
      words: html`<p>${shown?.is_ours ? "It gets the patterns that come with Watchbell back." : "Crawls that have its patterns keep them."}</p>`,
      yes: shown?.is_ours ? "Restore" : "Delete",
      async act() {
        await remove(path(shown?.name ?? ""));
        showToast(shown?.is_ours ? "Restored." : "Ignore set deleted.");
        onDone();
        onClose();
      },
    });
  if (!may("write")) {
    return html`<${Dialog} title=${name} onClose=${onClose} wide><${Facts} rows=${[["Patterns", number(patterns.length)]]} /><pre class="crawl-short mono">${text}</pre><//>`;
  }
  const extra = shown?.is_changed && html`<${Button} kind="danger" onClick=${drop}>${shown.is_ours ? "Restore" : "Delete"}<//>`;
  return html`<${Dialog} title=${shown ? shown.name : "New ignore set"} onClose=${onClose} wide>
    <${Form} onSubmit=${save} cancel=${onClose} extra=${extra} disabled=${!name.trim()}>
      ${!shown && html`<${Field} label="Name" name="name" value=${name} onInput=${setName} placeholder="forums" maxlength="100" spellcheck=${false} />`}
      <${CodeEditor} label="Patterns" name="patterns" value=${text} onInput=${setText} rows=${10} placeholder=${"/login\n[?&]sort="}
        hint=${`${counted(patterns.length, "pattern")}. One regular expression per line. {primary_url} and {primary_netloc} stand for the URL of the crawl and its host.`} />
      <${Trial} patterns=${patterns} />
    <//>
  <//>`;
}

/** Tries the patterns on a URL. @param {{patterns: string[]}} props */
function Trial({ patterns }) {
  const [url, setUrl] = useState("");
  const [words, setWords] = useState("");
  const attemptIt = async () => {
    try {
      const { items } = await post("/archive/ignore-sets/try", { patterns, urls: [url], primary_url: url });
      setWords(items[0].pattern === null ? "No pattern matches: it would be fetched." : `Ignored by ${items[0].pattern}`);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      setWords(error.errors[0]?.reason ?? error.message);
    }
  };
  return html`<${Field} label="Try a URL" name="trial" value=${url} onInput=${(/** @type {string} */ typed) => {
    setUrl(typed);
    setWords("");
  }} placeholder="https://example.com/login" hint=${words || "Shows which pattern matches it."} spellcheck=${false}
    beside=${html`<${Button} onClick=${attemptIt} disabled=${!url.trim() || patterns.length === 0}>Try<//>`} />`;
}
