/** The API documentation, made of the OpenAPI description. */

import { html } from "htm/preact";
import { useEffect, useMemo } from "preact/hooks";
import { useFetched } from "../api.js";
import { useQuery } from "../location.js";
import { Button, Search } from "../kit/form.js";
import { Card, Empty, Fetched, Page } from "../kit/layout.js";
import { withCode } from "../kit/text.js";
import { counted } from "../words.js";
import { Operation } from "./api_docs/operation.js";
import { sections } from "./api_docs/description.js";

/** @typedef {import("./api_docs/description.js").Description} Description */

export default function ApiDocs() {
  const description = useFetched("/openapi.json");
  return html`<${Page} title="API" actions=${html`<${Button} href="/api-keys">API keys<//>
      <${Button} href="/api/v1/openapi.json" kind="quiet" data-native>OpenAPI<//>`}>
    <${Fetched} of=${description} lines=${12}>${(/** @type {Description} */ found) => html`<${Reference} description=${found} />`}<//>
  <//>`;
}

/** @param {{description: Description}} props */
function Reference({ description }) {
  const [query, setQuery] = useQuery();
  const text = query.get("text") ?? "";
  const open = query.get("operation") ?? "";
  const found = useMemo(() => sections(description, text), [description, text]);
  const count = found.reduce((sum, one) => sum + one.operations.length, 0);
  useEffect(() => document.getElementById(open)?.scrollIntoView(), []);
  return html`<p class="api-lead">${withCode(description.info.description)} The examples expect your key in the variable <code>KEY</code>: <code>export KEY=…</code></p>
    <div class="bar-of">
      <${Search} value=${text} onSearch=${(/** @type {string} */ to) => setQuery({ text: to })} placeholder="Filter by path, word or field" label="Filter operations" />
      <span class="soft" role="status">${counted(count, "operation")}</span>
    </div>
    ${count === 0 && html`<${Card}><${Empty} title="No operations match these filters." action=${html`<${Button} onClick=${() => setQuery({ text: null })}>Clear filters<//>`} /><//>`}
    <div class="api-columns">
      ${count > 0 && html`<nav class="api-contents" aria-label="Resources"><ul>
        ${found.map(({ name, id }) => html`<li><a href=${`#${id}`} data-native>${name}</a></li>`)}
      </ul></nav>`}
      <div>${found.map(({ name, id, operations }) => html`<${Card} key=${id} id=${id} flush title=${name}>
        ${operations.map((one) => html`<${Operation} key=${one.id} operation=${one} schemas=${description.components.schemas} isOpen=${one.id === open}
          onOpen=${() => setQuery({ operation: one.id })} />`)}
      <//>`)}</div>
    </div>`;
}
