/** Fields for what a user, an API key or a custom role may do, and where. */

import { html } from "htm/preact";
import { Field, Toggle } from "../../kit/form.js";

/**
 * @typedef {{privileges: string[], categories: string[], groups: string[]}} Rights
 * @typedef {{id: string, title: string, enabled: boolean, notes: string} & Rights} Role
 */

const DEFINED = ["events", "categories", "channels", "plugins", "tags", "groups", "monitors", "alerts", "dashboards", "roles"];
/** @type {[words: string, privileges: string[]][]} */
const SECTIONS = [
  ["Jobs", ["run_jobs", "abort_jobs", "tag_jobs", "delete_jobs"]],
  ...DEFINED.map((noun) => /** @type {[string, string[]]} */ ([noun === "groups" ? "Server groups" : noun.charAt(0).toUpperCase() + noun.slice(1), ["create", "edit", "delete"].map((verb) => `${verb}_${noun}`)])),
  ["Servers", ["add_servers", "update_servers", "create_snapshots", "delete_snapshots"]],
  ["Other", ["send_emails", "bulk_export"]],
  ["Watchbell", ["read", "operate", "write", "intake", "metrics", "admin"]],
];

/** @param {string} text such as `backups, reports` */
export function names(text) {
  return text.split(/[\s,]+/).filter((one) => one !== "");
}

/**
 * Adds or removes one.
 * @param {string[]} list @param {string} one @param {boolean} isOn
 */
export function toggled(list, one, isOn) {
  return isOn ? [...list, one] : list.filter((other) => other !== one);
}

/**
 * @param {{selected: string[], onChange: (selected: string[]) => void, offered?: string[]}} props
 *   `offered`: only these can be selected; by default all
 */
export function Privileges({ selected, onChange, offered }) {
  const isOffered = (/** @type {string} */ one) => !offered || offered.includes(one) || selected.includes(one);
  const sections = SECTIONS.map(([words, all]) => /** @type {const} */ ([words, all.filter(isOffered)])).filter(([, some]) => some.length > 0);
  return html`<div class="privileges">${sections.map(
    ([words, some]) => html`<fieldset class="scopes"><legend>${words}</legend>${some.map(
      (one) => html`<${Toggle} label=${one} name=${`privilege-${one}`} checked=${selected.includes(one)}
        onChange=${(/** @type {boolean} */ isOn) => onChange(toggled(selected, one, isOn))} />`,
    )}</fieldset>`,
  )}</div>`;
}

/**
 * @param {{roles: Role[], selected: string[], onChange: (selected: string[]) => void}} props
 */
export function CustomRoles({ roles, selected, onChange }) {
  if (roles.length === 0) return null;
  return html`<fieldset class="scopes"><legend>Custom roles</legend>${roles.map(
    (role) => html`<${Toggle} label=${role.title} name=${`role-${role.id}`} checked=${selected.includes(role.id)}
      hint=${role.enabled ? role.notes || role.privileges.join(", ") : "Disabled: grants nothing."}
      onChange=${(/** @type {boolean} */ isOn) => onChange(toggled(selected, role.id, isOn))} />`,
  )}</fieldset>`;
}

/**
 * @param {{categories: string, groups: string, onCategories: (text: string) => void, onGroups: (text: string) => void}} props
 */
export function Limits({ categories, groups, onCategories, onGroups }) {
  return html`<div class="form-row">
    <${Field} label="Only categories" name="categories" value=${categories} onInput=${onCategories} mono spellcheck=${false}
      hint="Ids of categories of events, separated by commas; empty for all." />
    <${Field} label="Only server groups" name="groups" value=${groups} onInput=${onGroups} mono spellcheck=${false}
      hint="Ids of server groups, separated by commas; empty for all." />
  </div>`;
}

/** @param {{one: Rights}} props */
export function LimitWords({ one }) {
  const parts = [
    one.categories.length > 0 && `categories: ${one.categories.join(", ")}`,
    one.groups.length > 0 && `server groups: ${one.groups.join(", ")}`,
  ].filter(Boolean);
  return parts.length > 0 ? html`<div class="soft plain">only ${parts.join("; ")}</div>` : null;
}
