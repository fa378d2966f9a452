/** One maintenance window, or several that are alike: details, end, and change of the end. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { post, put, url, useList } from "../../api.js";
import { confirm, Dialog } from "../../kit/dialog.js";
import { Button, Form } from "../../kit/form.js";
import { Facts, Failed, Loading } from "../../kit/layout.js";
import { When } from "../../kit/time.js";
import { MomentField } from "../../kit/moment.js";
import { showToast } from "../../kit/toast.js";
import { may } from "../../session.js";
import { lasting, zone } from "../../times.js";
import { momentName, spanName, written } from "./days.js";
import { counted } from "../../words.js";
import { sayEnded } from "../checks/undo.js";
import { isEndless, Kind, title, who } from "./words.js";

/** @typedef {import("./words.js").Window} Window */

/** @param {{window: Window, onClose: () => void, onChanged: () => void}} props */
export function Detail({ window, onClose, onChanged }) {
  const checks = useList(url("/maintenance/checks", { id: window.id, limit: 100 }));
  const [isResizing, setIsResizing] = useState(false);
  const canChange = may("operate") && window.when !== "past";
  const end = () =>
    confirm({
      title: window.when === "future" ? "Delete this maintenance?" : "End this maintenance now?",
      words: html`<p>${window.when === "future" ? "The maintenance is deleted" : "The maintenance ends now"} for ${who(window)}. Failures send alerts again.</p>`,
      yes: window.when === "future" ? "Delete maintenance" : "End maintenance",
      act: async () => {
        const done = await post("/maintenance/end", { id: window.id });
        const words = `${window.when === "future" ? "Deleted" : "Ended"} for ${counted(done.count, "check")}.`;
        // Undo needs the name of each check, so all must be loaded.
        if (checks.items.length === window.count) sayEnded(words, window, checks.items, onChanged);
        else showToast(words);
        onChanged();
        onClose();
      },
    });
  return html`<${Dialog} title=${title(window)} onClose=${onClose}>
    <div class="stack">
      <${Facts} rows=${[
        ["Kind", html`<${Kind} window=${window} />`],
        ["When", isEndless(window) ? html`since ${momentName(window.start)}, no end` : html`${spanName(window.start, window.end)} <span class="soft">(${lasting(window.duration, 2)})</span>`],
        [{ past: "Ended", current: "Ends", future: "Starts" }[window.when], html`<${When} at=${window.when === "future" ? window.start : window.end} />`],
        window.summary ? ["Reason", window.summary] : null,
        ["Checks", html`<${Checks} list=${checks} count=${window.count} />`],
      ]} />
      ${canChange && !isResizing && html`<div class="actions"><${Button} kind="danger" onClick=${end}>${window.when === "future" ? "Delete" : "End now"}<//>
        <${Button} onClick=${() => setIsResizing(true)}>Change end<//></div>`}
      ${canChange && isResizing && html`<${Resize} window=${window} onCancel=${() => setIsResizing(false)} onDone=${() => {
        onChanged();
        onClose();
      }} />`}
    </div>
  <//>`;
}

/** @param {{list: ReturnType<typeof useList>, count: number}} props */
function Checks({ list, count }) {
  if (list.problem && list.items.length === 0) return html`<${Failed} problem=${list.problem} retry=${list.reload} />`;
  if (list.items.length === 0) return html`<${Loading} lines=${2} />`;
  return html`<ul class="plain-list window-checks">
    ${list.items.map((/** @type {any} */ check) => html`<li><a href=${url("/check", { id: check })}>${check}</a></li>`)}
    ${list.hasMore && html`<li><${Button} small onClick=${list.more} busy=${list.isLoading}>Load more of ${count.toLocaleString("en-GB")}<//></li>`}
  </ul>`;
}

/** @param {{window: Window, onCancel: () => void, onDone: () => void}} props */
function Resize({ window, onCancel, onDone }) {
  const [end, setEnd] = useState(isEndless(window) ? "in 1 hour" : written(window.end));
  const save = async () => {
    const done = await put("/maintenance", { id: window.id, end, zone: zone() });
    showToast(`End changed for ${counted(done.count, "check")}.`);
    onDone();
  };
  return html`<${Form} onSubmit=${save} submit="Save" cancel=${onCancel} disabled=${!end.trim()}>
    <${MomentField} label="Ends" name="end" value=${end} onInput=${setEnd} autofocus hint="24 nov 14:00, in 30 minutes, tomorrow 08:00" />
  <//>`;
}
