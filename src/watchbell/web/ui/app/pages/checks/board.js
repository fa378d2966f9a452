/** All checks that the page knows, and those of them that it shows, in an order that can be held. */

import { besidesState, order } from "./filter.js";
import { row, rows } from "./rows.js";

/**
 * @typedef {import("./rows.js").Row} Row
 * @typedef {import("./rows.js").ApiRow} ApiRow
 * @typedef {import("./rows.js").State} State
 * @typedef {import("./filter.js").Wanted} Wanted
 * @typedef {{rows: ApiRow[], gone: string[], heard: [id: string, last_update: number | null, summary: string][]}} Changed
 */

const MOST_NAMED = 50;

/** @returns {Record<State, number>} */
const none = () => ({ critical: 0, warning: 0, unknown: 0, ok: 0 });

export class Board {
  /** @param {import("./rows.js").Columns} columns @param {Wanted} wanted */
  constructor(columns, wanted) {
    /** @type {Map<string, Row>} */
    this.known = new Map(rows(columns).map((one) => [one.id, one]));
    /** Whether the server has no more than these. */
    this.isComplete = columns.count === columns.entity.length;
    this.total = columns.count;
    /** @type {Row[]} */
    this.shown = [];
    this.counts = none();
    this.isHeld = false;
    /** Checks whose place in the list is not what it would be. @type {Set<string>} */
    this.pending = new Set();
    this.wanted = wanted;
    this.isAmong = besidesState(wanted);
    this.order = order(wanted);
    this.seek(wanted);
  }

  /** Shows what is wanted, in its order. @param {Wanted} wanted */
  seek(wanted) {
    this.wanted = wanted;
    this.isAmong = besidesState(wanted);
    this.order = order(wanted);
    this.counts = none();
    const found = [];
    for (const one of this.known.values()) {
      if (!this.isAmong(one)) continue;
      this.counts[one.state] += 1;
      if (this.hasState(one)) found.push(one);
    }
    this.shown = found.sort(this.order);
    this.pending.clear();
  }

  /** Checks whose failure somebody acknowledged. @returns {Set<string>} */
  acknowledged() {
    return new Set([...this.known.values()].filter((one) => one.acknowledged).map((one) => one.id));
  }

  /** @param {Row} one */
  hasState(one) {
    return this.wanted.states.length === 0 || this.wanted.states.includes(one.state);
  }

  /** @param {Row} one */
  isWanted(one) {
    return this.isAmong(one) && this.hasState(one);
  }

  /**
   * Keeps rows where they are from now on, or lets them go where they belong.
   * @param {boolean} isHeld
   * @returns {boolean} whether something moved by that
   */
  hold(isHeld) {
    this.isHeld = isHeld;
    return !isHeld && this.settle();
  }

  /** Puts everything where it belongs. @returns {boolean} whether something was not */
  settle() {
    if (this.pending.size === 0) return false;
    this.seek(this.wanted);
    return true;
  }

  /** @param {Changed} update @param {number} now */
  apply(update, now) {
    for (const [id, at, summary] of update.heard) {
      const one = this.known.get(id);
      if (one) Object.assign(one, { last_update: at, summary, text: "" });
    }
    /** @type {Map<string, Row | null>} */
    const changed = new Map(update.gone.map((id) => [id, null]));
    for (const one of update.rows) changed.set(one.id, row(one, now));
    for (const [id, now] of changed) this.replace(id, now);
    if (this.isHeld) this.stay(changed);
    else if (this.wanted.sort === "update") this.seek(this.wanted);
    else if (changed.size > 0) this.merge(changed);
  }

  /** @param {string} id @param {Row | null} now */
  replace(id, now) {
    const old = this.known.get(id);
    if (old && this.isAmong(old)) this.counts[old.state] -= 1;
    if (now && this.isAmong(now)) this.counts[now.state] += 1;
    if (now) this.known.set(id, now);
    else this.known.delete(id);
  }

  /** The rows that are shown change where they are. @param {Map<string, Row | null>} changed */
  stay(changed) {
    const left = new Map(changed);
    this.shown = this.shown.map((old) => {
      if (!changed.has(old.id)) return old;
      const now = changed.get(old.id);
      left.delete(old.id);
      if (!now || !this.isWanted(now) || this.order(old, now) !== 0) this.pending.add(old.id);
      return now ?? old;
    });
    for (const [id, now] of left) if (now && this.isWanted(now)) this.pending.add(id);
  }

  /** The rows that changed are put where they belong now. @param {Map<string, Row | null>} changed */
  merge(changed) {
    const fresh = [];
    for (const now of changed.values()) if (now && this.isWanted(now)) fresh.push(now);
    fresh.sort(this.order);
    const merged = [];
    let next = 0;
    for (const one of this.shown) {
      if (changed.has(one.id)) continue;
      for (let first = fresh[next]; first && this.order(first, one) < 0; first = fresh[next]) {
        merged.push(first);
        next += 1;
      }
      merged.push(one);
    }
    this.shown = merged.concat(fresh.slice(next));
  }

  /** @param {string} name */
  isTag(name) {
    for (const one of this.known.values()) if (one.tags.includes(name)) return true;
    return false;
  }

  /**
   * The first tags and entities that have this in their names.
   * @param {string} part
   * @returns {[name: string, what: string][]}
   */
  named(part) {
    const wanted = part.toLowerCase();
    /** @type {Set<string>} */
    const tags = new Set();
    /** @type {Set<string>} */
    const entities = new Set();
    for (const one of this.known.values()) {
      for (const tag of one.tags) if (tags.size < MOST_NAMED && tag.toLowerCase().includes(wanted)) tags.add(tag);
      if (entities.size < MOST_NAMED && one.entity.includes(wanted)) entities.add(one.entity);
    }
    return [
      ...[...tags].sort().map((name) => /** @type {[string, string]} */ ([name, "tag"])),
      ...[...entities].sort().map((name) => /** @type {[string, string]} */ ([name, "entity"])),
    ];
  }
}
