/** Trying things on the last sample of a server while somebody writes them. */

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { post, Problem, url, useFetched } from "../../api.js";
import { Field } from "../../kit/form.js";
import { nameOf } from "../servers/words.js";

/**
 * @typedef {import("../servers/words.js").Row} Row
 * @typedef {{value: string | null, is_cut: boolean, is_true: boolean, error: string, position: number | null}} Evaluated
 */

const TYPING_MS = 300;
/** Seconds after which a trial is repeated: there is a new sample each minute. */
const EVERY = 30;

/**
 * The server whose sample is used: the first that is up, until somebody selects another one.
 * @param {string} [given]
 * @returns {{server: string, select: (id: string) => void, servers: Row[], isLoading: boolean}}
 */
export function useServer(given = "") {
  const [selected, select] = useState(given);
  const { value } = useFetched(url("/servers", { limit: 500 }));
  const servers = /** @type {Row[]} */ (value?.items ?? []);
  const first = servers.find((one) => one.is_online) ?? servers[0];
  return { server: selected || (first?.id ?? ""), select, servers, isLoading: value === null };
}

/** @param {{on: ReturnType<typeof useServer>, label?: string, hint?: any}} props */
export function ServerField({ on, label = "Try it on", hint }) {
  if (on.servers.length === 0 && !on.isLoading) return html`<p class="soft">There is no server to try it on. <a href="/servers">Add a server</a></p>`;
  return html`<${Field} label=${label} name="server" value=${on.server} onInput=${on.select} options=${on.servers.map((one) => [one.id, nameOf(one)])} hint=${hint} />`;
}

/**
 * The answer of an endpoint that tries something, a moment after the last change and again later.
 * @template T
 * @param {string} path
 * @param {any} body null to try nothing
 * @returns {{value: T | null, problem: Problem | null}}
 */
export function useTrial(path, body) {
  const [found, setFound] = useState(/** @type {{value: T | null, problem: Problem | null}} */ ({ value: null, problem: null }));
  const text = body === null ? "" : JSON.stringify(body);
  useEffect(() => {
    if (text === "") {
      setFound({ value: null, problem: null });
      return undefined;
    }
    let isOver = false;
    const ask = async () => {
      try {
        const value = await post(path, JSON.parse(text));
        if (!isOver) setFound({ value, problem: null });
      } catch (problem) {
        if (!(problem instanceof Problem)) throw problem;
        if (!isOver) setFound({ value: null, problem });
      }
    };
    const first = setTimeout(ask, TYPING_MS);
    const again = setInterval(() => document.hidden || ask(), EVERY * 1000);
    return () => {
      isOver = true;
      clearTimeout(first);
      clearInterval(again);
    };
  }, [path, text]);
  return found;
}

/**
 * A field for an expression or a message, with what it gives on a server.
 * @param {{label: string, name: string, value: string, onInput: (text: string) => void, server: string, isMessage?: boolean,
 *   rows?: number, hint?: any, placeholder?: string}} props
 */
export function ExpressionField({ label, name, value, onInput, server, isMessage = false, rows = 2, hint, placeholder }) {
  const isReady = server !== "" && value.trim() !== "";
  const { value: found, problem } = /** @type {{value: Evaluated | null, problem: Problem | null}} */ (
    useTrial("/expressions/evaluate", isReady ? { server, text: value, is_message: isMessage } : null)
  );
  return html`<div class="expression">
    <${Field} label=${label} name=${name} value=${value} onInput=${onInput} rows=${rows} mono=${!isMessage} hint=${hint} placeholder=${placeholder} spellcheck=${isMessage} maxlength="10000"
      aria-invalid=${found?.error ? "true" : undefined} />
    <output class="expression-result">${problem ? html`<span class="soft">${problem.message}</span>` : found && html`<${Result} found=${found} text=${value} isMessage=${isMessage} />`}</output>
  </div>`;
}

/** @param {{found: Evaluated, text: string, isMessage?: boolean}} props */
export function Result({ found, text, isMessage = false }) {
  if (found.error) return html`<${Mistake} text=${text} error=${found.error} position=${found.position} />`;
  const lines = `${found.value}${found.is_cut ? "…" : ""}`;
  return html`<div class="expression-value"><span class="soft">${isMessage ? "Now:" : "="}</span> ${lines.includes("\n") ? html`<pre tabindex="0" aria-label="Value">${lines}</pre>` : isMessage ? html`<span>${lines}</span>` : html`<code>${lines}</code>`}</div>`;
}

/**
 * The line of a text with the mistake, which a caret points at.
 * @param {{text: string, error: string, position: number | null}} props
 */
function Mistake({ text, error, position }) {
  const at = Math.max((position ?? 1) - 1, 0);
  const start = text.lastIndexOf("\n", at - 1) + 1;
  const end = text.indexOf("\n", at);
  const line = text.slice(start, end < 0 ? undefined : end);
  const number = text.slice(0, start).split("\n").length;
  return html`<div class="expression-mistake"><p class="bad">${error}${position !== null && html`, at ${number > 1 || text.includes("\n") ? `line ${number}, ` : ""}column ${at - start + 1}`}</p>
    ${position !== null && html`<pre aria-hidden="true">${line.slice(0, at - start)}<mark>${line.slice(at - start, at - start + 1) || " "}</mark>${line.slice(at - start + 1)}</pre>`}</div>`;
}
