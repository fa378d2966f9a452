/** Rows of checks, and how they come from the server. */

/**
 * @typedef {"ok" | "warning" | "critical" | "unknown"} State
 * @typedef {{id: string, entity: string, check: string, state: State, summary: string, since: number | null,
 *   failing_since: number | null, last_update: number | null, acknowledged: boolean, unscheduled_until: number | null,
 *   scheduled_until: number | null, enabled: boolean, tags: string[]}} ApiRow a check as the API sends it
 * @typedef {ApiRow & {text: string, changed: number}} Row
 *   `text`: in which words are searched, made when it is first needed; `changed`: when, by the page's clock
 * @typedef {Record<State | "acknowledged" | "maintenance", number>} Counts
 * @typedef {{moment: string, now: number, count: number, counts: Counts, entity: number[], name: number[], tags: number[],
 *   state: number[], since: (number | null)[], last_update: (number | null)[], summary: string[],
 *   failing_since: Record<string, number>, scheduled_until: Record<string, number>, unscheduled_until: Record<string, number>,
 *   disabled: number[], entities: string[], names: string[], tag_sets: string[][]}} Columns
 */

/** @type {State[]} */
const BY_SEVERITY = ["ok", "unknown", "warning", "critical"];

/** @type {Record<State, number>} */
export const SEVERITY = { ok: 0, unknown: 1, warning: 2, critical: 3 };

/** @param {ApiRow} sent @param {number} changed @returns {Row} */
export function row(sent, changed) {
  return { ...sent, text: "", changed };
}

/** @param {Columns} columns @returns {Row[]} */
export function rows(columns) {
  const disabled = new Set(columns.disabled);
  const before = (/** @type {number | null | undefined} */ age) =>
    age === null || age === undefined ? null : columns.now - age;
  return columns.entity.map((place, i) => {
    const entity = columns.entities[place] ?? "";
    const check = columns.names[columns.name[i] ?? 0] ?? "";
    const state = BY_SEVERITY[columns.state[i] ?? 1] ?? "unknown";
    const unscheduled = columns.unscheduled_until[i] ?? null;
    return {
      id: `${entity}:${check}`,
      entity,
      check,
      state,
      summary: columns.summary[i] ?? "",
      since: before(columns.since[i]),
      failing_since: before(columns.failing_since[i]),
      last_update: before(columns.last_update[i]),
      acknowledged: unscheduled !== null && state !== "ok",
      unscheduled_until: unscheduled,
      scheduled_until: columns.scheduled_until[i] ?? null,
      enabled: !disabled.has(i),
      tags: columns.tag_sets[columns.tags[i] ?? 0] ?? [],
      text: "",
      changed: 0,
    };
  });
}
