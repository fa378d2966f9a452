/** The loaded lines of an output, and how many rows each takes on the screen. */

import { plain } from "./ansi.js";

/**
 * @typedef {{n: number, at: number, text: string}} Line
 * @typedef {{total: number, complete: number, start: number, lines: Line[]}} Piece a part of the output as the server sends it
 *   `n`: the line's number in the run, which may have gaps; places count the lines that are kept
 */

export const CHUNK = 500;
const MOST_CHUNKS = 80;
const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}]/gu;

/**
 * Lines by place, in chunks. Lines that are not loaded take one row; a line that the next one
 * overwrites, like a progress bar, takes none.
 */
export class Lines {
  constructor() {
    this.total = 0;
    this.complete = 0;
    /** @type {Map<number, (Line | undefined)[]>} */
    this.chunks = new Map();
    /** @type {(number | undefined)[]} rows of each chunk, once counted */
    this.rows = [];
    /** Characters per row if lines are wrapped, else 0. */
    this.width = 0;
    /** How many pieces of new lines have come. */
    this.news = 0;
  }

  /**
   * @param {Piece} piece
   * @param {{isNews?: boolean, isOld?: boolean}} [options] `isNews`: printed since the last piece;
   *   `isOld`: requested before news that have come since
   */
  add(piece, { isNews = false, isOld = false } = {}) {
    if (isOld) {
      // It knows of fewer lines than there are; those that are complete keep their places.
      const end = Math.min(piece.complete, this.complete);
      piece.lines.forEach((line, i) => piece.start + i < end && this.set(piece.start + i, line));
      return;
    }
    if (isNews) this.news += 1;
    // Beyond `complete` only the newest lines are kept, and their places change during the run.
    const hasMoved = piece.complete < piece.total && (isNews || this.differs(piece));
    if (hasMoved || piece.total < this.total) this.forget(Math.min(piece.complete, this.complete));
    this.total = piece.total;
    this.complete = piece.complete;
    piece.lines.forEach((line, i) => this.set(piece.start + i, line));
  }

  /** @param {Piece} piece */
  differs({ total, complete, start, lines }) {
    if (total !== this.total || complete !== this.complete) return true;
    return lines.some((line, i) => (this.at(start + i)?.n ?? line.n) !== line.n);
  }

  /** @param {number} place @returns {Line | undefined} */
  at(place) {
    return this.chunks.get(Math.floor(place / CHUNK))?.[place % CHUNK];
  }

  /** @param {number} place @param {Line} line */
  set(place, line) {
    const index = Math.floor(place / CHUNK);
    let chunk = this.chunks.get(index);
    if (!chunk) this.chunks.set(index, (chunk = []));
    chunk[place % CHUNK] = line;
    this.rows[index] = undefined;
    // This line may overwrite the last one of the chunk before.
    if (place % CHUNK === 0 && index > 0) this.rows[index - 1] = undefined;
  }

  /** Drops a place and all after it. @param {number} place */
  forget(place) {
    const index = Math.floor(place / CHUNK);
    for (const one of this.chunks.keys()) if (one > index) this.chunks.delete(one);
    const chunk = this.chunks.get(index);
    if (chunk) chunk.length = Math.min(chunk.length, place % CHUNK);
    this.rows.length = Math.min(this.rows.length, index);
  }

  /** Drops the chunks farthest from a place if there are too many. @param {number} place */
  tidy(place) {
    const here = Math.floor(place / CHUNK);
    const far = [...this.chunks.keys()].sort((a, b) => Math.abs(b - here) - Math.abs(a - here));
    for (const one of far.slice(0, Math.max(0, far.length - MOST_CHUNKS))) this.chunks.delete(one);
  }

  /** @param {number} width */
  fold(width) {
    if (width === this.width) return;
    this.width = width;
    this.rows = [];
  }

  /** Rows of a line. @param {number} place */
  height(place) {
    const line = this.at(place);
    if (!line) return 1;
    if (line.text.endsWith("\r") && place + 1 < this.total) return 0;
    if (this.width === 0) return 1;
    return Math.max(1, Math.ceil(widthOf(line.text) / this.width));
  }

  /** @param {number} index */
  heightOf(index) {
    const known = this.rows[index];
    if (known !== undefined) return known;
    const first = index * CHUNK;
    const last = Math.min(first + CHUNK, this.total);
    let rows = 0;
    if (!this.chunks.has(index)) rows = last - first;
    else for (let place = first; place < last; place += 1) rows += this.height(place);
    // The last chunk may still grow.
    if (last === first + CHUNK) this.rows[index] = rows;
    return rows;
  }

  /** @returns {number} rows of all lines */
  get all() {
    return this.top(this.total);
  }

  /** Rows above a line. @param {number} place */
  top(place) {
    const index = Math.floor(place / CHUNK);
    let rows = 0;
    for (let one = 0; one < index; one += 1) rows += this.heightOf(one);
    for (let one = index * CHUNK; one < place; one += 1) rows += this.height(one);
    return rows;
  }

  /** The place at a row. @param {number} row */
  placeAt(row) {
    let index = 0;
    let rest = row;
    const last = Math.max(0, Math.ceil(this.total / CHUNK) - 1);
    while (index < last && rest >= this.heightOf(index)) {
      rest -= this.heightOf(index);
      index += 1;
    }
    let place = index * CHUNK;
    while (place < this.total - 1 && rest >= this.height(place)) {
      rest -= this.height(place);
      place += 1;
    }
    return place;
  }

  /**
   * The places from `first` on that fill this many rows.
   * @param {number} first @param {number} rows
   */
  from(first, rows) {
    const places = [];
    for (let place = first, rest = rows; place < this.total && rest > 0; place += 1) {
      const height = this.height(place);
      if (height > 0) places.push(place);
      rest -= height;
    }
    return places;
  }
}

/** The width of a text in characters. @param {string} text */
function widthOf(text) {
  let wide = 0;
  for (const part of plain(text).split("\t")) {
    wide = (wide && Math.ceil((wide + 1) / 8) * 8) + part.length + (part.match(WIDE)?.length ?? 0);
  }
  return wide;
}
