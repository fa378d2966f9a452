/** The frame around every page: header, menu, keyboard shortcuts and the connection notice. */

import { html } from "htm/preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { get, Problem } from "./api.js";
import { useCell } from "./cell.js";
import { known, useKeys } from "./keys.js";
import { go, usePath } from "./location.js";
import { PAGES } from "./pages.js";
import { connection, may, me } from "./session.js";
import { Dialog, Questions } from "./kit/dialog.js";
import { Button } from "./kit/form.js";
import { Empty, Failed, Loading, Page } from "./kit/layout.js";
import { Toasts } from "./kit/toast.js";

/** @type {[part: import("./pages.js").Part, words: string][]} */
const PARTS = [
  ["attention", "Attention"],
  ["jobs", "Jobs"],
  ["fleet", "Fleet"],
  ["notify", "Notify"],
  ["setup", "Set-up"],
];

const RETRY_MS = 2000;

export function Shell() {
  const path = usePath();
  const who = useCell(me);
  const [isOpen, setIsOpen] = useState(false);
  const [isHelp, setIsHelp] = useState(false);
  useLayoutEffect(() => setIsOpen(false), [path]);
  useKeys("Everywhere", [
    ["/", "search", search],
    ["?", "show keyboard shortcuts", () => setIsHelp(true)],
    ...PAGES.filter((page) => page.key && (!page.needs || may(page.needs))).map(
      (page) => /** @type {import("./keys.js").Binding} */ ([`g ${page.key}`, page.title, () => go(page.path)]),
    ),
  ]);
  if (!who) return html`<${First} />`;
  return html`<a class="skip" href="#content" data-native onClick=${(/** @type {Event} */ event) => {
      event.preventDefault();
      document.querySelector("h1")?.focus();
    }}>Skip to content</a>
    <header class="bar">
      <button type="button" class="button button-quiet bar-menu" aria-expanded=${isOpen ? "true" : "false"} aria-controls="menu"
        aria-label="Menu" onClick=${() => setIsOpen(!isOpen)}>☰</button>
      <a class="brand" href="/"><${Bell} /> Watchbell</a>
      <div class="bar-rest">
        <button type="button" class="button button-quiet" onClick=${() => setIsHelp(true)} aria-label="Keyboard shortcuts" title="Keyboard shortcuts (?)">?</button>
        <a class="button button-quiet" href="/account" title=${`${who.role}`}>${who.user}</a>
      </div>
    </header>
    <nav id="menu" class=${isOpen ? "menu menu-open" : "menu"} aria-label="Pages">
      ${PARTS.map(([part, words]) => html`<${MenuPart} part=${part} words=${words} path=${path} />`)}
    </nav>
    ${isOpen && html`<div class="menu-behind" onClick=${() => setIsOpen(false)}></div>`}
    <main class="content" id="content">
      <${Connection} />
      <${Shown} path=${path} />
    </main>
    ${isHelp && html`<${Help} onClose=${() => setIsHelp(false)} />`}
    <${Questions} />
    <${Toasts} />`;
}

/** @param {{part: import("./pages.js").Part, words: string, path: string}} props */
function MenuPart({ part, words, path }) {
  const shown = PAGES.filter((page) => page.nav === part && (!page.needs || may(page.needs)));
  if (shown.length === 0) return null;
  const current = PAGES.find((page) => page.path === path)?.under ?? path;
  return html`<div class="menu-part"><h2>${words}</h2>
    ${shown.map((page) => html`<a href=${page.path} aria-current=${page.path === current ? "page" : undefined}>${page.title}</a>`)}
  </div>`;
}

/** Whether the next page that is drawn begins at its search field. */
let startsAtSearch = false;

/** @returns {HTMLInputElement | null} */
const searchField = () => document.querySelector("input[data-search]");

function search() {
  const field = searchField();
  if (field) {
    field.focus();
    field.select();
  } else {
    startsAtSearch = true;
    go("/checks");
  }
}

function Bell() {
  return html`<svg class="bell" viewBox="0 0 24 24" aria-hidden="true">
    <path d="M12 3v1.6M6.2 16.5c.9-1.2 1.3-2.8 1.3-5a4.5 4.5 0 0 1 9 0c0 2.2.4 3.8 1.3 5zM4.5 16.5h15" /><circle cx="12" cy="19.6" r="1.5" />
  </svg>`;
}

/** Shown until the session is loaded. */
function First() {
  const [problem, setProblem] = useState(/** @type {Problem | null} */ (null));
  const [tries, setTries] = useState(0);
  useEffect(() => {
    get("/session").then(
      (found) => me.set(found),
      (error) => {
        if (!(error instanceof Problem)) throw error;
        if (error.status === 401) window.location.assign(signIn());
        else setProblem(error);
      },
    );
  }, [tries]);
  useEffect(() => {
    if (!problem) return undefined;
    const timer = setTimeout(() => setTries(tries + 1), RETRY_MS);
    return () => clearTimeout(timer);
  }, [problem]);
  if (problem) return html`<main class="content"><${Failed} problem=${problem} retry=${() => setTries(tries + 1)} /></main>`;
  return html`<main class="content"><${Loading} /></main>`;
}

