/** The dialog that adds servers to a group by hand, or removes them. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { patch, useFetched } from "../../api.js";
import { Dialog } from "../../kit/dialog.js";
import { Form, Toggle } from "../../kit/form.js";
import { Empty, Fetched } from "../../kit/layout.js";
import { counted } from "../../words.js";
import { MAIN, nameOf, serverLink, ServerState } from "../servers/words.js";

/**
 * @typedef {import("../servers/words.js").Group} Group
 * @typedef {import("../servers/words.js").Row} Row
 */

/** @param {{group: Group, onClose: () => void, onSaved: (count: number) => void}} props */
export function Members({ group, onClose, onSaved }) {
  const fetched = useFetched("/servers?limit=1000");
  return html`<${Dialog} title=${`Members of ${group.title}`} onClose=${onClose}>
    <${Fetched} of=${fetched} lines=${5}>${(/** @type {{items: Row[]}} */ { items }) =>
      items.length === 0 ? html`<${Empty} title="No servers yet." />` : html`<${Picker} group=${group} rows=${items} onClose=${onClose} onSaved=${onSaved} />`}<//>
  <//>`;
}

/** @param {{group: Group, rows: Row[], onClose: () => void, onSaved: (count: number) => void}} props */
function Picker({ group, rows, onClose, onSaved }) {
  // The rows that were loaded first: a change that somebody else makes meanwhile must not move the boxes.
  const [first] = useState(rows);
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(() => new Set(first.filter((row) => row.groups.includes(group.id)).map((row) => row.id)));
  const changed = first.filter((row) => chosen.has(row.id) !== row.groups.includes(group.id));
  const save = async () => {
    for (const row of changed) {
      // A server that was assigned by hostname alone leaves Main with the first group that it gets by hand.
      const rest = row.groups.filter((id) => id !== group.id && !(row.auto_group && id === MAIN));
      const next = chosen.has(row.id) ? [...rest, group.id] : rest;
      await patch(`/servers/${row.id}`, { groups: next.length > 0 ? next : [MAIN] });
    }
    onSaved(changed.length);
  };
  const toggle = (/** @type {string} */ id, /** @type {boolean} */ isOn) => {
    const next = new Set(chosen);
    if (isOn) next.add(id);
    else next.delete(id);
    setChosen(next);
  };
  const shown = first.filter((row) => `${nameOf(row)} ${row.hostname}`.toLowerCase().includes(text.toLowerCase()));
  const automatic = changed.filter((row) => row.auto_group).length;
  return html`<${Form} onSubmit=${save} submit=${changed.length ? `Change ${counted(changed.length, "server")}` : "Save"} disabled=${changed.length === 0} cancel=${onClose}>
    <input type="search" aria-label="Filter servers" placeholder="Filter servers" value=${text} onInput=${(/** @type {any} */ event) => setText(event.currentTarget.value)} />
    <div class="members" role="group" aria-label="Servers">
      ${shown.map((row) => html`<div class="member" key=${row.id}>
        <${Toggle} name=${`member-${row.id}`} label=${nameOf(row)} checked=${chosen.has(row.id)} onChange=${(/** @type {boolean} */ isOn) => toggle(row.id, isOn)} hint=${row.auto_group ? "groups by hostname" : "groups by hand"} />
        <${ServerState} row=${row} /><a href=${serverLink(row.id)} aria-label=${`Open ${nameOf(row)}`}>Open</a>
      </div>`)}
      ${shown.length === 0 && html`<p class="soft">No servers match.</p>`}
    </div>
    ${automatic > 0 && html`<p class="hint">${automatic === 1 ? "One of them" : `${automatic} of them`} will no longer follow hostname patterns: the groups are then set by hand.</p>`}
  <//>`;
}
