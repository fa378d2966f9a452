/** First steps, shown until the first check reports. */

import { html } from "htm/preact";
import { may } from "../../session.js";
import { Command } from "../../kit/copy.js";
import { Button } from "../../kit/form.js";
import { Card } from "../../kit/layout.js";

export function First() {
  const event = `{"type": "service", "entity": "web-1", "check": "HTTP", "state": "critical", "summary": "connection refused"}`;
  return html`<${Card}>
    <div class="overview-first">
      <p class="overview-first-lead">Watchbell is running, but nothing has reported yet. This page updates automatically.</p>
      <ol class="overview-steps">
        <li><h2>Send a first report</h2>
          <p class="soft">In a terminal on this machine, in the folder of Watchbell:</p>
          <${Command} text=${'./watchbell event web-1 HTTP critical "connection refused"'} /></li>
        <li><h2>Get notified</h2>
          <p class="soft">Create a contact that gets all alerts, here or under <a href="/contacts">Contacts</a>:</p>
          <${Command} text="./watchbell contacts set alice --first-name Alice --medium email=alice@example.com && ./watchbell contacts link alice --all" /></li>
        <li><h2>Report from other machines</h2>
          <p class="soft">Any program can report. Replace KEY with an <a href="/api-keys">API key</a>:</p>
          <${Command} text=${`curl -H 'Authorization: Bearer KEY' -d '${event}' ${window.location.origin}/api/v1/check-events`} /></li>
      </ol>
      <div class="actions">
        <${Button} kind="main" href="/api-keys">Create an API key<//>
        <${Button} href="/contacts">Contacts<//>
        ${may("write") && html`<${Button} href="/cron/new">Add a cron job<//>`}
        <a href="/api">API documentation</a>
      </div>
    </div>
  <//>`;
}
