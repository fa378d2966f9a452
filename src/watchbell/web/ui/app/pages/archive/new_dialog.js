/** Adds a crawl of a site, a page or a list of URLs. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { post, useFetched } from "../../api.js";
import { AmountField, BYTES, NumberField } from "../../kit/amounts.js";
import { Dialog } from "../../kit/dialog.js";
import { Choice, Field, Form, Toggle, useErrors } from "../../kit/form.js";
import { showToast } from "../../kit/toast.js";
import { counted } from "../../words.js";

/**
 * @typedef {{ignore_sets: {name: string, patterns: number}[], user_agents: {alias: string, text: string}[], pipelines: string[], has_large: boolean}} Choices
 */

/** @type {[value: string, words: string][]} */
const KINDS = [["site", "Site"], ["page", "Single page"], ["list", "List of URLs"]];
/** @type {Record<string, string>} */
const HINTS = {
  site: "Follows all links below this URL, and one link beyond the site.",
  page: "Only this page, with its images, styles and scripts.",
  list: "The URL of a text file with one URL per line.",
};

/** What a new crawl begins with. */
const BLANK = {
  note: "",
  ignore_sets: /** @type {string[]} */ ([]),
  delay: /** @type {any} */ (null),
  concurrency: /** @type {any} */ (null),
  user_agent: "",
  where: "",
  no_offsite_links: false,
  offsite_depth: /** @type {any} */ (1),
  obeys_robots: false,
  has_cookies: true,
  dedups_before: false,
  makes_wacz: false,
  with_browser: false,
  browser_wait: /** @type {any} */ (null),
  browser_scroll: /** @type {any} */ (null),
  most_bytes: /** @type {any} */ (null),
  most_urls: /** @type {any} */ (null),
};

/** @typedef {typeof BLANK} Draft */

/** @param {{onClose: () => void, onDone: (ident: string) => void, url?: string}} props */
export function NewCrawl({ onClose, onDone, url: given = "" }) {
  const choices = /** @type {Choices | null} */ (useFetched("/archive/options").value);
  const [url, setUrl] = useState(given);
  const [kind, setKind] = useState("site");
  const [draft, setDraft] = useState(BLANK);
  const change = (/** @type {Partial<Draft>} */ changes) => setDraft((old) => ({ ...old, ...changes }));
  const add = async () => {
    const made = await post("/archive/crawls", body(url, kind, draft));
    showToast(made.notices.length ? made.notices.join(" ") : made.ahead ? `Crawl queued: ${counted(made.ahead, "crawl")} ahead of it.` : "Crawl queued.");
    onDone(made.ident);
  };
  return html`<${Dialog} title="New crawl" onClose=${onClose} wide>
    <${Form} onSubmit=${add} submit="Add crawl" cancel=${onClose} disabled=${!url.trim()}>
      <${Field} label="URL" name="url" value=${url} onInput=${setUrl} type="url" placeholder="https://example.com/" maxlength="8192" spellcheck=${false} hint=${HINTS[kind]} />
      <${Choice} label="What to archive" value=${kind} options=${KINDS} onChange=${setKind} />
      <${Field} label="Note" name="note" value=${draft.note} onInput=${(/** @type {string} */ note) => change({ note })} placeholder="Why it is archived" maxlength="1000" />
      <${More} draft=${draft} kind=${kind} choices=${choices} change=${change} />
    <//>
  <//>`;
}

/** @param {{draft: Draft, kind: string, choices: Choices | null, change: (changes: Partial<Draft>) => void}} props */
function More({ draft, kind, choices, change }) {
  const isWrong = useErrors().some((one) => !["url", "note"].includes(one.field));
  return html`<details class="crawl-more" open=${isWrong || undefined}><summary>Options</summary>
    <div class="stack">
      <${Pace} draft=${draft} change=${change} />
      <${Scope} draft=${draft} kind=${kind} change=${change} />
      <${Sets} draft=${draft} choices=${choices} change=${change} />
      <${Place} draft=${draft} kind=${kind} choices=${choices} change=${change} />
      <${Browser} draft=${draft} change=${change} />
    </div>
  </details>`;
}

/** @param {{draft: Draft, change: (changes: Partial<Draft>) => void}} props */
function Pace({ draft, change }) {
  return html`<div class="form-row">
    <${NumberField} label="Delay in ms" name="delay" value=${draft.delay} onInput=${(/** @type {any} */ delay) => change({ delay })} placeholder="250 to 375" hint="Between two requests of one downloader." />
    <${NumberField} label="Downloaders" name="concurrency" value=${draft.concurrency} onInput=${(/** @type {any} */ concurrency) => change({ concurrency })} placeholder="3" hint="Requests at the same time." />
  </div>`;
}

