/** The checks that the page knows, as a live table. */

import { LiveTable } from "../../kit/live_table.js";
import { plan } from "./filter.js";
import { row, rows } from "./rows.js";

/**
 * @typedef {import("./rows.js").Row} Row
 * @typedef {import("./filter.js").Wanted} Wanted
 * @typedef {{rows: import("./rows.js").ApiRow[], gone: string[], heard: [id: string, last_update: number | null, summary: string][]}} Update
 *   `heard`: checks that reported without a change of state
 */

const MOST_SUGGESTED = 50;

/** @extends {LiveTable<Row>} */
export class CheckTable extends LiveTable {
  /** @param {import("./rows.js").Columns} columns @param {Wanted} wanted */
  constructor(columns, wanted) {
    super(rows(columns), plan(wanted));
    this.wanted = wanted;
    /** Whether the server has no other checks. */
    this.isComplete = columns.count === columns.entity.length;
    this.total = columns.count;
  }

  /** @param {Wanted} wanted */
  filter(wanted) {
    this.wanted = wanted;
    this.show(plan(wanted));
  }

  /** @param {Update} update @param {number} now by the page's clock */
  apply(update, now) {
    for (const [id, last_update, summary] of update.heard) {
      const known = this.known.get(id);
      if (known) Object.assign(known, { last_update, summary, text: "" });
    }
    this.update(update.rows.map((one) => row(one, now)), update.gone);
  }

  /** @returns {Set<string>} */
  acknowledged() {
    return new Set([...this.known.values()].filter((one) => one.acknowledged).map((one) => one.id));
  }

  /** @param {string} name */
  isTag(name) {
    for (const one of this.known.values()) if (one.tags.includes(name)) return true;
    return false;
  }

  /**
   * Tags and entities whose names contain this text.
   * @param {string} part
   * @returns {[name: string, what: string][]}
   */
  suggestions(part) {
    const wanted = part.toLowerCase();
    /** @type {Set<string>} */
    const tags = new Set();
    /** @type {Set<string>} */
    const entities = new Set();
    for (const one of this.known.values()) {
      for (const tag of one.tags) if (tags.size < MOST_SUGGESTED && tag.toLowerCase().includes(wanted)) tags.add(tag);
      if (entities.size < MOST_SUGGESTED && one.entity.includes(wanted)) entities.add(one.entity);
    }
    return [
      ...[...tags].sort().map((name) => /** @type {[string, string]} */ ([name, "tag"])),
      ...[...entities].sort().map((name) => /** @type {[string, string]} */ ([name, "entity"])),
    ];
  }
}
