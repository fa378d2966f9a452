/** One rejected event: its bytes, the reason, and a form to correct and resend it. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { post, Problem, url, useFetched } from "../../api.js";
import { may } from "../../session.js";
import { Dialog } from "../../kit/dialog.js";
import { Button, Choice, Form } from "../../kit/form.js";
import { Facts, Fetched } from "../../kit/layout.js";
import { When } from "../../kit/time.js";
import { showToast } from "../../kit/toast.js";
import { escaped, hexed, pretty, text, unpacked } from "./bytes.js";

/**
 * @typedef {{id: string, time: number, reason: string, size: number | null, bytes: string, is_whole: boolean, reason_now: string}} Whole
 */

/** @param {{id: string, onClose: () => void}} props */
export function Detail({ id, onClose }) {
  const found = useFetched(url("/rejected/event", { id }));
  return html`<${Dialog} wide title="Rejected event" onClose=${onClose}>
    <${Fetched} of=${found} lines=${6}>${(/** @type {Whole} */ event) => html`<${Shown} event=${event} onClose=${onClose} />`}<//>
  <//>`;
}

/** @param {{event: Whole, onClose: () => void}} props */
function Shown({ event, onClose }) {
  const bytes = unpacked(event.bytes);
  const [view, setView] = useState("text");
  const [draft, setDraft] = useState(/** @type {string | null} */ (null));
  const canSend = may("intake");
  return html`<div class="stack">
    <${Facts} rows=${[
      ["When", html`<${When} at=${event.time} as="exact" />`],
      ["Reason", event.reason],
      event.reason_now === "" && ["Now", html`<span class="good">This event would be accepted now.</span>`],
      ["Size", event.size === null ? "no longer stored; this is the beginning" : `${event.size.toLocaleString("en-GB")} bytes${event.is_whole ? "" : ", beginning shown"}`],
    ]} />
    ${draft === null
      ? html`<div class="bar-of"><${Choice} label="Shown as" value=${view} onChange=${setView} options=${[["text", "Text"], ["hex", "Bytes"]]} />
            ${canSend && html`<${Button} onClick=${() => setDraft(pretty(text(bytes)))}>Edit and resend<//>`}</div>
          <pre class="rejected-bytes" tabindex="0" aria-label="Event">${view === "hex" ? hexed(bytes) : escaped(bytes)}</pre>`
      : html`<${Correct} draft=${draft} setDraft=${setDraft} onClose=${onClose} />`}
  </div>`;
}

/** @param {{draft: string, setDraft: (draft: string | null) => void, onClose: () => void}} props */
function Correct({ draft, setDraft, onClose }) {
  const [reasons, setReasons] = useState(/** @type {string[]} */ ([]));
  const send = async () => {
    setReasons([]);
    try {
      await post("/check-events", draft);
    } catch (problem) {
      if (!(problem instanceof Problem) || problem.errors.length === 0) throw problem;
      setReasons(problem.errors.map((one) => one.reason));
      return;
    }
    showToast("Event sent.");
    onClose();
  };
  return html`<${Form} onSubmit=${send} submit="Send" cancel=${() => setDraft(null)}>
    <label class="unseen" for="corrected">Corrected event</label>
    <textarea id="corrected" class="mono rejected-draft" rows="12" spellcheck=${false} value=${draft} aria-invalid=${reasons.length > 0 ? "true" : undefined}
      aria-describedby="corrected-more" onInput=${(/** @type {any} */ event) => setDraft(event.currentTarget.value)}></textarea>
    <div id="corrected-more" class=${reasons.length > 0 ? "wrong" : "hint"} role="status">${reasons.length > 0 ? reasons.join(". ") : "Required: type, state, entity and check. Optional: time, summary, details, tags and ttl."}</div>
  <//>`;
}
