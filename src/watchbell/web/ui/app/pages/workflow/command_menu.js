/** A menu of commands with their keys. */

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";

/** @param {string} key such as `Ctrl+Z`, or `+` */
const keysOf = (key) => (key.length > 1 ? key.split("+") : [key]);

/** @param {{commands: import("./commands.js").Command[]}} props */
export function CommandMenu({ commands }) {
  const menu = useRef(/** @type {HTMLDetailsElement | null} */ (null));
  const close = () => menu.current?.removeAttribute("open");
  useEffect(() => {
    const press = (/** @type {PointerEvent} */ event) => event.target instanceof Node && !menu.current?.contains(event.target) && close();
    document.addEventListener("pointerdown", press);
    return () => document.removeEventListener("pointerdown", press);
  }, []);
  const leave = (/** @type {FocusEvent} */ event) => {
    if (event.relatedTarget instanceof Node && !menu.current?.contains(event.relatedTarget)) close();
  };
  const key = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Escape" || !menu.current?.open) return;
    event.preventDefault();
    close();
    menu.current.querySelector("summary")?.focus();
  };
  return html`<details class="workflow-menu" ref=${menu} onFocusOut=${leave} onKeyDown=${key}>
    <summary class="button">Commands</summary>
    <div class="workflow-menu-items">${commands.map((one) => html`<button type="button" key=${one.id} disabled=${one.isOff} onClick=${() => {
      close();
      one.act();
    }}><span>${one.words}</span><span class="workflow-keys">${keysOf(one.keys[0] ?? "").map((part) => html`<kbd>${part}</kbd> `)}</span></button>`)}</div>
  </details>`;
}
