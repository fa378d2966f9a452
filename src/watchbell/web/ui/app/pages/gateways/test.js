/** A real test message to an address. */

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
  pagerduty: "a service's key",
};

/** @param {{medium: string, kind: string, onClose: () => void}} props */
export function Test({ medium, kind, onClose }) {
  const [address, setAddress] = useState("");
  const [answer, setAnswer] = useState("");
  const send = async () => {
    setAnswer("");
    const told = await post("/gateways/test", { medium, address });
    setAnswer(told.answer);
  };
  return html`<${Dialog} title=${`Send a test by ${medium}`} onClose=${onClose}>
    <${Form} onSubmit=${send} submit="Send it" cancel=${onClose} disabled=${!address.trim()}>
      <${Field} label="Address" name="address" value=${address} onInput=${setAddress} autofocus placeholder=${SAMPLES[kind] ?? ""}
        hint="A real message goes there, which says that it is a test" />
      <div role="status" aria-live="polite">${answer && html`<p class="good">Taken. The server answered: ${answer}</p>`}</div>
    <//>
  <//>`;
}
