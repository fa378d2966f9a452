/** First steps: run a job, get notified. Shown until something has reported. */

import { html } from "htm/preact";
import { useFetched } from "../../api.js";
import { may } from "../../session.js";
import { Command } from "../../kit/copy.js";
import { Button } from "../../kit/form.js";
import { Card } from "../../kit/layout.js";
import { State } from "../../kit/state.js";

/** @param {{jobs: import("./jobs.js").Known}} props */
export function First({ jobs }) {
  const contacts = useFetched("/contacts?limit=1", { every: 15 });
  const hasContact = (contacts.value?.items.length ?? 0) > 0;
  const report = `{"type": "service", "entity": "web-1", "check": "HTTP", "state": "critical", "summary": "connection refused"}`;
  return html`<${Card}>
    <div class="overview-first">
      <p class="overview-first-lead">Watchbell is running. Two steps make it useful. This page updates automatically.</p>
      <ol class="overview-steps">
        <${Step} title="Run a job" isDone=${jobs.finished + jobs.active > 0}>
          <p class="soft">Write a script and say when it runs. This machine is the first server of your fleet.</p>
          <div class="actions">${may("create_events") && html`<${Button} kind="main" href="/events/new">Create an event<//>`}
            ${jobs.events > 0 && html`<${Button} href="/events">Run an event<//>`}<a href="/servers">Add servers</a></div>
          <p class="soft">Or in a terminal on this machine, in the folder of Watchbell:</p>
          <${Command} text=${'./watchbell events add "Disk space" --at "*/10 * * * *" -- df -h / && ./watchbell events run "Disk space" --wait'} />
        <//>
        <${Step} title="Get notified" isDone=${hasContact}>
          <p class="soft">When a job fails or a check reports a problem, its contacts get alerts. Create one that gets all of them:</p>
          <div class="actions">${may("write") && html`<${Button} kind=${jobs.finished + jobs.active > 0 ? "main" : "plain"} href="/contacts">Add a contact<//>`}<a href="/gateways">Set up mail and other media</a></div>
          <${Command} text="./watchbell contacts set alice --first-name Alice --medium email=alice@example.com && ./watchbell contacts link alice --all" />
        <//>
      </ol>
      <details class="overview-more"><summary>Report from your own programs</summary>
        <p class="soft">Anything can report a problem. On this machine:</p>
        <${Command} text=${'./watchbell event web-1 HTTP critical "connection refused"'} />
        <p class="soft">From other machines, with an <a href="/api-keys">API key</a> in place of KEY:</p>
        <${Command} text=${`curl -H 'Authorization: Bearer KEY' -d '${report}' ${window.location.origin}/api/v1/check-events`} />
        <div class="actions"><${Button} href="/api-keys">Create an API key<//>
          ${may("write") && html`<${Button} href="/cron/new">Add a cron job<//>`}<a href="/api">API documentation</a></div>
      </details>
    </div>
  <//>`;
}

/** @param {{title: string, isDone: boolean, children?: any}} props */
function Step({ title, isDone, children }) {
  return html`<li><h2>${title} ${isDone && html`<${State} state="ok" word="done" />`}</h2>${!isDone && children}</li>`;
}

/** A reminder once jobs or checks report and nobody would hear of a failure. */
export function NobodyNotified() {
  const contacts = useFetched("/contacts?limit=1", { every: 60 });
  if (!contacts.value || contacts.value.items.length > 0 || !may("write")) return null;
  return html`<div class="notice notice-wide" role="status"><span>Nobody is notified yet: there are no contacts.</span><a class="button" href="/contacts">Add a contact</a></div>`;
}
