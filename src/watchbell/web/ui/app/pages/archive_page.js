/** One archived page, as it was: its time, status and headers, and the page in a frame. */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { get, post, Problem, url as withQuery, useFetched } from "../api.js";
import { useQuery } from "../location.js";
import { exact } from "../times.js";
import { Button, Field } from "../kit/form.js";
import { Card, Empty, Facts, Failed, Fetched, Loading, Page } from "../kit/layout.js";
import { When } from "../kit/time.js";
import { crawlLink, crawlPath, pagesLink } from "./archive/words.js";

/**
 * @typedef {{timestamp: string, at: number, status: number, media_type: string}} Time
 * @typedef {{url: string, timestamp: string, at: number, status: number, reason: string, media_type: string,
 *   headers: {name: string, value: string}[], captures: Time[]}} Capture
 * @typedef {{id: string, address: string}} View
 */

/** Without a time, the newest capture is meant. */
const NEWEST = "99991231235959";

export default function ArchivedPage() {
  const [query, setQuery] = useQuery();
  const ident = query.get("ident") ?? "";
  const page = query.get("url") ?? "";
  if (!ident || !page) {
    return html`<${Page} title="Archived page" above=${html`<a href="/archive">Archive</a>`}>
      <${Empty} title="No page selected." action=${html`<${Button} href="/archive/history">Show ended crawls<//>`} /><//>`;
  }
  return html`<${Known} key=${ident} ident=${ident} page=${page} at=${query.get("at") ?? NEWEST} setQuery=${setQuery} />`;
}

/** @param {{ident: string, page: string, at: string, setQuery: (changes: Record<string, string | null>) => void}} props */
function Known({ ident, page, at, setQuery }) {
  const wanted = { url: page, timestamp: at };
  const fetched = useFetched(withQuery(`${crawlPath(ident)}/capture`, wanted));
  const above = html`<a href="/archive">Archive</a> / <a href=${crawlLink(ident)}>Crawl</a> / <a href=${pagesLink(ident)}>Archived pages</a>`;
  const download = html`<${Button} href=${`/api/v1${withQuery(`${crawlPath(ident)}/capture/body`, wanted)}`} data-native download>Download<//>`;
  return html`<${Page} wide title=${page} above=${above} actions=${fetched.value && download}>
    <${Fetched} of=${fetched} lines=${4}>${(/** @type {Capture} */ capture) => html`<${About} capture=${capture} onSelect=${(/** @type {string} */ one) => setQuery({ at: one })} />`}<//>
    ${!fetched.problem && html`<${Frame} ident=${ident} page=${page} at=${at} onFollowed=${(/** @type {{url: string, timestamp: string}} */ to) => setQuery({ url: to.url, at: to.timestamp })} />`}
  <//>`;
}

/** @param {{capture: Capture, onSelect: (timestamp: string) => void}} props */
function About({ capture, onSelect }) {
  const times = capture.captures.map((one) => one.timestamp);
  return html`<${Card}>
    <${Facts} rows=${[
      ["Archived", times.length > 1
        ? html`<div class="capture-times"><${Field} label="Capture" value=${capture.timestamp} onInput=${onSelect} options=${capture.captures.map((one) => [one.timestamp, exact(one.at)])} /></div>`
        : html`<${When} at=${Math.floor(capture.at)} as="exact" />`],
      ["Status", `${capture.status || "none"} ${capture.reason}`],
      ["Type", capture.media_type || "unknown"],
    ]} />
    <details class="capture-headers"><summary>Response headers</summary>
      <dl>${capture.headers.map((one) => html`<div><dt>${one.name}</dt><dd>${one.value}</dd></div>`)}</dl>
    </details>
  <//>`;
}

/**
 * The page has an origin of its own and runs no scripts, so that it can't act for its reader.
 * @param {{ident: string, page: string, at: string, onFollowed: (to: {url: string, timestamp: string}) => void}} props
 */
function Frame({ ident, page, at, onFollowed }) {
  const [view, setView] = useState(/** @type {View | null} */ (null));
  const [problem, setProblem] = useState(/** @type {Problem | null} */ (null));
  const [tries, setTries] = useState(0);
  const shown = useRef("");
  const loads = useRef(0);
  const wanted = `${page} ${at}`;
  useEffect(() => {
    if (shown.current === wanted) return;
    shown.current = wanted;
    loads.current = 0;
    setProblem(null);
    post(`${crawlPath(ident)}/views`, { url: page, timestamp: at }).then(setView, (found) => {
      if (!(found instanceof Problem)) throw found;
      shown.current = "";
      setProblem(found);
    });
  }, [wanted, tries]);
  const loaded = async () => {
    loads.current += 1;
    if (loads.current < 2 || !view) return;
    try {
      const place = await get(`/archive/views/${view.id}`);
      shown.current = `${place.url} ${place.timestamp}`;
      onFollowed(place);
    } catch (found) {
      if (!(found instanceof Problem)) throw found;
    }
  };
  if (problem) return html`<${Card}><${Failed} problem=${problem} retry=${() => setTries(tries + 1)} /><//>`;
  if (!view) return html`<${Card}><${Loading} lines=${8} /><//>`;
  return html`<section class="card card-flush capture-frame" aria-label="Page">
    <iframe key=${view.address} src=${view.address} sandbox="" referrerpolicy="no-referrer" title="Archived page" onLoad=${loaded}></iframe>
  </section>
  <p class="soft">Scripts and forms are switched off, and nothing is loaded from the Internet. To use the site as it was, replay its files with <code>watchbell archive replay</code>.</p>`;
}
