/** One operation of the API: parameters, body, answers and a curl example. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { Command } from "../../kit/copy.js";
import { withCode } from "../../kit/text.js";
import { nameOf, objectsOf, typeOf } from "./description.js";

/**
 * @typedef {import("./description.js").OperationInfo} OperationInfo
 * @typedef {import("./description.js").Schema} Schema
 * @typedef {Record<string, Schema>} Schemas
 */

/** @param {{operation: OperationInfo, schemas: Schemas, isOpen: boolean, onOpen: () => void}} props */
export function Operation({ operation, schemas, isOpen, onOpen }) {
  const [isShown, setIsShown] = useState(isOpen);
  const { method, path, described } = operation;
  const toggle = (/** @type {Event} */ event) => {
    const isNow = /** @type {HTMLDetailsElement} */ (event.currentTarget).open;
    if (isNow && !isShown) onOpen();
    setIsShown(isNow);
  };
  const [first, ...rest] = described.description.split(/(?<=\.)\s+/);
  return html`<details class="api-operation" id=${operation.id} open=${isShown} onToggle=${toggle}>
    <summary><h3><span class=${`api-method api-${method.toLowerCase()}`}>${method}</span> <code>${path}</code></h3>
      <span class="soft">${withCode(first ?? "")}</span></summary>
    ${isShown && html`<div class="stack api-body">
      ${rest.length > 0 && html`<p>${withCode(rest.join(" "))}</p>`}
      <${Example} described=${described} />
      <${Parameters} described=${described} />
      <${Body} described=${described} schemas=${schemas} />
      <${Answers} described=${described} schemas=${schemas} />
    </div>`}
  </details>`;
}

/** @param {{described: OperationInfo["described"]}} props */
function Example({ described }) {
  const source = described["x-codeSamples"]?.[0]?.source;
  if (!source) return null;
  return html`<div><h4>Example</h4><${Command} text=${source.replaceAll("$URL", window.location.origin)} /></div>`;
}

/** @param {{described: OperationInfo["described"]}} props */
function Parameters({ described }) {
  const all = described.parameters ?? [];
  if (all.length === 0) return null;
  const rows = all.map((one) => ({ name: one.name, schema: one.schema, isRequired: one.required ?? false, note: one.description ?? one.schema.description ?? "", place: one.in }));
  return html`<div><h4>Parameters</h4><${Fields} label="Parameters" rows=${rows} schemas=${{}} /></div>`;
}

/** @param {{described: OperationInfo["described"], schemas: Schemas}} props */
function Body({ described, schemas }) {
  const all = Object.entries(described.requestBody?.content ?? {});
  return all.map(([kind, { schema }]) => html`<div><h4>Body <span class="soft">${kind}: ${typeOf(schema)}</span></h4>
    ${objectsOf(schema).map((one) => html`<${Shape} schema=${one} schemas=${schemas} />`)}</div>`);
}

/** @param {{described: OperationInfo["described"], schemas: Schemas}} props */
function Answers({ described, schemas }) {
  const all = Object.entries(described.responses);
  const isProblem = (/** @type {import("./description.js").Content} */ one) => "application/problem+json" in (one.content ?? {});
  const errors = all.filter(([, one]) => isProblem(one)).map(([status]) => status);
  return html`<div><h4>Answer</h4>
    ${all.filter(([, one]) => !isProblem(one)).map(([status, one]) => {
      const contents = Object.entries(one.content ?? {});
      return html`<p><code>${status}</code> ${contents.length === 0 ? html`<span class="soft">no content</span>` : contents.map(([kind, { schema }]) => html`<span class="soft">${kind}: ${typeOf(schema)}</span> `)}</p>
        ${contents.flatMap(([, { schema }]) => objectsOf(schema)).map((part) => html`<${Shape} schema=${part} schemas=${schemas} isFolded />`)}`;
    })}
    ${errors.length > 0 && html`<p class="soft">Errors: ${errors.join(", ")} as <code>application/problem+json</code></p>`}
  </div>`;
}

/**
 * The fields of an object; those of nested ones are rendered when they are opened.
 * @param {{schema: Schema, schemas: Schemas, isFolded?: boolean}} props
 */
function Shape({ schema, schemas, isFolded = false }) {
  const [isShown, setIsShown] = useState(!isFolded);
  const name = nameOf(schema);
  const found = name ? schemas[name] : schema;
  const fields = Object.entries(found?.properties ?? {});
  if (!found || fields.length === 0) return null;
  const rows = fields.map(([field, one]) => ({ name: field, schema: one, isRequired: found.required?.includes(field) ?? false, note: one.description ?? "", place: "" }));
  return html`<details class="api-shape" open=${isShown} onToggle=${(/** @type {Event} */ event) => setIsShown(/** @type {HTMLDetailsElement} */ (event.currentTarget).open)}>
    <summary>Fields of ${name || "the object"}</summary>
    ${isShown && html`${found.description && html`<p class="soft">${withCode(found.description)}</p>`}<${Fields} label=${`Fields of ${name || "the object"}`} rows=${rows} schemas=${schemas} />`}
  </details>`;
}

/**
 * @param {{label: string, rows: {name: string, schema: Schema, isRequired: boolean, note: string, place: string}[], schemas: Schemas}} props
 *   `place`: of a parameter, empty for a field
 */
function Fields({ label, rows, schemas }) {
  const hasPlace = rows.some((one) => one.place);
  return html`<div class="table-frame"><table class="table" aria-label=${label}>
    <thead><tr><th scope="col">Name</th>${hasPlace && html`<th scope="col">In</th>`}<th scope="col">Type</th><th scope="col">Description</th></tr></thead>
    <tbody>${rows.map((one) => html`<tr>
      <td class="cell-main"><code>${one.name}</code> ${one.isRequired && html`<span class="api-required">required</span>`}</td>
      ${hasPlace && html`<td data-label="In">${one.place}</td>`}
      <td data-label="Type"><div>${typeOf(one.schema)}${objectsOf(one.schema).map((part) => html`<${Shape} schema=${part} schemas=${schemas} isFolded />`)}</div></td>
      <td data-label="Description">${one.note ? html`<div>${withCode(one.note)}</div>` : html`<span class="soft">–</span>`}</td>
    </tr>`)}</tbody>
  </table></div>`;
}
