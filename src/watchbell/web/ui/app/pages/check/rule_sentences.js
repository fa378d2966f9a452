/** The rules of a contact as sentences. */

import { url, useFetched } from "../../api.js";

/**
 * @param {string} contact
 * @returns {Map<string, string>} from the id of each rule to its sentence; empty until they are loaded
 */
export function useSentences(contact) {
  const found = useFetched(url("/rules", { contact }));
  /** @type {{id: string, words: string}[]} */
  const rules = found.value?.items ?? [];
  return new Map(rules.map((rule) => [rule.id, rule.words]));
}
