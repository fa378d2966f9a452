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
 * @typedef {{url: string, timestamp: string}} Place
 * @typedef {Place & {id: string, address: string}} View
 */

/** Without a time, the newest capture is meant. */
const NEWEST = "99991231235959";

/** @param {Place} place */
const named = ({ url, timestamp }) => `${url} ${timestamp}`;

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
    ${!fetched.problem && html`<${Frame} ident=${ident} page=${page} at=${at} onFollowed=${(/** @type {Place} */ to) => setQuery({ url: to.url, at: to.timestamp })} />`}
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
 * @param {{ident: string, page: string, at: string, onFollowed: (to: Place) => void}} props
 */
function Frame({ ident, page, at, onFollowed }) {
  const [view, setView] = useState(/** @type {View | null} */ (null));
  const [problem, setProblem] = useState(/** @type {Problem | null} */ (null));
  const [tries, setTries] = useState(0);
  const shown = useRef("");
  const loaded = useRef("");
  const wanted = named({ url: page, timestamp: at });
  useEffect(() => {
    if (shown.current === wanted) return;
    shown.current = wanted;
    setProblem(null);
    const isWanted = () => shown.current === wanted;
    post(`${crawlPath(ident)}/views`, { url: page, timestamp: at }).then((/** @type {View} */ found) => {
      if (!isWanted()) return;
      loaded.current = named(found);
      setView(found);
    }, (found) => {
      if (!(found instanceof Problem)) throw found;
      if (!isWanted()) return;
      shown.current = "";
      setProblem(found);
    });
  }, [wanted, tries]);
  // A link may be followed before the first page has loaded completely.
  const follow = async () => {
    if (!view) return;
    try {
      const place = await get(`/archive/views/${view.id}`);
      if (named(place) === loaded.current) return;
      loaded.current = shown.current = named(place);
      onFollowed(place);
    } catch (found) {
      if (!(found instanceof Problem)) throw found;
    }
  };
  if (problem) return html`<${Card}><${Failed} problem=${problem} retry=${() => setTries(tries + 1)} /><//>`;
  if (!view) return html`<${Card}><${Loading} lines=${8} /><//>`;
  return html`<section class="card card-flush capture-frame" aria-label="Page">
    <iframe key=${view.address} src=${view.address} sandbox="" referrerpolicy="no-referrer" title="Archived page" onLoad=${follow}></iframe>
  </section>
  <p class="soft">Scripts and forms are switched off, and nothing is loaded from the Internet. To use the site as it was, replay its files with <code>watchbell archive replay</code>.</p>`;
}
