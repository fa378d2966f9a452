/** Formats received bytes as harmless text. */

const LINE = 16;
const CONTROL = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** @param {string} packed base64 */
export function unpacked(packed) {
  return Uint8Array.from(atob(packed), (sign) => sign.charCodeAt(0));
}

/** @param {Uint8Array} bytes */
export function text(bytes) {
  return new TextDecoder().decode(bytes);
}

/** As text; what is none, or can't be seen, as escapes. @param {Uint8Array} bytes */
export function escaped(bytes) {
  const words = [];
  let from = 0;
  while (from < bytes.length) {
    const end = run(bytes, from);
    if (end > from) words.push(new TextDecoder().decode(bytes.subarray(from, end)).replace(CONTROL, spelled));
    else words.push(`\\x${hex(bytes[from] ?? 0)}`);
    from = Math.max(end, from + 1);
  }
  return words.join("");
}

/** The end of what is UTF-8 from here on. @param {Uint8Array} bytes @param {number} from */
function run(bytes, from) {
  let at = from;
  while (at < bytes.length) {
    const first = bytes[at] ?? 0;
    const size = first < 0x80 ? 1 : first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3 : first >= 0xf0 && first < 0xf5 ? 4 : 0;
    if (size === 0 || !isText(bytes.subarray(at, at + size), size)) return at;
    at += size;
  }
  return at;
}

/** @param {Uint8Array} piece @param {number} size */
function isText(piece, size) {
  if (piece.length < size) return false;
  if (size === 1) return true;
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(piece);
    return true;
  } catch {
    return false;
  }
}

/** @param {string} sign */
function spelled(sign) {
  const code = sign.charCodeAt(0);
  if (sign === "\t") return "\\t";
  if (sign === "\r") return "\\r";
  return code < 0x100 ? `\\x${hex(code)}` : `\\u${code.toString(16).padStart(4, "0")}`;
}

/** @param {number} byte */
const hex = (byte) => byte.toString(16).padStart(2, "0");

/** Line by line: where, the bytes, and those of them that are letters. @param {Uint8Array} bytes */
export function hexed(bytes) {
  const lines = [];
  for (let at = 0; at < bytes.length; at += LINE) {
    const some = [...bytes.subarray(at, at + LINE)];
    const codes = some.map(hex).join(" ").padEnd(LINE * 3 - 1);
    const letters = some.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : "·")).join("");
    lines.push(`${at.toString(16).padStart(6, "0")}  ${codes}  ${letters}`);
  }
  return lines.join("\n");
}

/** JSON with its lines, or the text as it is. @param {string} text */
export function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
