/** The dialog that creates or changes a group. */

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { ask, get, post, Problem, url } from "../../api.js";
import { counted } from "../../words.js";
import { Dialog } from "../../kit/dialog.js";
import { Field, Form } from "../../kit/form.js";

/** @typedef {import("../servers/words.js").Group} Group */

const TYPING_MS = 250;
const NAMED = 5;

/** @param {{group: Group | null, onClose: () => void, onSaved: (group: Group) => void}} props */
export function GroupEditor({ group, onClose, onSaved }) {
  const [title, setTitle] = useState(group?.title ?? "");
  const [id, setId] = useState("");
  const [pattern, setPattern] = useState(group?.hostname_match ?? "");
  const [slots, setSlots] = useState(group?.max_jobs_per_server?.toString() ?? "");
  const [notes, setNotes] = useState(group?.notes ?? "");
  const [order, setOrder] = useState(String(group?.sort_order ?? 0));
  const found = useMatching(pattern);
  const save = async () => {
    const fields = { title: title.trim(), hostname_match: pattern, max_jobs_per_server: number("max_jobs_per_server", slots), notes, sort_order: number("sort_order", order) ?? 0 };
    if (group) onSaved(await ask("PATCH", `/groups/${encodeURIComponent(group.id)}`, fields, { headers: { "if-match": `"${group.revision}"` } }));
    else onSaved(await post("/groups", { ...fields, id: id.trim() }));
  };
  return html`<${Dialog} title=${group ? `Edit ${group.title}` : "New group"} onClose=${onClose}>
    <${Form} onSubmit=${save} submit=${group ? "Save" : "Create"} cancel=${onClose} disabled=${title.trim() === ""}>
      <${Field} label="Title" name="title" value=${title} onInput=${setTitle} maxlength="100" placeholder="Databases" />
      ${!group && html`<${Field} label="Id" name="id" value=${id} onInput=${setId} mono maxlength="50" placeholder="automatic" hint="For the API and for exports: lower-case letters, digits and underscores." />`}
      <${Field} label="Hostname pattern" name="hostname_match" value=${pattern} onInput=${setPattern} mono maxlength="500" spellcheck=${false} placeholder="^db-" problem=${found.problem}
        hint=${pattern ? found.words : "A regular expression. Leave it empty to add servers by hand."} />
      <${Field} label="Slots per server" name="max_jobs_per_server" type="number" min="0" max="10000" value=${slots} onInput=${setSlots} placeholder="no limit"
        hint="Jobs that each of its servers runs at the same time. A server's own setting wins." />
      <${Field} label="Notes" name="notes" value=${notes} onInput=${setNotes} rows=${2} maxlength="20000" />
      <${Field} label="Position" name="sort_order" type="number" value=${order} onInput=${setOrder} hint="Groups with lower numbers come first." />
    <//>
  <//>`;
}

/** The servers that a pattern matches, in words. @param {string} pattern */
function useMatching(pattern) {
  const [found, setFound] = useState({ words: "", problem: "" });
  useEffect(() => {
    setFound({ words: "", problem: "" });
    if (!pattern) return undefined;
    let isOver = false;
    const timer = setTimeout(async () => {
      let next;
      try {
        next = { words: words(await get(url("/groups/matching", { hostname_match: pattern }))), problem: "" };
      } catch (problem) {
        if (!(problem instanceof Problem)) throw problem;
        next = { words: "", problem: problem.of("hostname_match") || problem.message };
      }
      if (!isOver) setFound(next);
    }, TYPING_MS);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [pattern]);
  return found;
}

/** @param {{hostnames: string[], count: number}} found */
function words({ hostnames, count }) {
  if (count === 0) return "Matches no server yet.";
  const rest = count - Math.min(NAMED, hostnames.length);
  return `Matches ${counted(count, "server")}: ${hostnames.slice(0, NAMED).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}.`;
}

/** @param {string} field @param {string} text */
function number(field, text) {
  if (text.trim() === "") return null;
  const value = Number(text);
  if (!Number.isInteger(value)) throw new Problem(422, "The group was not saved.", [{ field, reason: `${text} is not a whole number` }]);
  return value;
}
