/** Where nothing has ever reported: how to see a first check, and to have somebody called. */

import { html } from "htm/preact";
import { may } from "../../session.js";
import { Command } from "../../kit/copy.js";
import { Button } from "../../kit/form.js";
import { Card } from "../../kit/layout.js";

export function First() {
  const event = `{"type": "service", "entity": "web-1", "check": "HTTP", "state": "critical", "summary": "connection refused"}`;
  return html`<${Card}>
    <div class="overview-first">
      <p class="overview-first-lead">Watchbell runs, and nothing has reported yet. This page changes by itself once something does.</p>
      <ol class="overview-steps">
        <li><h2>See a first check</h2>
          <p class="soft">In a terminal on this machine, where Watchbell lies:</p>
          <${Command} text=${'./watchbell event web-1 HTTP critical "connection refused"'} /></li>
        <li><h2>Have somebody called</h2>
          <p class="soft">A contact with an address who is interested in everything, or <a href="/contacts">make one here</a>:</p>
          <${Command} text="./watchbell contacts set alice --first-name Alice --medium email=alice@example.com && ./watchbell contacts link alice --all" /></li>
        <li><h2>Report from elsewhere</h2>
          <p class="soft">Any program can, with a <a href="/api-keys">key of its own</a> in place of KEY:</p>
          <${Command} text=${`curl -H 'Authorization: Bearer KEY' -d '${event}' ${window.location.origin}/api/v1/check-events`} /></li>
      </ol>
      <div class="actions">
        <${Button} kind="main" href="/api-keys">Make an API key<//>
        <${Button} href="/contacts">Contacts<//>
        ${may("write") && html`<${Button} href="/cron/new">Add a cron job<//>`}
        <a href="/api">The API</a>
      </div>
    </div>
  <//>`;
}
