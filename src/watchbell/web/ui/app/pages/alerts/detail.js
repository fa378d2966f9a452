/** One alert: its text, delivery status and the server's reply. */

import { html } from "htm/preact";
import { post, Problem, url, useFetched } from "../../api.js";
import { may } from "../../session.js";
import { Dialog } from "../../kit/dialog.js";
import { Button } from "../../kit/form.js";
import { Facts, Fetched } from "../../kit/layout.js";
import { Chip, State } from "../../kit/state.js";
import { When } from "../../kit/time.js";
import { attempt } from "../../kit/toast.js";
import { OUTCOMES, shownState } from "./words.js";

/** @typedef {import("./words.js").Message} Message */

/** @param {{id: string, onClose: () => void, onRetry: () => void}} props */
export function Detail({ id, onClose, onRetry }) {
  const found = useFetched(url("/alert", { id }), { every: 5 });
  const again = async () => {
    await attempt(async () => {
      const [answer] = await post("/alerts/retry", { ids: [id] });
      if (answer.status !== "again") throw new Problem(422, answer.reason);
    }, "Alert queued again.");
    found.reload();
    onRetry();
  };
  return html`<${Dialog} title="Alert" wide onClose=${onClose}>
    <${Fetched} of=${found} lines=${8}>${(/** @type {Message} */ shown) => html`<${Shown} shown=${shown} again=${again} />`}<//>
  <//>`;
}

/** @param {{shown: Message, again: () => Promise<void>}} props */
function Shown({ shown, again }) {
  const { sent, body, summary, details, problem } = shown.message;
  return html`<div class="stack">
    <${Facts} rows=${[
      ["About", html`<${State} state=${shownState(sent)} word=${sent.rollup ? `summary (${sent.rollup})` : sent.type} /> <a href=${url("/check", { id: sent.check })}>${sent.check}</a>`],
      ["To", html`<a href=${url("/contact", { id: sent.contact })}>${shown.contact_name || sent.contact}</a>`],
      ["Medium", html`${sent.media} <span class="soft">${sent.address}</span>`],
      ["Created", html`<${When} at=${sent.time} as="exact" />`],
      ["Status", html`<${Chip} tone=${OUTCOMES[sent.outcome].tone}>${OUTCOMES[sent.outcome].words}<//>`],
      sent.delivered_at !== null && ["Delivered", html`<${When} at=${sent.delivered_at} as="exact" />${sent.tries !== null && sent.tries > 1 ? ` after ${sent.tries} attempts` : ""}`],
      sent.answer ? ["Server reply", html`<code>${sent.answer}</code>`] : null,
      sent.failed_at !== null && [sent.outcome === "failed" ? "Failed" : "Had failed", html`<${When} at=${sent.failed_at} as="exact" />`],
      sent.error ? ["Reason", html`<span class=${sent.outcome === "failed" ? "bad" : ""}>${sent.error}</span>`] : null,
      problem ? ["Last attempt", html`<span class="bad">${problem}</span>`] : null,
    ]} />
    ${sent.subject && html`<p><strong>${sent.subject}</strong></p>`}
    ${body && html`<pre class="alert-message" tabindex="0" aria-label="Message">${body}</pre>`}
    ${!body && (summary || details) && html`<div><p>${summary}</p>${details && html`<pre class="alert-message" tabindex="0" aria-label="Details">${details}</pre>`}</div>`}
    ${!body && !summary && !details && html`<p class="soft">The text is available once a server has accepted the alert.</p>`}
    ${sent.can_retry && may("operate") && html`<div class="actions"><${Button} kind="main" onClick=${again}>Retry<//></div>`}
  </div>`;
}
