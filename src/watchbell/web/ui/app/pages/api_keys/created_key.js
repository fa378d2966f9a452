/** A new key, shown once, with examples. */

import { html } from "htm/preact";
import { Command } from "../../kit/copy.js";
import { Dialog } from "../../kit/dialog.js";
import { Button } from "../../kit/form.js";

const CURL = "curl -fsS -m 10 --retry 3";

/** @param {string} secret @param {string[]} scopes */
function example(secret, scopes) {
  const key = `-H "Authorization: Bearer ${secret}"`;
  if (scopes.length === 1 && scopes[0] === "metrics") return `curl ${key} ${window.location.origin}/metrics`;
  if (scopes.some((one) => one !== "intake")) return `curl ${key} ${window.location.origin}/api/v1/system`;
  const event = `{"type": "service", "state": "ok", "entity": "web-1", "check": "HTTP"}`;
  return `curl ${key} -d '${event}' ${window.location.origin}/api/v1/check-events`;
}

/** @param {{created: import("../api_keys.js").NewKey, onClose: () => void}} props */
export function CreatedKey({ created, onClose }) {
  return html`<${Dialog} title=${created.key.name} onClose=${onClose} wide>
    <div class="stack">
      <p><strong>This is shown only once.</strong> Store it in a safe place. If you lose it, create a new key.</p>
      ${created.ping_url
        ? html`<h3>At the end of the job</h3>
          <${Command} text=${`${CURL} ${created.ping_url}`} />
          <h3>In a crontab, with the exit code</h3>
          <${Command} text=${`0 3 * * * /usr/local/bin/backup; ${CURL} ${created.ping_url}/$?`} />
          <p class="soft">Call <code>/start</code> at the beginning to measure the duration, and <code>/fail</code> to report a failure. A number is an exit code.</p>`
        : html`<${Command} text=${created.secret} />
          <h3>Try it</h3>
          <${Command} text=${example(created.secret, created.key.scopes)} />`}
      <div class="actions"><${Button} kind="main" onClick=${onClose}>Done<//></div>
    </div>
  <//>`;
}
