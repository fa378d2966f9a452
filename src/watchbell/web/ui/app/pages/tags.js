/** Tags of events and jobs. */

import { html } from "htm/preact";
import { NotesField, sent, TitleFields } from "./definitions/common_fields.js";
import { Definitions } from "./definitions/definitions.js";

/** @type {import("./definitions/definitions.js").Kind} */
const KIND = {
  noun: "tag",
  plural: "tags",
  filter: "tag",
  lead: "Labels for events and jobs, to find them again, and to act on jobs that have one.",
  empty: "An event can also have tags that are not listed here. A tag of this list has a title and notes.",
  blank: { title: "" },
  body: (draft, isNew) => sent(draft, ["notes"], isNew),
  columns: [{ head: "Id", kind: "tight", cell: ({ record }) => html`<code>${record.id}</code>` }],
  Fields: ({ draft, change, isNew }) => html`<${TitleFields} draft=${draft} change=${change} isNew=${isNew} placeholder="Important" /><${NotesField} draft=${draft} change=${change} />`,
};

export default function Tags() {
  return html`<${Definitions} kind=${KIND} />`;
}
