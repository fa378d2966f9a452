/** What the API gives of a contact and its rules, and how a contact is given back. */

import { ask, url } from "../../api.js";

/**
 * @typedef {{address: string, interval: number, rollup_threshold: number}} Medium
 * @typedef {{id: string, first_name: string, last_name: string, email: string, timezone: string, zone: string, tags: string[],
 *   media: Record<string, Medium>, pagerduty: Record<string, string>, warnings: string[], version: string}} Contact
 * @typedef {"critical" | "warning" | "unknown"} Severity
 * @typedef {{entities: string[], regex_entities: string[], tags: string[], regex_tags: string[], time_restrictions: object[],
 *   critical_media: string[], warning_media: string[], unknown_media: string[], critical_blackhole: boolean,
 *   warning_blackhole: boolean, unknown_blackhole: boolean}} RuleFields
 * @typedef {RuleFields & {week?: string[] | null, replace_general?: boolean}} RuleBody
 * @typedef {RuleFields & {id: string, words: string, is_specific: boolean, week: string[] | null, not_weekly: string[],
 *   unreadable: string[], missing_media: string[], version: string}} Rule
 */

export const SEVERITIES = /** @type {const} */ (["critical", "warning", "unknown"]);

/** @param {Contact} contact */
export function nameOf(contact) {
  return `${contact.first_name} ${contact.last_name}`.trim() || contact.id;
}

/**
 * Changes a contact, as long as it is the one that was seen.
 * @param {Contact} contact
 * @param {Partial<Contact>} changes
 * @returns {Promise<Contact>}
 */
export function changed(contact, changes) {
  const { first_name, last_name, email, timezone, tags, media, pagerduty } = { ...contact, ...changes };
  const body = { first_name, last_name, email, timezone, tags, media, pagerduty };
  return ask("PUT", url("/contact", { id: contact.id }), body, { headers: { "if-match": `"${contact.version}"` } });
}

/** @type {RuleFields} */
export const EMPTY_RULE = {
  entities: [],
  regex_entities: [],
  tags: [],
  regex_tags: [],
  time_restrictions: [],
  critical_media: [],
  warning_media: [],
  unknown_media: [],
  critical_blackhole: false,
  warning_blackhole: false,
  unknown_blackhole: false,
};

/** Of a rule, what is stored of it. @param {RuleFields} rule @returns {RuleFields} */
export function fieldsOf(rule) {
  const names = /** @type {(keyof RuleFields)[]} */ (Object.keys(EMPTY_RULE));
  return /** @type {RuleFields} */ (Object.fromEntries(names.map((name) => [name, rule[name]])));
}
