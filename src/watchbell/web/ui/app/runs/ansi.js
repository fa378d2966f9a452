/** ANSI escape sequences: colours become spans with CSS classes, everything else is dropped. */

import { html } from "htm/preact";

/** @typedef {{text: string, look: string}} Span `look`: classes, or empty */

// A control sequence, a string for the terminal (its title, a link), or a two-character sequence.
const ESCAPE = /\x1b(?:\[([0-?]*)[ -/]*([@-~])?|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|$)|[ -/]*[0-~]|$)|\x9b([0-?]*)[ -/]*([@-~])/g;
const CONTROL = /[\x00-\x08\x0a-\x1f\x7f-\x9f]/g;
const NAMES = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

/** The sixteen colours of most terminals, to find the nearest one to any colour. */
const SIXTEEN = [
  [0, 0, 0], [205, 0, 0], [0, 205, 0], [205, 205, 0], [0, 0, 238], [205, 0, 205], [0, 205, 205], [229, 229, 229],
  [127, 127, 127], [255, 0, 0], [0, 255, 0], [255, 255, 0], [92, 92, 255], [255, 0, 255], [0, 255, 255], [255, 255, 255],
];

/**
 * A line split into spans of the same style.
 * @param {string} line
 * @returns {Span[]}
 */
export function spans(line) {
  const text = overwritten(line);
  const look = new Look();
  /** @type {Span[]} */
  const found = [];
  let from = 0;
  for (const match of text.matchAll(ESCAPE)) {
    add(found, text.slice(from, match.index), look);
    from = match.index + match[0].length;
    if ((match[2] ?? match[4]) === "m") look.change(match[1] ?? match[3] ?? "");
  }
  add(found, text.slice(from), look);
  return found;
}

/** The line without escape sequences. @param {string} line */
export function plain(line) {
  return visible(overwritten(line).replace(ESCAPE, ""));
}

/**
 * A line with the search text highlighted.
 * @param {{text: string, wanted?: string}} props `wanted`: in lower case
 */
export function Ansi({ text, wanted = "" }) {
  const pieces = wanted ? marked(spans(text), wanted) : spans(text);
  return pieces.map(({ text: words, look }) => {
    if (look === "found") return html`<mark>${words}</mark>`;
    return look ? html`<span class=${look}>${words}</span>` : words;
  });
}

/**
 * Splits spans at matches, which may cross their borders.
 * @param {Span[]} pieces
 * @param {string} wanted
 */
function marked(pieces, wanted) {
  const small = pieces.map((piece) => piece.text).join("").toLowerCase();
  const length = pieces.reduce((sum, piece) => sum + piece.text.length, 0);
  // Some letters change their length in lower case, which would shift the positions.
  if (small.length !== length) return pieces;
  /** @type {Span[]} */
  const found = [];
  let at = 0;
  for (const { text, look } of pieces) {
    let from = 0;
    while (from < text.length) {
      const hit = hitAt(small, wanted, at + from);
      const end = hit.end > at + from && hit.start <= at + from ? hit.end : hit.start;
      const until = Math.min(end - at, text.length);
      found.push({ text: text.slice(from, until), look: end === hit.end ? "found" : look });
      from = until;
    }
    at += text.length;
  }
  return found;
}

/**
 * The match around or after a position; beyond the end if there is none.
 * @param {string} text @param {string} wanted @param {number} from
 */
function hitAt(text, wanted, from) {
  const around = text.indexOf(wanted, Math.max(0, from - wanted.length + 1));
  if (around < 0) return { start: text.length + 1, end: text.length + 2 };
  return { start: around, end: around + wanted.length };
}

/** @param {Span[]} found @param {string} text @param {Look} look */
function add(found, text, look) {
  const words = visible(text);
  if (words) found.push({ text: words, look: look.classes() });
}

