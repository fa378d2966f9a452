/** Tries a server command: runs it on one server now, and shows what it gives. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { post } from "../../api.js";
import { took } from "../../times.js";
import { Form } from "../../kit/form.js";
import { Facts } from "../../kit/layout.js";
import { ServerField, useServer } from "../expressions/trial.js";

/** @typedef {{output: any, text: string, error: string, elapsed: number}} Ran */

/** @param {{plugin: {id: string}}} props */
export function TryCommand({ plugin }) {
  const on = useServer();
  const [ran, setRan] = useState(/** @type {Ran | null} */ (null));
  const run = async () => {
    setRan(null);
    setRan(await post(`/servers/${encodeURIComponent(on.server)}/commands/${encodeURIComponent(plugin.id)}`));
  };
  return html`<div class="stack"><${Form} onSubmit=${run} submit="Run command" disabled=${on.server === ""}>
      <${ServerField} on=${on} label="On" hint="It runs once, now. Nothing is stored." />
    <//>
    <div role="status">${ran && html`<${Outcome} ran=${ran} path=${`commands.${plugin.id}`} />`}</div></div>`;
}

/** @param {{ran: Ran, path: string}} props */
function Outcome({ ran, path }) {
  return html`<div class="stack">
    ${ran.error && html`<p class="bad">${ran.error}</p>`}
    <${Facts} rows=${[["Took", took(ran.elapsed)], !ran.error && [html`<code>${path}</code>`, html`<pre class="alert-words" tabindex="0" aria-label="Value">${JSON.stringify(ran.output, null, 2)}</pre>`], ["Printed", ran.text ? html`<pre class="alert-words" tabindex="0" aria-label="Printed">${ran.text}</pre>` : "nothing"]]} />
  </div>`;
}
