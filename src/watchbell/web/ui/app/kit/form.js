/** Forms: fields that show their errors, and buttons that show when they are busy. */

import { html } from "htm/preact";
import { createContext } from "preact";
import { useContext, useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import { Problem } from "../api.js";

/** @type {import("preact").Context<Problem | null>} */
const Wrong = createContext(/** @type {Problem | null} */ (null));

/**
 * What is wrong with a field of the form, by the server's name for it; empty if nothing is.
 * @param {string} name
 */
export function useWrong(name) {
  return useContext(Wrong)?.of(name) ?? "";
}

/** All errors of the form. @returns {{field: string, reason: string}[]} */
export function useErrors() {
  return useContext(Wrong)?.errors ?? [];
}

/**
 * Shows more errors at the fields inside, beside those of the last submit.
 * @param {{errors: {field: string, reason: string}[], children?: any}} props
 */
export function Errors({ errors, children }) {
  const refused = useErrors();
  const all = useMemo(() => new Problem(422, "", [...errors, ...refused]), [errors, refused]);
  return html`<${Wrong.Provider} value=${all}>${children}<//>`;
}

/**
 * A button. It is busy and disabled while the promise returned by `onClick` is pending.
 * @param {{children?: any, onClick?: (event: MouseEvent) => any, kind?: "plain" | "main" | "danger" | "quiet",
 *   type?: "button" | "submit", disabled?: boolean, busy?: boolean, title?: string, label?: string,
 *   small?: boolean, href?: string, [name: string]: any}} props `label`: the accessible name if the text is not enough
 */
export function Button({ children, onClick, kind = "plain", type = "button", disabled, busy, title, label, small, href, ...more }) {
  const [isBusy, setIsBusy] = useState(false);
  const isThere = useRef(true);
  useEffect(() => () => void (isThere.current = false), []);
  const look = `button button-${kind}${small ? " button-small" : ""}`;
  const named = { ...more, ...(title ? { title } : {}), ...(label ? { "aria-label": label } : {}) };
  if (href) return html`<a class=${look} href=${href} ...${named}>${children}</a>`;
  const click = async (/** @type {MouseEvent} */ event) => {
    const done = onClick?.(event);
    if (!(done instanceof Promise)) return;
    setIsBusy(true);
    await done.finally(() => isThere.current && setIsBusy(false));
  };
  const working = busy || isBusy;
  return html`<button class=${look} type=${type} disabled=${disabled || working} aria-busy=${working ? "true" : undefined}
    onClick=${click} ...${named}>${children}</button>`;
}

/**
 * A form. Errors of `onSubmit` are shown at the fields that the server names, and above the form if
 * it names none.
 * @param {{onSubmit: () => Promise<any>, submit?: any, kind?: "main" | "danger", cancel?: () => void,
 *   children?: any, disabled?: boolean, extra?: any}} props
 */
export function Form({ onSubmit, submit = "Save", kind = "main", cancel, children, disabled, extra }) {
  const [problem, setProblem] = useState(/** @type {Problem | null} */ (null));
  const [isBusy, setIsBusy] = useState(false);
  const form = useRef(/** @type {HTMLFormElement | null} */ (null));
  const send = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (isBusy) return;
    setIsBusy(true);
    setProblem(null);
    try {
      await onSubmit();
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      setProblem(error);
    } finally {
      setIsBusy(false);
    }
  };
  useEffect(() => {
    const wrong = problem && form.current?.querySelector("[aria-invalid=true], [data-wrong]");
    if (wrong instanceof HTMLElement) wrong.focus();
  }, [problem]);
  return html`<form class="form" ref=${form} onSubmit=${send} novalidate>
    <${Wrong.Provider} value=${problem}>
      ${problem && html`<div class="failed" role="alert"><p>${problem.message}</p></div>`}
      ${children}
    <//>
    <div class="actions form-actions">
      <${Button} type="submit" kind=${kind} busy=${isBusy} disabled=${disabled}>${submit}<//>
      ${cancel && html`<${Button} onClick=${cancel}>Cancel<//>`}
      ${extra}
    </div>
  </form>`;
}

/**
 * A field with its label. `name` is the server's name for it, so that its errors appear here.
 * @param {{label: any, name: string, value: string | number, onInput: (value: string) => void, hint?: any,
 *   type?: string, rows?: number, options?: [value: string, words: string][], placeholder?: string,
 *   problem?: string, mono?: boolean, list?: string[], beside?: any, [more: string]: any}} props
 *   `rows` makes it a textarea, `options` a select, `list` suggests values; `beside`: drawn to the
 *   right of the input
 */
export function Field({ label, name, value, onInput, hint, type = "text", rows, options, placeholder, problem, mono, list, beside, ...more }) {
  const id = useId();
  const refused = useWrong(name);
  const wrong = problem || refused;
  const handleInput = (/** @type {any} */ event) => onInput(event.currentTarget.value);
  const common = {
    id,
    name,
    value,
    placeholder,
    class: mono ? "mono" : undefined,
    "aria-invalid": wrong ? "true" : undefined,
    "aria-describedby": wrong || hint ? `${id}-more` : undefined,
    ...more,
  };
  let input;
  if (options) {
    input = html`<select ...${common} onChange=${handleInput}>
      ${options.map(([one, words]) => html`<option value=${one} selected=${one === value}>${words}</option>`)}
    </select>`;
  } else if (rows) {
    input = html`<textarea ...${common} rows=${rows} onInput=${handleInput}></textarea>`;
  } else {
    input = html`<input ...${common} type=${type} list=${list ? `${id}-list` : undefined} onInput=${handleInput} autocomplete=${more.autocomplete ?? "off"} />
      ${list && html`<datalist id=${`${id}-list`}>${list.map((one) => html`<option value=${one}></option>`)}</datalist>`}`;
  }
  return html`<div class="field">
    <label for=${id}>${label}</label>
    ${beside ? html`<div class="field-row">${input}${beside}</div>` : input}
    ${(wrong || hint) && html`<div id=${`${id}-more`} class=${wrong ? "wrong" : "hint"}>${wrong || hint}</div>`}
  </div>`;
}

/**
 * A checkbox with a label.
 * @param {{label: any, checked: boolean, onChange: (checked: boolean) => void, hint?: any, disabled?: boolean, name?: string}} props
 */
export function Toggle({ label, checked, onChange, hint, disabled, name }) {
  const id = useId();
  return html`<div class="toggle">
    <input type="checkbox" id=${id} name=${name} checked=${checked} disabled=${disabled}
      onChange=${(/** @type {any} */ event) => onChange(event.currentTarget.checked)}
      aria-describedby=${hint ? `${id}-more` : undefined} />
    <div><label for=${id}>${label}</label>${hint && html`<div id=${`${id}-more`} class="hint">${hint}</div>`}</div>
  </div>`;
}

/**
 * A segmented control: one of a few options.
 * @param {{label: string, value: string, options: [value: string, words: any][], onChange: (value: string) => void}} props
 */
export function Choice({ label, value, options, onChange }) {
  return html`<div class="choice" role="group" aria-label=${label}>
    ${options.map(
      ([one, words]) =>
        html`<button type="button" aria-pressed=${one === value ? "true" : "false"} onClick=${() => onChange(one)}>${words}</button>`,
    )}
  </div>`;
}

/**
 * A search field that reports its text after a short pause; `/` focuses it.
 * @param {{value: string, onSearch: (text: string) => void, placeholder?: string, label?: string}} props
 */
export function Search({ value, onSearch, placeholder = "Filter", label = "Filter" }) {
  const [text, setText] = useState(value);
  const timer = useRef(/** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined));
  const typed = useRef(value);
  useEffect(() => {
    if (value !== typed.current) {
      typed.current = value;
      setText(value);
    }
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const change = (/** @type {string} */ next, wait = 150) => {
    setText(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      typed.current = next;
      onSearch(next);
    }, wait);
  };
  return html`<input class="search" type="search" data-search aria-label=${label} placeholder=${placeholder} value=${text}
    autocomplete="off" spellcheck=${false}
    onInput=${(/** @type {any} */ event) => change(event.currentTarget.value)}
    onKeyDown=${(/** @type {KeyboardEvent} */ event) => {
      if (event.key === "Escape") {
        change("", 0);
        /** @type {HTMLElement} */ (event.currentTarget).blur();
      } else if (event.key === "Enter") {
        change(text, 0);
        /** @type {HTMLElement} */ (event.currentTarget).blur();
      }
    }} />`;
}
