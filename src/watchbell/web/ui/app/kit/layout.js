/** Parts of a page: header, cards, facts, tabs, and the empty, loading and error states. */

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { usePath, useQuery } from "../location.js";
import { Button } from "./form.js";

/** @typedef {import("../api.js").Problem} Problem */

/**
 * A page. Its title is the document's as well.
 * @param {{title: string, tab?: string, lead?: any, actions?: any, above?: any, wide?: boolean, children?: any}} props
 *   `tab`: the browser tab's title if it differs; `above`: breadcrumbs; `lead`: a line under the title
 */
export function Page({ title, tab = title, lead, actions, above, wide = false, children }) {
  useEffect(() => {
    document.title = `${tab} · Watchbell`;
  }, [tab]);
  return html`<div class=${wide ? "page page-wide" : "page"}>
    <div class="page-head">
      <div class="page-title">
        ${above && html`<div class="page-above">${above}</div>`}
        <h1 tabindex="-1">${title}</h1>
        ${lead && html`<div class="page-lead">${lead}</div>`}
      </div>
      ${actions && html`<div class="actions">${actions}</div>`}
    </div>
    ${children}
  </div>`;
}

/**
 * @param {{title?: any, actions?: any, flush?: boolean, children?: any, id?: string}} props
 *   `flush`: the content reaches the card's edges, as a table does
 */
export function Card({ title, actions, flush = false, children, id }) {
  return html`<section class=${flush ? "card card-flush" : "card"} id=${id}>
    ${(title || actions) &&
    html`<div class="card-head"><h2>${title}</h2>${actions && html`<div class="actions">${actions}</div>`}</div>`}
    ${children}
  </section>`;
}

/**
 * Labels with values; null rows are left out.
 * @param {{rows: ([any, any] | null | false)[]}} props
 */
export function Facts({ rows }) {
  return html`<dl class="facts">
    ${rows.map((row) => row && html`<div><dt>${row[0]}</dt><dd>${row[1]}</dd></div>`)}
  </dl>`;
}

/**
 * The empty state: says that there is nothing, and what to do.
 * @param {{title: string, children?: any, action?: any}} props
 */
export function Empty({ title, children, action }) {
  return html`<div class="empty"><p class="empty-title">${title}</p>
    ${children && html`<div class="soft">${children}</div>`}${action}</div>`;
}

/** @param {{lines?: number}} props */
export function Loading({ lines = 3 }) {
  return html`<div class="loading" role="status" aria-label="Loading">
    ${Array.from({ length: lines }, () => html`<div class="loading-line"></div>`)}
  </div>`;
}

/** @param {{problem: Problem, retry?: () => void}} props */
export function Failed({ problem, retry }) {
  return html`<div class="failed" role="alert">
    <p><strong>${problem.status === 404 ? "Not found." : "Something went wrong."}</strong> ${problem.message}</p>
    ${retry && html`<${Button} onClick=${retry}>Try again<//>`}
  </div>`;
}

/**
 * A fetched value, its loading state or its error.
 * @template T
 * @param {{of: {value: T | null, problem: Problem | null, reload: () => void}, lines?: number,
 *   children: (value: T) => any}} props `children` is a function of the value
 */
export function Fetched({ of, lines = 3, children }) {
  if (of.value !== null) return children(of.value);
  if (of.problem) return html`<${Failed} problem=${of.problem} retry=${of.reload} />`;
  return html`<${Loading} lines=${lines} />`;
}

/**
 * For tabs: on a phone they scroll sideways, and the current one is to be seen.
 * @param {string | undefined} current
 */
export function useCurrentInView(current) {
  const frame = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    const [nav, link] = [frame.current, frame.current?.querySelector("[aria-current]")];
    if (nav && link instanceof HTMLElement) nav.scrollLeft = link.offsetLeft - nav.offsetLeft - (nav.clientWidth - link.offsetWidth) / 2;
  }, [current]);
  return frame;
}

/**
 * Tabs kept in the query, so that each can be linked to.
 * @param {{name?: string, tabs: [value: string, words: any][]}} props the first one is the default
 */
export function Tabs({ name = "tab", tabs }) {
  const path = usePath();
  const [query] = useQuery();
  const current = query.get(name) ?? tabs[0]?.[0];
  const frame = useCurrentInView(current);
  const to = (/** @type {string} */ value) => {
    const words = new URLSearchParams(query);
    if (value === tabs[0]?.[0]) words.delete(name);
    else words.set(name, value);
    return words.size ? `${path}?${words}` : path;
  };
  return html`<nav class="tabs" ref=${frame} aria-label="Parts of this page">
    ${tabs.map(
      ([value, words]) =>
        html`<a href=${to(value)} aria-current=${value === current ? "page" : undefined}>${words}</a>`,
    )}
  </nav>`;
}
