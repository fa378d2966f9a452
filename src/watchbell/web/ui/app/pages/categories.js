/** Categories of events: their colours, and the limits and actions that all their events have. */

import { html } from "htm/preact";
import { useFetched } from "../api.js";
import { NumberField } from "../kit/amounts.js";
import { EnabledField, NotesField, sent, TitleFields } from "./definitions/common_fields.js";
import { Definitions, listed } from "./definitions/definitions.js";
import { Actions } from "./events/actions.js";
import { itemsOf, keyed } from "./events/draft.js";
import { Limits } from "./events/limits.js";
import { COLOURS, Dot } from "./events/words.js";

/** @typedef {import("./definitions/definitions.js").Change} Change */
/** @typedef {import("./events/draft.js").Item} Item */

const NOTHING = { channels: [], tags: [] };

/** @type {import("./definitions/definitions.js").Kind} */
const KIND = {
  noun: "category",
  plural: "categories",
  filter: "category",
  wide: true,
  lead: "Every event belongs to a category. Its limits and actions hold for all its events.",
  empty: "Categories group events, and people can be limited to some of them.",
  blank: { title: "", color: "blue", enabled: true, limits: [], actions: [] },
  drafted: (record) => ({ ...record, limits: (record.limits ?? []).map(keyed), actions: (record.actions ?? []).map(keyed) }),
  body: (draft, isNew) => {
    const { limits, actions } = itemsOf(draft);
    return { ...sent(draft, ["enabled", "color", "notes", "sort_order"], isNew), limits, actions };
  },
  columns: [
    { head: "Colour", kind: "tight", cell: ({ record }) => html`<span><${Dot} color=${record.color} /> ${named(record.color || "plain")}</span>` },
    { head: "For all its events", cell: ({ record }) => listed([[record.limits?.length ?? 0, "limit"], [record.actions?.length ?? 0, "action"]]) || html`<span class="soft">–</span>` },
  ],
  Fields,
  canDelete: (record) => record.id !== "general",
};

export default function Categories() {
  return html`<${Definitions} kind=${KIND} />`;
}

/** @param {{draft: any, change: Change, isNew: boolean}} props */
function Fields({ draft, change, isNew }) {
  const options = useFetched("/events/options").value ?? NOTHING;
  return html`<${TitleFields} draft=${draft} change=${change} isNew=${isNew} placeholder="Databases" />
    <${Colour} value=${draft.color || "plain"} onChange=${(/** @type {string} */ color) => change({ color })} />
    <div class="form-row"><${NumberField} label="Place in lists" name="sort_order" value=${draft.sort_order ?? 0} onInput=${(/** @type {any} */ sort_order) => change({ sort_order })} hint="The lowest comes first." /></div>
    <${NotesField} draft=${draft} change=${change} />
    <${EnabledField} draft=${draft} change=${change} hint="No event of a disabled category starts jobs." />
    <${Limits} limits=${draft.limits} tags=${options.tags} onChange=${(/** @type {Item[]} */ limits) => change({ limits })} />
    <${Actions} actions=${draft.actions} options=${options} onChange=${(/** @type {Item[]} */ actions) => change({ actions })} />`;
}

/** @param {{value: string, onChange: (value: string) => void}} props */
function Colour({ value, onChange }) {
  const all = COLOURS.includes(value) ? COLOURS : [...COLOURS, value];
  return html`<fieldset class="colours"><legend>Colour</legend>
    ${all.map((one) => html`<label title=${one}><input type="radio" name="color" checked=${one === value} onChange=${() => onChange(one)} /><${Dot} color=${one} /> ${named(one)}</label>`)}
  </fieldset>`;
}

/** @param {string} colour */
function named(colour) {
  return colour === "skyblue" ? "sky blue" : colour;
}
