/** Channels: several ways to notify people under one name, for the actions of events. */

import { html } from "htm/preact";
import { useFetched } from "../api.js";
import { NumberField } from "../kit/amounts.js";
import { Field } from "../kit/form.js";
import { Tokens } from "../kit/tokens.js";
import { EnabledField, NotesField, sent, TitleFields } from "./definitions/common_fields.js";
import { Definitions, listed } from "./definitions/definitions.js";

/** @typedef {import("./definitions/definitions.js").Change} Change */

/** @type {import("./definitions/definitions.js").Kind} */
const KIND = {
  noun: "channel",
  plural: "channels",
  filter: "",
  wide: true,
  lead: "A channel is a set of people and programs that actions of events notify together.",
  empty: "Create one for each team, then use it in the actions of events.",
  blank: { title: "", enabled: true, users: [] },
  body: (draft, isNew) => sent(draft, ["enabled", "notes", "users", "email", "url", "run_event", "max_per_day"], isNew),
  columns: [
    { head: "Notifies", cell: ({ record }) => listed([[record.users?.length ?? 0, "user"], [record.email ? record.email.split(",").length : 0, "address", "addresses"], [record.url ? 1 : 0, "web hook"], [record.run_event ? 1 : 0, "event"]]) || html`<span class="soft">nobody</span>` },
    { head: "Most a day", kind: "number", cell: ({ record }) => record.max_per_day || html`<span class="soft">–</span>` },
  ],
  Fields,
};

export default function Channels() {
  return html`<${Definitions} kind=${KIND} />`;
}

/** @param {{draft: any, change: Change, isNew: boolean}} props */
function Fields({ draft, change, isNew }) {
  const events = /** @type {{id: string, title: string}[]} */ (useFetched("/events?limit=200").value?.items ?? []);
  const known = draft.run_event && !events.some((one) => one.id === draft.run_event) ? [{ id: draft.run_event, title: draft.run_event }, ...events] : events;
  const text = (/** @type {string} */ label, /** @type {string} */ name, /** @type {Record<string, any>} */ more) =>
    html`<${Field} label=${label} name=${name} value=${draft[name] ?? ""} onInput=${(/** @type {string} */ value) => change({ [name]: value })} ...${more} />`;
  return html`<${TitleFields} draft=${draft} change=${change} isNew=${isNew} placeholder="Database team" />
    <div class="form-row">
      <${Tokens} label="Users" words=${draft.users ?? []} onChange=${(/** @type {string[]} */ users) => change({ users })} hint="Names of people who sign in here. They get a mail." />
      ${text("Mail addresses", "email", { placeholder: "alice@example.com, bob@example.com" })}
    </div>
    <div class="form-row">
      ${text("Web hook", "url", { placeholder: "https://example.com/hook", hint: "Gets JSON about the job." })}
      ${text("Run an event", "run_event", { options: [["", "None"], ...known.map((one) => [one.id, one.title])] })}
    </div>
    <div class="form-row"><${NumberField} label="Most notifications a day" name="max_per_day" value=${draft.max_per_day || null} placeholder="no limit" onInput=${(/** @type {any} */ value) => change({ max_per_day: value ?? 0 })} /></div>
    <${NotesField} draft=${draft} change=${change} />
    <${EnabledField} draft=${draft} change=${change} hint="A disabled channel notifies nobody." />`;
}
