/** The log of a crawl as it grows, with a colour for each kind of line. */

import { html } from "htm/preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useLive } from "../../live.js";
import { Button, Choice, Search } from "../../kit/form.js";
import { may } from "../../session.js";
import { exact, zone } from "../../times.js";
import { counted } from "../../words.js";
import { IgnoreDialog } from "./ignore_dialog.js";
import { crawlPath } from "./words.js";

/** @typedef {import("./words.js").Line} Line */

/** Lines that are kept. */
const MOST = 500;
const NEAR = 24;

/** @type {[value: string, words: string][]} */
const KINDS = [["", "All"], ["download", "Responses"], ["error", "Errors"], ["ignore", "Ignored"], ["stdout", "Messages"]];

/** @param {Line} line @returns {"ok" | "redirect" | "missing" | "error" | "ignore" | "message"} */
function kindOf(line) {
  if (line.type === "ignore") return "ignore";
  if (line.type === "stdout") return "message";
  const code = line.response_code ?? 0;
  if (code === 0 || code >= 500 || line.is_error) return "error";
  if (code >= 400 || line.is_warning) return "missing";
  return code >= 300 ? "redirect" : "ok";
}

/** @param {Line} line @param {string} kind @param {string} text */
function isShown(line, kind, text) {
  if (kind === "error" && !["missing", "error"].includes(kindOf(line))) return false;
  if (kind && kind !== "error" && line.type !== kind) return false;
  return text === "" || `${line.url} ${line.message} ${line.pattern} ${line.response_code ?? ""}`.toLowerCase().includes(text);
}

/** @param {{ident: string, isOver: boolean, short?: boolean, onIgnored?: () => void}} props */
export function Log({ ident, isOver, short = false, onIgnored }) {
  const lines = useRef(/** @type {Line[]} */ ([]));
  const [state, setState] = useState({ isLoaded: false, drawn: 0, leftOut: 0 });
  const [kind, setKind] = useState("");
  const [text, setText] = useState("");
  const [isFollowing, setIsFollowing] = useState(true);
  const [target, setTarget] = useState(/** @type {string | null} */ (null));
  const [current, setCurrent] = useState(-1);
  const frame = useRef(/** @type {HTMLDivElement | null} */ (null));
  useLive(`${crawlPath(ident)}/log/live`, {
    lines: (/** @type {{items: Line[], left_out: number}} */ sent) => {
      const known = lines.current.at(-1)?.index ?? 0;
      const fresh = sent.items.filter((line) => line.index > known || line.index === 0);
      lines.current = [...lines.current, ...fresh].slice(-MOST);
      setState((old) => ({ isLoaded: true, drawn: old.drawn + 1, leftOut: sent.left_out }));
    },
    reset: () => undefined,
  });
  const shown = lines.current.filter((line) => isShown(line, kind, text.toLowerCase()));
  useLayoutEffect(() => {
    const box = frame.current;
    if (box && isFollowing) box.scrollTop = box.scrollHeight;
  }, [state.drawn, isFollowing, kind, text]);
  useEffect(() => {
    if (current >= 0) frame.current?.querySelector(`[data-line="${current}"]`)?.scrollIntoView({ block: "nearest" });
  }, [current]);
  const canIgnore = may("operate") && !isOver;
  const scrolled = () => {
    const box = frame.current;
    if (box) setIsFollowing(box.scrollHeight - box.scrollTop - box.clientHeight < NEAR);
  };
  const move = (/** @type {KeyboardEvent} */ event) => {
    const by = /** @type {Record<string, number>} */ ({ ArrowUp: -1, ArrowDown: 1 })[event.key];
    if (by !== undefined) {
      event.preventDefault();
      setIsFollowing(false);
      setCurrent((old) => Math.min(Math.max((old < 0 ? shown.length : old) + by, 0), shown.length - 1));
    } else if (event.key === "Enter" && canIgnore && shown[current]?.url) {
      event.preventDefault();
      event.stopPropagation();
      setTarget(shown[current]?.url ?? null);
    }
  };
  return html`<div class="crawl-log">
    <div class="output-bar">
      <${Choice} label="Lines to show" value=${kind} options=${KINDS} onChange=${setKind} />
      <div class="crawl-log-search"><${Search} value=${text} onSearch=${setText} placeholder="Filter the log" label="Filter the log" /></div>
      ${!isFollowing && shown.length > 0 && html`<${Button} small onClick=${() => setIsFollowing(true)}>Follow the end<//>`}
    </div>
    ${state.leftOut > 0 && html`<div class="output-note" role="status">The crawl is faster than this page: ${counted(state.leftOut, "line")} left out. Its WARC files have the whole log.</div>`}
    <div class=${`crawl-lines${short ? " crawl-lines-short" : ""}`} ref=${frame} role="log" aria-live="off" tabindex="0" aria-label="Log"
      aria-description=${canIgnore ? "Arrow keys move between lines. Enter ignores the URL of a line." : undefined} onScroll=${scrolled} onKeyDown=${move}>
      ${shown.length === 0 && html`<p class="soft crawl-lines-none">${!state.isLoaded ? "Loading…" : lines.current.length ? "No lines match this filter." : isOver ? "The log of this crawl is in its WARC files." : "Nothing was logged yet."}</p>`}
      ${shown.map((line, i) => html`<${LogLine} key=${line.index || `x${i}`} line=${line} place=${i} isCurrent=${i === current} onIgnore=${canIgnore && line.url && line.type !== "ignore" ? setTarget : null} />`)}
    </div>
    ${target !== null && html`<${IgnoreDialog} ident=${ident} target=${target} urls=${lines.current.map((line) => line.url).filter(Boolean)} onClose=${() => setTarget(null)} ...${onIgnored ? { onDone: onIgnored } : {}} />`}
  </div>`;
}

/** @param {{line: Line, place: number, isCurrent: boolean, onIgnore: ((url: string) => void) | null}} props */
function LogLine({ line, place, isCurrent, onIgnore }) {
  const kind = kindOf(line);
  const code = kind === "message" ? "" : kind === "ignore" ? "skip" : String(line.response_code ?? "fail");
  return html`<div class=${`crawl-line crawl-line-${kind}${isCurrent ? " crawl-line-current" : ""}`} data-line=${place}>
    <time class="crawl-line-time" title=${exact(line.ts)}>${clockTime(line.ts)}</time>
    <span class="crawl-line-code">${code}</span>
    <span class="crawl-line-text">${line.type === "stdout" ? line.message : line.url}${line.type === "ignore" && html` <span class="crawl-line-more">${line.pattern}</span>`}${kind === "error" && line.wget_code && line.wget_code !== "OK" && html` <span class="crawl-line-more">${line.wget_code}</span>`}</span>
    ${onIgnore && html`<button type="button" class="crawl-line-act" tabindex="-1" onClick=${() => onIgnore(line.url)}>Ignore…</button>`}
  </div>`;
}

/** @param {number} at */
function clockTime(at) {
  return at ? new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit", timeZone: zone(), hourCycle: "h23" }).format(at * 1000) : "";
}
