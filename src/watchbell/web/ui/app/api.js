/** Requests to the API: results, problems, and hooks that fetch, refresh and page. */

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { connection, me } from "./session.js";

/** A problem answer of the server. */
export class Problem extends Error {
  /**
   * @param {number} status 0 if there was no answer
   * @param {string} detail
   * @param {{field: string, reason: string}[]} errors
   */
  constructor(status, detail, errors = []) {
    super(detail);
    this.status = status;
    this.errors = errors;
  }

  /**
   * The error of a field, if any.
   * @param {string} field
   */
  of(field) {
    const found = this.errors.find((one) => one.field === field || one.field.endsWith(`.${field}`));
    return found?.reason ?? "";
  }
}

/**
 * A path with a query; null, empty and false values are left out.
 * @param {string} path
 * @param {Record<string, string | number | boolean | null | undefined | string[]>} query
 */
export function url(path, query = {}) {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === null || value === undefined || value === "" || value === false) continue;
    for (const one of Array.isArray(value) ? value : [value]) words.append(name, String(one));
  }
  const text = words.toString();
  return text ? `${path}?${text}` : path;
}

/**
 * @param {string} method
 * @param {string} path below `/api/v1`, as `/checks`
 * @param {unknown} [body]
 * @param {{signal?: AbortSignal, headers?: Record<string, string>}} [options]
 * @returns {Promise<any>} the JSON of the answer, or null if it is empty
 */
export async function ask(method, path, body, options = {}) {
  /** @type {Record<string, string>} */
  const headers = { accept: "application/json", ...options.headers };
  if (method !== "GET") headers["x-csrf-token"] = me.value?.csrf ?? "";
  if (body !== undefined) headers["content-type"] ??= "application/json";
  const content = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
  let response;
  try {
    const signal = options.signal ? { signal: options.signal } : {};
    response = await fetch(`/api/v1${path}`, { method, headers, body: content ?? null, ...signal });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    connection.set("lost");
    throw new Problem(0, "The server is not responding.");
  }
  if (response.status === 401) connection.set("over");
  else if (response.status === 502 || response.status === 503) connection.set("lost");
  else if (connection.value === "lost" || response.ok) connection.set("fine");
  if (response.ok) return response.status === 204 ? null : parsed(response);
  const problem = await parsed(response);
  if (response.status === 403 && problem?.code === "csrf" && (await hasNewSession())) {
    return ask(method, path, body, options);
  }
  throw new Problem(response.status, problem?.detail ?? response.statusText, problem?.errors);
}

/** Whether the user has signed in again in another tab. If it is another user, the page is reloaded. */
async function hasNewSession() {
  const before = me.value;
  const found = await ask("GET", "/session");
  if (found.csrf === before?.csrf) return false;
  if (found.user !== before?.user) window.location.reload();
  me.set(found);
  return true;
}

/** @param {Response} response */
async function parsed(response) {
  const text = await response.text();
  try {
    return text === "" ? null : JSON.parse(text);
  } catch {
    return null;
  }
}

/** @param {string} path */
export const get = (path) => ask("GET", path);
/** @param {string} path @param {unknown} [body] */
export const post = (path, body) => ask("POST", path, body);
/** @param {string} path @param {unknown} [body] */
export const put = (path, body) => ask("PUT", path, body);
/** @param {string} path @param {unknown} [body] */
export const patch = (path, body) => ask("PATCH", path, body);
/** @param {string} path */
export const remove = (path) => ask("DELETE", path);

/** After this time, `reload` gives up on a request that was not answered. */
const LONGEST_WAIT_MS = 10_000;

/**
 * The answer of a path: fetched when the path changes, on `reload`, at an interval, and when the
 * server is back. The last good answer stays until the next one arrives. A reload waits for the
 * answer to the request before it: if each gave up on the last, a slow server would answer none.
 *
 * @template [T=any]
 * @param {string | null} path null to fetch nothing
 * @param {{every?: number}} [options] `every`: seconds between fetches while the page is visible
 * @returns {{value: T | null, problem: Problem | null, isLoading: boolean, reload: () => void,
 *   put: (value: T) => void}}
 */