/** @returns {string} the sign-in page, which returns here afterwards */
function signIn() {
  return `/sign-in?next=${encodeURIComponent(window.location.pathname + window.location.search)}`;
}

/** A notice while the server is unreachable or after the session has expired. */
function Connection() {
  const state = useCell(connection);
  useEffect(() => {
    const look = () => void get("/session").then((found) => me.set(found), () => undefined);
    if (state === "lost") {
      const timer = setInterval(look, RETRY_MS);
      return () => clearInterval(timer);
    }
    if (state === "over") {
      // The person may have signed in again in another tab.
      window.addEventListener("focus", look);
      return () => window.removeEventListener("focus", look);
    }
    return undefined;
  }, [state]);
  if (state === "fine") return null;
  if (state === "lost") {
    return html`<div class="notice notice-warn" role="status">The server is not responding. This page may be out of date; it reconnects automatically.</div>`;
  }
  return html`<div class="notice notice-bad" role="alert"><span>Your session has expired.</span>
    <a class="button button-main" href=${signIn()} data-native>Sign in again</a></div>`;
}

/** The page of this path. @param {{path: string}} props */
function Shown({ path }) {
  const page = PAGES.find((one) => one.path === path);
  const [loaded, setLoaded] = useState(/** @type {{path: string, Body: any, error: unknown} | null} */ (null));
  const [tries, setTries] = useState(0);
  useEffect(() => {
    if (!page) return undefined;
    let isLeft = false;
    const set = (/** @type {any} */ Body, /** @type {unknown} */ error) => isLeft || setLoaded({ path, Body, error });
    page.load().then((module) => set(module.default, null), (error) => set(null, error));
    return () => void (isLeft = true);
  }, [page, tries]);
  useReloadOnReturn(loaded?.path === path && !loaded.Body);
  useFocusOnTitle(path, !page || loaded?.path === path);
  if (!page) {
    return html`<${Page} title="Page not found"><${Empty} title=${`There is no page at ${path}.`} action=${html`<${Button} href="/">Go to the overview<//>`} /><//>`;
  }
  if (page.needs && !may(page.needs)) {
    return html`<${Page} title=${page.title}><${Empty} title="You don't have access to this page." /><//>`;
  }
  if (loaded?.path !== path) return html`<${Page} title=${page.title}><${Loading} /><//>`;
  if (!loaded.Body) {
    // After an upgrade the server's files have other names.
    return html`<${Page} title=${page.title}><div class="failed" role="alert"><p>This page could not be loaded.</p>
      <${Button} onClick=${() => (connection.value === "lost" ? setTries(tries + 1) : window.location.reload())}>Reload<//></div><//>`;
  }
  return html`<${loaded.Body} key=${path} />`;
}

/**
 * Reloads everything once the server is back if the page's files could not be fetched: browsers may
 * remember that a module failed to load.
 * @param {boolean} isFailed
 */
function useReloadOnReturn(isFailed) {
  useEffect(() => {
    if (!isFailed) return undefined;
    const end = connection.listen((now) => now === "fine" && window.location.reload());
    get("/session").catch(() => undefined); // checks whether the server is reachable
    return end;
  }, [isFailed]);
}

/**
 * Moves the focus to the title of a new page when it is drawn, so that screen readers and the
 * keyboard start there, or to its search field. The browser announces the first page itself.
 * @param {string} path
 * @param {boolean} isDrawn
 */
function useFocusOnTitle(path, isDrawn) {
  const first = useRef(path);
  useLayoutEffect(() => {
    if ((path === first.current && !startsAtSearch) || !isDrawn) return;
    first.current = "";
    const field = startsAtSearch ? searchField() : null;
    startsAtSearch = false;
    (field ?? document.querySelector("h1"))?.focus({ preventScroll: true });
  }, [path, isDrawn]);
}

/** @param {{onClose: () => void}} props */
function Help({ onClose }) {
  return html`<${Dialog} title="Keyboard shortcuts" onClose=${onClose} wide>
    <div class="help">
      ${known().map(({ group, bindings }) => bindings.length > 0 && html`<div><h3>${group}</h3><dl>
        ${bindings.map(([key, words]) => html`<div><dt>${key.split(" ").map((one) => html`<kbd>${one}</kbd>`)}</dt><dd>${words}</dd></div>`)}
      </dl></div>`)}
    </div>
  <//>`;
}