/** @param {{draft: Draft, kind: string, change: (changes: Partial<Draft>) => void}} props */
function Scope({ draft, kind, change }) {
  return html`<div class="form-row">
      <${AmountField} label="Largest size" name="most_bytes" value=${draft.most_bytes} onInput=${(/** @type {any} */ most_bytes) => change({ most_bytes })} units=${BYTES} unit="GiB" placeholder="no limit" hint="The crawl ends after so much." />
      <${NumberField} label="Most URLs" name="most_urls" value=${draft.most_urls} onInput=${(/** @type {any} */ most_urls) => change({ most_urls })} placeholder="no limit" hint="The crawl ends after so many." />
    </div>
    <div class="crawl-toggles">
      ${kind !== "page" && html`<${Toggle} label="Stay on the site" checked=${draft.no_offsite_links} onChange=${(/** @type {boolean} */ no_offsite_links) => change({ no_offsite_links })} hint="Pages on other sites are not fetched." />`}
      <${Toggle} label="Obey robots.txt" checked=${draft.obeys_robots} onChange=${(/** @type {boolean} */ obeys_robots) => change({ obeys_robots })} />
      <${Toggle} label="Keep cookies" checked=${draft.has_cookies} onChange=${(/** @type {boolean} */ has_cookies) => change({ has_cookies })} />
      <${Toggle} label="Skip what earlier crawls have" checked=${draft.dedups_before} onChange=${(/** @type {boolean} */ dedups_before) => change({ dedups_before })} hint="Unchanged files are recorded as revisits." />
      <${Toggle} label="Also make a WACZ file" checked=${draft.makes_wacz} onChange=${(/** @type {boolean} */ makes_wacz) => change({ makes_wacz })} />
    </div>
    ${kind !== "page" && !draft.no_offsite_links && html`<div class="form-row"><${NumberField} label="Links beyond the site" name="offsite_depth" value=${draft.offsite_depth} onInput=${(/** @type {any} */ offsite_depth) => change({ offsite_depth })} hint="How many links in a row are followed on other sites." /></div>`}`;
}

/** @param {{draft: Draft, choices: Choices | null, change: (changes: Partial<Draft>) => void}} props */
function Sets({ draft, choices, change }) {
  const sets = choices?.ignore_sets.filter((one) => one.name !== "global") ?? [];
  if (sets.length === 0) return null;
  const toggle = (/** @type {string} */ name) => change({ ignore_sets: draft.ignore_sets.includes(name) ? draft.ignore_sets.filter((one) => one !== name) : [...draft.ignore_sets, name] });
  return html`<fieldset class="crawl-sets"><legend>Ignore sets</legend>
    <p class="hint">Patterns of URLs to skip. Every crawl has the set global.</p>
    <div class="crawl-toggles">${sets.map((one) => html`<${Toggle} key=${one.name} label=${one.name} checked=${draft.ignore_sets.includes(one.name)} onChange=${() => toggle(one.name)} hint=${counted(one.patterns, "pattern")} />`)}</div>
  </fieldset>`;
}

/** @param {{draft: Draft, kind: string, choices: Choices | null, change: (changes: Partial<Draft>) => void}} props */
function Place({ draft, kind, choices, change }) {
  /** @type {[string, string][]} */
  const places = [["", "Any pipeline"], ...(kind === "page" ? [] : [/** @type {[string, string]} */ (["large", choices?.has_large ? "One for large sites" : "One for large sites (none is running)"])])];
  for (const name of choices?.pipelines ?? []) places.push([`on ${name}`, name]);
  const agents = /** @type {[string, string][]} */ ([["", "Watchbell"], ...(choices?.user_agents ?? []).filter((one) => one.alias !== "watchbell").map((one) => [one.alias, one.alias])]);
  const shown = choices?.user_agents.find((one) => one.alias === (draft.user_agent || "watchbell"))?.text;
  return html`<div class="form-row">
    <${Field} label="Pipeline" name="pipeline" value=${draft.where} onInput=${(/** @type {string} */ where) => change({ where })} options=${places} hint="Where the crawl runs." />
    <${Field} label="User agent" name="user_agent" value=${draft.user_agent} onInput=${(/** @type {string} */ user_agent) => change({ user_agent })} options=${agents} hint=${shown} />
  </div>`;
}

/** @param {{draft: Draft, change: (changes: Partial<Draft>) => void}} props */
function Browser({ draft, change }) {
  return html`<div class="crawl-toggles"><${Toggle} label="Load pages in a browser" checked=${draft.with_browser} onChange=${(/** @type {boolean} */ with_browser) => change({ with_browser })} hint="For sites that scripts draw. It takes seconds per page." /></div>
    ${draft.with_browser && html`<div class="form-row">
      <${NumberField} label="Seconds to wait" name="browser_wait" value=${draft.browser_wait} onInput=${(/** @type {any} */ browser_wait) => change({ browser_wait })} placeholder="1" hint="On each page, and after each scroll." />
      <${NumberField} label="Times to scroll" name="browser_scroll" value=${draft.browser_scroll} onInput=${(/** @type {any} */ browser_scroll) => change({ browser_scroll })} placeholder="10" hint="At most; the end of a page ends it." />
    </div>`}`;
}

/** What is sent: fields that were left empty stay as usual. @param {string} url @param {string} kind @param {Draft} draft */
function body(url, kind, draft) {
  const { where, browser_wait, browser_scroll, ...others } = draft;
  const rest = draft.with_browser ? { ...others, browser_wait, browser_scroll } : others;
  const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null && value !== ""));
  const place = where === "large" ? { is_large: true } : where ? { pipeline: where.slice(3) } : {};
  return { ...given, ...place, url: url.trim(), fetch_depth: kind === "page" ? "shallow" : "inf", is_list: kind === "list" };
}
