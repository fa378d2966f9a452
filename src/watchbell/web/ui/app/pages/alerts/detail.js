/** One alert: its text, what became of it, what the server answered. */

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
    }, "It is on its way again.");
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
      ["By", html`${sent.media} <span class="soft">${sent.address}</span>`],
      ["Made", html`<${When} at=${sent.time} as="exact" />`],
      ["Became", html`<${Chip} tone=${OUTCOMES[sent.outcome].tone}>${OUTCOMES[sent.outcome].words}<//>`],
      sent.delivered_at !== null && ["Delivered", html`<${When} at=${sent.delivered_at} as="exact" />${sent.tries !== null && sent.tries > 1 ? ` at the ${sent.tries}. try` : ""}`],
      sent.answer ? ["Server's answer", html`<code>${sent.answer}</code>`] : null,
      sent.failed_at !== null && [sent.outcome === "failed" ? "Given up" : "Was given up", html`<${When} at=${sent.failed_at} as="exact" />`],
      sent.error ? ["Reason", html`<span class=${sent.outcome === "failed" ? "bad" : ""}>${sent.error}</span>`] : null,
      problem ? ["Last try", html`<span class="bad">${problem}</span>`] : null,
    ]} />
    ${sent.subject && html`<p><strong>${sent.subject}</strong></p>`}
    ${body && html`<pre class="alert-message" tabindex="0" aria-label="The message">${body}</pre>`}
    ${!body && (summary || details) && html`<div><p>${summary}</p>${details && html`<pre class="alert-message" tabindex="0" aria-label="Details">${details}</pre>`}</div>`}
    ${!body && !summary && !details && html`<p class="soft">The text is known once a server has taken it.</p>`}
    ${sent.can_retry && may("operate") && html`<div class="actions"><${Button} kind="main" onClick=${again}>Send it again<//></div>`}
  </div>`;
}
