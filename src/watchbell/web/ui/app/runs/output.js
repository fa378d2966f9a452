/** The output of a run: live or finished, with search, wrapping, timestamps and download. */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useKeys } from "../keys.js";
import { Button, Toggle } from "../kit/form.js";
import { counted } from "../words.js";
import { Ansi } from "./ansi.js";
import { useOutput } from "./output_loading.js";
import { SearchBar, useSearch } from "./output_search.js";
import { Window } from "./output_view.js";

/**
 * @typedef {import("./output_lines.js").Piece} Piece
 * @typedef {{id: string, load: (where: {start?: number, limit: number}) => Promise<Piece>,
 *   search: (query: {text: string, start: number}) => Promise<{places: number[], next: number | null}>, download: string}} Source
 *   the output of one run: a run of a cron job, a job or a crawl; `download`: the address of the whole text
 */

/**
 * @param {{source: Source, isLive: boolean, news: (Piece & {skipped: number}) | null, tail: string}} props
 *   `news`: the latest lines from the live stream; `tail`: the last lines, shown once the output has expired
 */
export function Output({ source, isLive, news, tail }) {
  const output = useOutput(source, news);
  const [isFollowing, setIsFollowing] = useState(isLive);
  const [wraps, setWraps] = useStored("output-wrap", false);
  const [hasTimes, setHasTimes] = useStored("output-times", false);
  const view = useRef(/** @type {import("./output_view.js").View | null} */ (null));
  const search = useSearch(source, output.lines, (place) => {
    setIsFollowing(false);
    view.current?.show(place);
  });
  useEffect(() => setIsFollowing(isLive), [source.id]);
  useKeys("Output", [
    ["n", "next match", () => search.move(1)],
    ["Shift+N", "previous match", () => search.move(-1)],
    ["f", "follow", () => setIsFollowing(!isFollowing)],
    ["w", "wrap long lines", () => setWraps(!wraps)],
    ["t", "timestamps", () => setHasTimes(!hasTimes)],
    ["Shift+G", "jump to the end", () => toEnd()],
  ]);
  const toEnd = () => {
    setIsFollowing(isLive);
    view.current?.end();
  };
  if (output.problem) {
    return html`<div class="failed" role="alert"><p>${output.problem.message}</p><${Button} onClick=${output.retry}>Try again<//></div>`;
  }
  return html`<div class="output-frame">
    <div class="output-bar">
      <${SearchBar} search=${search} />
      <div class="output-ways">
        <span class="soft">${counted(output.lines.current.total, "line")}</span>
        ${isLive && html`<${Toggle} label="Follow" checked=${isFollowing} onChange=${(/** @type {boolean} */ on) => (on ? toEnd() : setIsFollowing(false))} />`}
        <${Toggle} label="Wrap" checked=${wraps} onChange=${setWraps} />
        <${Toggle} label="Timestamps" checked=${hasTimes} onChange=${setHasTimes} />
        <a class="button button-small" href=${source.download} download>Download</a>
      </div>
    </div>
    ${output.skipped > 0 && isLive && html`<p class="output-note" role="status">${`The output is too fast to show live: ${counted(output.skipped, "line")} skipped so far. Scroll up to read them.`}</p>`}
    ${output.isEmpty
      ? html`<${Nothing} isLive=${isLive} tail=${tail} isLoading=${output.isLoading} />`
      : html`<${Window} view=${view} output=${output} wraps=${wraps} hasTimes=${hasTimes} isFollowing=${isFollowing && isLive} isLive=${isLive}
          onLeave=${() => setIsFollowing(false)} onEnd=${() => isLive && setIsFollowing(true)} search=${search} toEnd=${toEnd} />`}
  </div>`;
}

/** @param {{isLive: boolean, tail: string, isLoading: boolean}} props */
function Nothing({ isLive, tail, isLoading }) {
  if (isLoading) return html`<div class="output output-none soft" role="status">Loading…</div>`;
  if (isLive) return html`<div class="output output-none soft" role="status">No output yet.</div>`;
  if (!tail) return html`<div class="output output-none soft">No output.</div>`;
  return html`<p class="output-note">Output is kept for a day. Its last lines:</p>
    <pre class="output output-tail">${tail.split("\n").map((line) => html`<${Ansi} text=${line} />${"\n"}`)}</pre>`;
}

/**
 * A setting that this browser remembers.
 * @param {string} name
 * @param {boolean} initial
 * @returns {[boolean, (value: boolean) => void]}
 */
function useStored(name, initial) {
  const [value, setValue] = useState((localStorage.getItem(name) ?? String(initial)) === "true");
  const store = (/** @type {boolean} */ next) => {
    localStorage.setItem(name, String(next));
    setValue(next);
  };
  return [value, store];
}
