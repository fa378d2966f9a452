/** The form of a notification rule, with the rule's sentence. */

import { html } from "htm/preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { ask, post, Problem, url, useFetched } from "../../api.js";
import { Form, Toggle } from "../../kit/form.js";
import { showToast } from "../../kit/toast.js";
import { fieldsOf, SEVERITIES } from "./shapes.js";
import { bodyOf, timesOf, TimesField } from "./times.js";
import { Tokens } from "../../kit/tokens.js";

/**
 * @typedef {import("./shapes.js").Contact} Contact
 * @typedef {import("./shapes.js").Rule} Rule
 * @typedef {import("./shapes.js").RuleBody} RuleBody
 * @typedef {import("./shapes.js").RuleFields} RuleFields
 * @typedef {{words: string, problems: {field: string, reason: string}[], is_specific: boolean, missing_media: string[],
 *   outside: string, can_replace_general: boolean}} Described
 */

const PAUSE_MS = 150;

/**
 * The server's description of a draft, after a pause in typing.
 * @param {RuleBody} body @param {string} contact @param {string} id
 * @returns {Described | null}
 */
function useDescribed(body, contact, id) {
  const [described, setDescribed] = useState(/** @type {Described | null} */ (null));
  const text = JSON.stringify(body);
  useEffect(() => {
    const abort = new AbortController();
    const timer = setTimeout(() => {
      ask("POST", url("/rules/describe", { contact, id }), text, { signal: abort.signal }).then(setDescribed, (error) => {
        if (!abort.signal.aborted && !(error instanceof Problem)) throw error;
      });
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text, contact, id]);
  return described;
}

/**
 * @param {{contact: Contact, rule: Rule, title: string, onDraft: (body: RuleBody) => void, onDone: () => void, onCancel: () => void}} props
 *   `rule`: a new one has no id; `onDraft` is called on each change
 */
export function Editor({ contact, rule, title, onDraft, onDone, onCancel }) {
  const [fields, setFields] = useState(/** @type {RuleFields} */ (fieldsOf(rule)));
  const [times, setTimes] = useState(timesOf(rule));
  const [near, setNear] = useState("");
  const [isReplacing, setIsReplacing] = useState(false);
  const body = useMemo(() => ({ ...fields, ...bodyOf(times), replace_general: isReplacing }), [fields, times, isReplacing]);
  const described = useDescribed(body, contact.id, rule.id);
  const entities = useFetched(near.length > 1 ? url("/entities", { text: near, limit: 20 }) : null);
  useEffect(() => onDraft(body), [body]);
  const set = (/** @type {Partial<RuleFields>} */ changes) => setFields({ ...fields, ...changes });
  const wrong = (/** @type {string} */ field) => described?.problems.find((one) => one.field === field)?.reason ?? "";
  const save = async () => {
    if (rule.id) {
      await ask("PUT", url("/rule", { contact: contact.id, id: rule.id }), body, { headers: { "if-match": `"${rule.version}"` } });
    } else {
      await post(url("/rules", { contact: contact.id }), body);
    }
    showToast("Rule saved.");
    onDone();
  };
  const names = (entities.value?.items ?? []).map((/** @type {{name: string}} */ one) => one.name).filter((/** @type {string} */ one) => one !== "ALL");
  return html`<div class="rule rule-open">
    <h3>${title}</h3>
    <p class="rule-words" role="status" aria-label="Rule summary">${described?.words ?? rule.words}</p>
    ${rule.unreadable.length > 0 && html`<div class="notice notice-warn">The stored values of ${rule.unreadable.join(", ")} can't be read. Saving replaces them.</div>`}
    <${Form} onSubmit=${save} submit="Save rule" cancel=${onCancel} disabled=${(described?.problems.length ?? 0) > 0}>
      <fieldset class="rule-part"><legend>If</legend>
        <div class="form-row">
          <${Tokens} label="Entity is one of" words=${fields.entities} onChange=${(/** @type {string[]} */ entities) => set({ entities })} problem=${wrong("entities")}
            list=${names} onText=${setNear} placeholder="any" />
          <${Tokens} label="Event has all tags" words=${fields.tags} onChange=${(/** @type {string[]} */ tags) => set({ tags })} problem=${wrong("tags")} placeholder="any"
            hint="Words of the check's name, and the entity's host and domain, count as tags" />
        </div>
        <details class="rule-expressions" open=${fields.regex_entities.length + fields.regex_tags.length > 0}>
          <summary>Regular expressions</summary>
          <div class="form-row">
            <${Tokens} label="Entity name matches all of" words=${fields.regex_entities} onChange=${(/** @type {string[]} */ value) => set({ regex_entities: value })}
              problem=${wrong("regex_entities")} split=${false} mono placeholder="^web-" />
            <${Tokens} label="Some tag matches, for each of" words=${fields.regex_tags} onChange=${(/** @type {string[]} */ value) => set({ regex_tags: value })}
              problem=${wrong("regex_tags")} split=${false} mono placeholder="^eu-" />
          </div>
        </details>
        ${described && !described.is_specific && html`<p class="hint">Without conditions this is a general rule. It applies if no specific rule matches.</p>`}
      </fieldset>
      <fieldset class="rule-part"><legend>Times</legend>
        <${TimesField} times=${times} onChange=${setTimes} zone=${contact.zone} name=${contact.first_name} problem=${wrong("time_restrictions")} />
      </fieldset>
      <fieldset class="rule-part"><legend>Then</legend>
        <${Outcome} contact=${contact} fields=${fields} set=${set} missing=${described?.missing_media ?? []} />
      </fieldset>
      ${described && described.outside && html`<fieldset class="rule-part"><legend>Otherwise</legend>
        <p role="status" aria-label="Otherwise">${described.outside}</p>
        ${described.can_replace_general && html`<${Toggle} label="Replace the automatic general rule" checked=${isReplacing} onChange=${setIsReplacing}
          hint="Then only the rules on this page send alerts." />`}
      </fieldset>`}
    <//>
  </div>`;
}

/** @param {{contact: Contact, fields: RuleFields, set: (changes: Partial<RuleFields>) => void, missing: string[]}} props */
function Outcome({ contact, fields, set, missing }) {
  const [isAll, setIsAll] = useState(false);
  const own = Object.keys(contact.media);
  const media = [...own, ...(isAll ? missing.filter((name) => !own.includes(name)) : [])];
  const toggle = (/** @type {import("./shapes.js").Severity} */ severity, /** @type {string} */ name) => {
    const before = fields[`${severity}_media`];
    set({ [`${severity}_media`]: before.includes(name) ? before.filter((one) => one !== name) : [...before, name] });
  };
  if (own.length === 0) return html`<p>${contact.first_name} has no media. Add one above first.</p>`;
  return html`<table class="rule-outcome" aria-label="Media by severity">
    <thead><tr><th></th>${SEVERITIES.map((severity) => html`<th scope="col">${severity}</th>`)}</tr></thead>
    <tbody>${media.map((name) => html`<tr><th scope="row">${name}${!own.includes(name) && html` <span class="soft">no address</span>`}</th>
        ${SEVERITIES.map((severity) => html`<td><input type="checkbox" aria-label=${`${severity} by ${name}`} disabled=${fields[`${severity}_blackhole`]}
          checked=${fields[`${severity}_media`].includes(name)} onChange=${() => toggle(severity, name)} /></td>`)}</tr>`)}
      <tr class="rule-outcome-silent"><th scope="row">no alerts <span class="soft">overrides other rules</span></th>
        ${SEVERITIES.map((severity) => html`<td><input type="checkbox" aria-label=${`${severity}: no alerts, overrides other rules`}
          checked=${fields[`${severity}_blackhole`]} onChange=${() => set({ [`${severity}_blackhole`]: !fields[`${severity}_blackhole`] })} /></td>`)}</tr>
    </tbody>
  </table>
  ${missing.length > 0 && html`<p class="hint">This rule also names media that ${contact.first_name} does not have: ${missing.join(", ")}.
    ${!isAll && html` <button type="button" class="contact-link" onClick=${() => setIsAll(true)}>Show</button>`}</p>`}`;
}
