/** A live table: all known rows, and those that are shown, in an order that can be held still. */

/**
 * What a table shows, and how.
 * @template R
 * @typedef {{matches: (row: R) => boolean, isShown: (row: R) => boolean, group: (row: R) => string,
 *   order: (a: R, b: R) => number, isVolatile?: boolean}} Plan
 *   `matches`: counted in its group; `isShown`: also listed, if it matches; `order`: total, 0 only for the same place;
 *   `isVolatile`: rows may move by changes that are made in place
 */

/** @template {{id: string}} R */
export class LiveTable {
  /** @param {Iterable<R>} rows @param {Plan<R>} plan */
  constructor(rows, plan) {
    /** @type {Map<string, R>} */
    this.known = new Map();
    for (const row of rows) this.known.set(row.id, row);
    /** @type {R[]} */
    this.shown = [];
    /** How many rows match, by group. @type {Record<string, number>} */
    this.counts = {};
    this.isHeld = false;
    /** Rows that are not at their place while the order is held. @type {Set<string>} */
    this.pending = new Set();
    this.plan = plan;
    this.show(plan);
  }

  /** Shows what the plan asks for, in its order. @param {Plan<R>} plan */
  show(plan) {
    this.plan = plan;
    this.counts = {};
    const found = [];
    for (const row of this.known.values()) {
      if (!plan.matches(row)) continue;
      this.count(row, 1);
      if (plan.isShown(row)) found.push(row);
    }
    this.shown = found.sort(plan.order);
    this.pending.clear();
  }

  /** @param {R} row @param {1 | -1} by */
  count(row, by) {
    const group = this.plan.group(row);
    this.counts[group] = (this.counts[group] ?? 0) + by;
  }

  /** @param {R} row */
  isListed(row) {
    return this.plan.matches(row) && this.plan.isShown(row);
  }

  /**
   * Keeps rows where they are, or lets them move again.
   * @param {boolean} isHeld
   * @returns {boolean} whether rows moved
   */
  hold(isHeld) {
    this.isHeld = isHeld;
    return !isHeld && this.settle();
  }

  /** Moves all rows to their places. @returns {boolean} whether any had to move */
  settle() {
    if (this.pending.size === 0) return false;
    this.show(this.plan);
    return true;
  }

  /** @param {R[]} rows new or changed @param {string[]} gone ids of rows that were removed */
  update(rows, gone) {
    /** @type {Map<string, R | null>} */
    const changed = new Map(gone.map((id) => [id, null]));
    for (const row of rows) changed.set(row.id, row);
    for (const [id, row] of changed) this.replace(id, row);
    if (this.isHeld) this.replaceInPlace(changed);
    else if (this.plan.isVolatile) this.show(this.plan);
    else if (changed.size > 0) this.merge(changed);
  }

  /** @param {string} id @param {R | null} row */
  replace(id, row) {
    const old = this.known.get(id);
    if (old && this.plan.matches(old)) this.count(old, -1);
    if (row && this.plan.matches(row)) this.count(row, 1);
    if (row) this.known.set(id, row);
    else this.known.delete(id);
  }

  /** @param {Map<string, R | null>} changed */
  replaceInPlace(changed) {
    const unlisted = new Map(changed);
    this.shown = this.shown.map((old) => {
      if (!changed.has(old.id)) return old;
      const row = changed.get(old.id);
      unlisted.delete(old.id);
      if (!row || !this.isListed(row) || this.plan.order(old, row) !== 0) this.pending.add(old.id);
      return row ?? old;
    });
    for (const [id, row] of unlisted) if (row && this.isListed(row)) this.pending.add(id);
  }

  /** Merges changed rows into the sorted list. @param {Map<string, R | null>} changed */
  merge(changed) {
    const { order } = this.plan;
    const fresh = [];
    for (const row of changed.values()) if (row && this.isListed(row)) fresh.push(row);
    fresh.sort(order);
    const merged = [];
    let next = 0;
    for (const row of this.shown) {
      if (changed.has(row.id)) continue;
      for (let first = fresh[next]; first && order(first, row) < 0; first = fresh[next]) {
        merged.push(first);
        next += 1;
      }
      merged.push(row);
    }
    this.shown = merged.concat(fresh.slice(next));
  }
}
