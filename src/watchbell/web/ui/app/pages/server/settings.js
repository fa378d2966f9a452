/** The settings of a server. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { ask, get, Problem } from "../../api.js";
import { may } from "../../session.js";
import { Button, Choice, Field, Form } from "../../kit/form.js";
import { Card, Empty } from "../../kit/layout.js";
import { attempt, showToast } from "../../kit/toast.js";
import { GroupChoice } from "../servers/group_choice.js";

/** @typedef {import("../servers/words.js").Shown} Shown */

/** @param {{shown: Shown, path: string, groups: import("../servers/words.js").Group[] | undefined, reload: () => void}} props */
export function Settings({ shown, path, groups, reload }) {
  // Keep the form's content if the server changes in the meantime.
  const [base, setBase] = useState(shown);
  const [isOutdated, setIsOutdated] = useState(false);
  if (!may("update_servers")) return html`<${Card}><${Empty} title="You can't change servers.">The overview has the settings of this server.<//><//>`;
  const discard = () =>
    attempt(async () => {
      setBase(await get(path));
      setIsOutdated(false);
    });
  const save = async (/** @type {any} */ changes) => {
    try {
      setBase(await ask("PATCH", path, changes, { headers: { "if-match": `"${base.revision}"` } }));
      showToast("Saved.");
      reload();
    } catch (error) {
      setIsOutdated(error instanceof Problem && error.status === 412);
      throw error;
    }
  };
  return html`<${Card} title="Settings">
    ${isOutdated && html`<div class="notice notice-warn notice-wide"><span>Your changes were not saved: somebody else changed this server.</span><${Button} onClick=${discard}>Discard my changes and reload<//></div>`}
    <${Editor} key=${base.revision} base=${base} groups=${groups ?? []} onSave=${save} />
  <//>`;
}

/** @param {{base: Shown, groups: import("../servers/words.js").Group[], onSave: (changes: any) => Promise<void>}} props */
function Editor({ base, groups, onSave }) {
  const { row } = base;
  const [title, setTitle] = useState(row.title);
  const [hostname, setHostname] = useState(row.hostname);
  const [isAuto, setIsAuto] = useState(base.autoGroup);
  const [chosen, setChosen] = useState(row.groups.filter((id) => groups.some((one) => one.id === id)));
  const [slots, setSlots] = useState(base.maxJobs === null ? "" : String(base.maxJobs));
  const [notes, setNotes] = useState(base.notes);
  const [userData, setUserData] = useState(Object.keys(base.userData).length ? JSON.stringify(base.userData, null, 2) : "");
  const save = () =>
    onSave({
      title: title.trim(),
      ...(hostname.trim() === row.hostname ? {} : { hostname: hostname.trim() }),
      ...(isAuto ? { autoGroup: true } : { groups: chosen, autoGroup: false }),
      maxJobs: slotsOf(slots),
      notes,
      userData: objectOf(userData),
    });
  return html`<${Form} onSubmit=${save}>
    <div class="form-row">
      <${Field} label="Title" name="title" value=${title} onInput=${setTitle} maxlength="100" placeholder=${row.hostname} hint="Shown in place of the hostname." />
      <${Field} label="Hostname" name="hostname" value=${hostname} onInput=${setHostname} mono maxlength="253" hint="The name by which its agent connects." />
    </div>
    <div class="field"><div class="label">Groups</div>
      <${Choice} label="Groups" value=${isAuto ? "auto" : "hand"} options=${[["auto", "By hostname"], ["hand", "By hand"]]} onChange=${(/** @type {string} */ to) => setIsAuto(to === "auto")} />
      ${isAuto && html`<p class="hint">The groups whose hostname pattern matches. <a href="/groups">Edit groups</a></p>`}</div>
    ${!isAuto && (groups.length > 0 ? html`<${GroupChoice} groups=${groups} chosen=${chosen} onChange=${setChosen} />` : html`<p class="soft">There are no groups yet. <a href="/groups">Create a group</a></p>`)}
    <${Field} label="Slots" name="maxJobs" type="number" min="0" max="10000" value=${slots} onInput=${setSlots} placeholder="automatic"
      hint="Jobs that it runs at the same time. Leave it empty to follow its groups, or else its agent (four for each core)." />
    <${Field} label="Notes" name="notes" value=${notes} onInput=${setNotes} rows=${3} maxlength="20000" />
    <${Field} label="User data" name="userData" value=${userData} onInput=${setUserData} rows=${5} mono spellcheck=${false} placeholder=${'{"rack": "B2"}'} hint="A JSON object, which jobs on this server can read." />
  <//>`;
}

/** @param {string} text */
function slotsOf(text) {
  if (text.trim() === "") return null;
  const number = Number(text);
  if (!Number.isInteger(number) || number < 0) throw wrong("maxJobs", `${text} is not a whole number of jobs`);
  return number;
}

/** @param {string} text */
function objectOf(text) {
  if (text.trim() === "") return {};
  let value;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw wrong("userData", `This is not JSON: ${error instanceof Error ? error.message : error}`);
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) throw wrong("userData", 'Expected a JSON object, such as {"rack": "B2"}');
  return value;
}

/** @param {string} field @param {string} reason */
function wrong(field, reason) {
  return new Problem(422, "The settings were not saved.", [{ field, reason }]);
}