export function useFetched(path, { every = 0 } = {}) {
  const [state, setState] = useState(
    /** @type {{path: string | null, value: T | null, problem: Problem | null, isLoading: boolean}} */
    ({ path: null, value: null, problem: null, isLoading: path !== null }),
  );
  const [asked, setAsked] = useState(0);
  /** When the request in progress was sent; null if there is none. */
  const sent = useRef(/** @type {number | null} */ (null));
  const isOutdated = useRef(false);
  const askAgain = useCallback(() => setAsked((count) => count + 1), []);
  const reload = useCallback(() => {
    if (sent.current !== null && performance.now() < sent.current + LONGEST_WAIT_MS) isOutdated.current = true;
    else askAgain();
  }, []);

  useEffect(() => {
    if (path === null) return undefined;
    const abort = new AbortController();
    sent.current = performance.now();
    isOutdated.current = false;
    const settle = (/** @type {(old: typeof state) => typeof state} */ change) => {
      sent.current = null;
      setState(change);
      if (isOutdated.current) askAgain();
    };
    setState((old) => ({ ...old, isLoading: true }));
    ask("GET", path, undefined, { signal: abort.signal }).then(
      (value) => abort.signal.aborted || settle(() => ({ path, value, problem: null, isLoading: false })),
      (problem) => {
        if (abort.signal.aborted) return;
        if (!(problem instanceof Problem)) throw problem;
        settle((old) => ({ path, value: old.path === path ? old.value : null, problem, isLoading: false }));
      },
    );
    return () => {
      sent.current = null;
      abort.abort();
    };
  }, [path, asked]);

  useInterval(reload, path === null ? 0 : every);
  useEffect(() => {
    let last = connection.value;
    return connection.listen((now) => {
      if (last === "lost" && now === "fine") askAgain();
      last = now;
    });
  }, []);

  const isCurrent = state.path === path;
  return {
    value: path === null || !isCurrent ? null : state.value,
    problem: isCurrent ? state.problem : null,
    isLoading: path !== null && (state.isLoading || !isCurrent),
    reload,
    put: (value) => setState({ path, value, problem: null, isLoading: false }),
  };
}

/**
 * A paged list whose answers are `{items, next}`.
 *
 * @template [T=any]
 * @param {string | null} path without `cursor`
 * @returns {{items: T[], problem: Problem | null, isLoading: boolean, hasMore: boolean,
 *   more: () => void, reload: () => void, first: any}}
 */
export function useList(path) {
  const first = useFetched(path);
  const [rest, setRest] = useState(
    /** @type {{of: any, items: T[], next: string | null, isLoading: boolean, problem: Problem | null}} */
    ({ of: null, items: [], next: null, isLoading: false, problem: null }),
  );
  const mine = rest.of === first.value && first.value !== null;
  const next = mine ? rest.next : (first.value?.next ?? null);
  const more = useCallback(async () => {
    if (path === null || next === null) return;
    const of = first.value;
    const before = mine ? rest.items : [];
    setRest({ of, items: before, next, isLoading: true, problem: null });
    try {
      const page = await get(`${path}${path.includes("?") ? "&" : "?"}cursor=${encodeURIComponent(next)}`);
      setRest({ of, items: [...before, ...page.items], next: page.next, isLoading: false, problem: null });
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      setRest({ of, items: before, next, isLoading: false, problem });
    }
  }, [path, next, first.value, rest]);
  return {
    items: [...(first.value?.items ?? []), ...(mine ? rest.items : [])],
    problem: first.problem ?? (mine ? rest.problem : null),
    isLoading: first.isLoading || (mine && rest.isLoading),
    hasMore: next !== null,
    more,
    reload: first.reload,
    first: first.value,
  };
}

/**
 * Calls a function at an interval while the page is visible, and when it becomes visible again.
 * @param {() => void} call
 * @param {number} seconds 0 to stop
 */
export function useInterval(call, seconds) {
  const latest = useRef(call);
  latest.current = call;
  useEffect(() => {
    if (seconds <= 0) return undefined;
    const timer = setInterval(() => document.hidden || latest.current(), seconds * 1000);
    const seen = () => document.hidden || latest.current();
    document.addEventListener("visibilitychange", seen);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", seen);
    };
  }, [seconds]);
}
