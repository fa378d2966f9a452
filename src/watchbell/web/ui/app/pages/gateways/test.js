/** Sends a test message to an address. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { post } from "../../api.js";
import { Dialog } from "../../kit/dialog.js";
import { Field, Form } from "../../kit/form.js";

/** @type {Record<string, string>} */
const SAMPLES = {
  email: "alice@example.com",
  jabber: "alice@example.com",
  slack: "#alerts",
  webhook: "https://example.com/hook",
  pagerduty: "integration key",
};

/** @param {{medium: string, kind: string, onClose: () => void}} props */
export function Test({ medium, kind, onClose }) {
  const [address, setAddress] = useState("");
  const [answer, setAnswer] = useState("");
  const send = async () => {
    setAnswer("");
    const sent = await post("/gateways/test", { medium, address });
    setAnswer(sent.answer);
  };
  return html`<${Dialog} title=${`Send test by ${medium}`} onClose=${onClose}>
    <${Form} onSubmit=${send} submit="Send" cancel=${onClose} disabled=${!address.trim()}>
      <${Field} label="Address" name="address" value=${address} onInput=${setAddress} autofocus placeholder=${SAMPLES[kind] ?? ""}
        hint="A real message, marked as a test, is sent to this address." />
      <div role="status" aria-live="polite">${answer && html`<p class="good">Delivered. Server reply: ${answer}</p>`}</div>
    <//>
  <//>`;
}
