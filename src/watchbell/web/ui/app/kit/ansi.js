/** ANSI escape sequences: colours become spans with CSS classes, everything else is dropped. */

import { html } from "htm/preact";

/** @typedef {{text: string, look: string}} Span `look`: classes, or empty */

// A sequence of control, a text for the terminal itself (its title, a link), or two characters.
const ESCAPE = /\x1b(?:\[([0-?]*)[ -/]*([@-~])?|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|$)|[ -/]*[0-~]|$)|\x9b([0-?]*)[ -/]*([@-~])/g;
const CONTROL = /[\x00-\x08\x0a-\x1f\x7f-\x9f]/g;
const NAMES = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

/** The sixteen colours as most terminals have them, to find the one that is nearest to any other. */
const SIXTEEN = [
  [0, 0, 0], [205, 0, 0], [0, 205, 0], [205, 205, 0], [0, 0, 238], [205, 0, 205], [0, 205, 205], [229, 229, 229],
  [127, 127, 127], [255, 0, 0], [0, 255, 0], [255, 255, 0], [92, 92, 255], [255, 0, 255], [0, 255, 255], [255, 255, 255],
];

/**
 * A line in pieces of one look each.
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

/** The line's words alone. @param {string} line */
export function plain(line) {
  return visible(overwritten(line).replace(ESCAPE, ""));
}

/**
 * A line, with what was searched marked.
 * @param {{text: string, wanted?: string}} props `wanted`: in small letters
 */
export function Ansi({ text, wanted = "" }) {
  const pieces = wanted ? marked(spans(text), wanted) : spans(text);
  return pieces.map(({ text: words, look }) => {
    if (look === "found") return html`<mark>${words}</mark>`;
    return look ? html`<span class=${look}>${words}</span>` : words;
  });
}

/**
 * Splits pieces where the text is that was searched, across their borders.
 * @param {Span[]} pieces
 * @param {string} wanted
 */
function marked(pieces, wanted) {
  const small = pieces.map((piece) => piece.text).join("").toLowerCase();
  const length = pieces.reduce((sum, piece) => sum + piece.text.length, 0);
  // Letters that grow when they become small would move all that is behind them.
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
 * The place of the text around or after a place; behind the end where there is none.
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

/** Of a line that was written over itself, what stands there in the end. @param {string} line */
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

/** Signs that steer and have no look get one, but for the bell. @param {string} text */
function visible(text) {
  return text.replace(CONTROL, (sign) => {
    const code = sign.charCodeAt(0);
    if (code === 7) return "";
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : "\u{FFFD}";
  });
}

/** How what follows is to look. */
class Look {
  constructor() {
    /** @type {Set<string>} */
    this.manners = new Set();
    this.ink = "";
    this.back = "";
  }

  classes() {
    const words = [...this.manners, this.ink && `ansi-${this.ink}`, this.back && `ansi-on-${this.back}`];
    return words.filter(Boolean).join(" ");
  }

  /** @param {string} codes as `1;31` */
  change(codes) {
    const numbers = codes.split(/[;:]/).map((code) => (/^\d{0,3}$/.test(code) ? Number(code) : -1));
    while (numbers.length > 0) this.take(numbers);
  }

  /** @param {number[]} numbers of which it takes as many as belong together */
  take(numbers) {
    const code = numbers.shift() ?? 0;
    if (code === 0) Object.assign(this, new Look());
    else if (code in MANNERS) this.manners.add(/** @type {string} */ (MANNERS[code]));
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

  /** @param {string[]} manners */
  drop(...manners) {
    for (const manner of manners) this.manners.delete(manner);
  }
}

/** @type {Record<number, string>} */
const MANNERS = {
  1: "ansi-bold", 2: "ansi-dim", 3: "ansi-italic", 4: "ansi-underline", 7: "ansi-inverse", 9: "ansi-struck", 21: "ansi-underline",
};
/** @type {Record<number, string>} */
const ENDS = { 23: "ansi-italic", 24: "ansi-underline", 27: "ansi-inverse", 29: "ansi-struck" };

/** @param {number} number from 0 to 15 */
function named(number) {
  return `${number > 7 ? "bright-" : ""}${NAMES[number % 8]}`;
}

/**
 * A colour of 256, or of red, green and blue, as the nearest of sixteen.
 * @param {number[]} numbers of which it takes as many as belong to it
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