/** The final text of a line that overwrites itself. @param {string} line */
function overwritten(line) {
  const whole = line.endsWith("\r") ? line.slice(0, -1) : line;
  const parts = whole.split("\r");
  const text = parts.findLast((part) => part !== "") ?? "";
  if (!text.includes("\b")) return text;
  /** @type {string[]} */
  const kept = [];
  for (const sign of text) sign === "\b" ? kept.pop() : kept.push(sign);
  return kept.join("");
}

/** Makes control characters visible, except the bell. @param {string} text */
function visible(text) {
  return text.replace(CONTROL, (sign) => {
    const code = sign.charCodeAt(0);
    if (code === 7) return "";
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : "\u{FFFD}";
  });
}

/** The current style. */
class Look {
  constructor() {
    /** @type {Set<string>} */
    this.attributes = new Set();
    this.ink = "";
    this.back = "";
  }

  classes() {
    const words = [...this.attributes, this.ink && `ansi-${this.ink}`, this.back && `ansi-on-${this.back}`];
    return words.filter(Boolean).join(" ");
  }

  /** @param {string} codes as `1;31` */
  change(codes) {
    const numbers = codes.split(/[;:]/).map((code) => (/^\d{0,3}$/.test(code) ? Number(code) : -1));
    while (numbers.length > 0) this.take(numbers);
  }

  /** @param {number[]} numbers consumes as many as belong together */
  take(numbers) {
    const code = numbers.shift() ?? 0;
    if (code === 0) Object.assign(this, new Look());
    else if (code in ATTRIBUTES) this.attributes.add(/** @type {string} */ (ATTRIBUTES[code]));
    else if (code === 22) this.drop("ansi-bold", "ansi-dim");
    else if (code in ENDS) this.drop(/** @type {string} */ (ENDS[code]));
    else if (code === 38) this.ink = special(numbers) ?? this.ink;
    else if (code === 48) this.back = special(numbers) ?? this.back;
    else if (code === 39) this.ink = "";
    else if (code === 49) this.back = "";
    else this.colour(code);
  }

  /** @param {number} code */
  colour(code) {
    if (code >= 30 && code <= 37) this.ink = named(code - 30);
    else if (code >= 90 && code <= 97) this.ink = named(code - 82);
    else if (code >= 40 && code <= 47) this.back = named(code - 40);
    else if (code >= 100 && code <= 107) this.back = named(code - 92);
  }

  /** @param {string[]} attributes */
  drop(...attributes) {
    for (const attribute of attributes) this.attributes.delete(attribute);
  }
}

/** @type {Record<number, string>} */
const ATTRIBUTES = {
  1: "ansi-bold", 2: "ansi-dim", 3: "ansi-italic", 4: "ansi-underline", 7: "ansi-inverse", 9: "ansi-struck", 21: "ansi-underline",
};
/** @type {Record<number, string>} */
const ENDS = { 23: "ansi-italic", 24: "ansi-underline", 27: "ansi-inverse", 29: "ansi-struck" };

/** @param {number} number from 0 to 15 */
function named(number) {
  return `${number > 7 ? "bright-" : ""}${NAMES[number % 8]}`;
}

/**
 * A 256-colour or RGB value as the nearest of sixteen.
 * @param {number[]} numbers consumes its arguments
 */
function special(numbers) {
  const kind = numbers.shift();
  if (kind === 5) return of256(numbers.shift() ?? -1);
  if (kind === 2) return nearest(numbers.splice(0, 3));
  return null;
}

/** @param {number} number */
function of256(number) {
  if (number < 0 || number > 255) return null;
  if (number < 16) return named(number);
  if (number >= 232) return nearest(Array(3).fill(8 + (number - 232) * 10));
  const cube = number - 16;
  return nearest([Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6].map((level) => level && level * 40 + 55));
}

/** @param {number[]} wanted */
function nearest(wanted) {
  if (wanted.length < 3) return null;
  const distance = (/** @type {number[]} */ one) => one.reduce((sum, part, i) => sum + (part - (wanted[i] ?? 0)) ** 2, 0);
  const distances = SIXTEEN.map(distance);
  return named(distances.indexOf(Math.min(...distances)));
}
