/** Search in an output; the server searches some thousand lines per request. */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Problem } from "../api.js";
import { Button, Search } from "../kit/form.js";
import { showToast } from "../kit/toast.js";

const MOST_HITS = 2_000;
const MOST_CALLS = 50;

/**
 * @typedef {{text: string, places: number[], index: number, next: number | null, seen: number, isBusy: boolean}} Found
 *   `next`: where to continue, null at the end; `seen`: the number of lines at that time
 */

/** @type {Found} */
const NOTHING = { text: "", places: [], index: -1, next: null, seen: 0, isBusy: false };

/**
 * @param {import("./output.js").Source} source
 * @param {{current: import("./output_lines.js").Lines}} lines
 * @param {(place: number) => void} show scrolls to a match
 */
export function useSearch(source, lines, show) {
  const [found, setFound] = useState(NOTHING);
  const latest = useRef(NOTHING);
  const keep = (/** @type {Found} */ next) => {
    latest.current = next;
    setFound(next);
  };
  useEffect(() => keep(NOTHING), [source.id]);

  /** Searches from a place on, up to a limit, and goes to the first new match. */
  const searchFrom = async (/** @type {number} */ from) => {
    const { text, places } = latest.current;
    const before = places.length;
    keep({ ...latest.current, next: from, isBusy: true });
    for (let call = 0; call < MOST_CALLS && latest.current.next !== null; call += 1) {
      let answer;
      try {
        answer = await source.search({ text, start: latest.current.next });
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        showToast(error.message, { tone: "bad" });
        break;
      }
      const now = latest.current;
      if (now.text !== text) return;
      const isFirst = now.places.length === before && answer.places.length > 0;
      keep({ ...now, places: [...now.places, ...answer.places], next: answer.next, seen: lines.current.total });
      if (isFirst) go(before);
      if (latest.current.places.length >= before + MOST_HITS) break;
    }
    if (latest.current.text === text) keep({ ...latest.current, isBusy: false });
  };

  const go = (/** @type {number} */ index) => {
    const place = latest.current.places[index];
    if (place === undefined) return;
    keep({ ...latest.current, index });
    show(place);
  };

  return {
    ...found,
    /** The text to highlight. */
    wanted: found.text.toLowerCase(),
    place: found.places[found.index] ?? -1,
    start(/** @type {string} */ text) {
      if (text === latest.current.text) return undefined;
      keep({ ...NOTHING, text });
      return text.trim() === "" ? undefined : searchFrom(0);
    },
    async move(/** @type {number} */ by) {
      const { text, places, index, next, seen, isBusy } = latest.current;
      if (!text) return;
      const wanted = index + by;
      const from = next ?? seen;
      if (wanted < places.length || isBusy || from >= lines.current.total) {
        go((wanted + places.length) % places.length);
        return;
      }
      await searchFrom(from);
      if (latest.current.places.length === places.length) go(0);
    },
  };
}

/** @param {{search: ReturnType<typeof useSearch>}} props */
export function SearchBar({ search }) {
  const { text, places, index, next, isBusy } = search;
  const count = `${places.length.toLocaleString("en")}${next === null ? "" : "+"}`;
  const words = places.length ? `${index + 1} of ${count}` : isBusy ? "searching…" : "no matches";
  return html`<div class="output-search" role="search">
    <${Search} value=${text} onSearch=${search.start} placeholder="Search (n, N)" label="Search output" />
    ${text && html`<span class="soft output-count" role="status">${words}</span>
      <${Button} small label="Previous (N)" disabled=${!places.length} onClick=${() => search.move(-1)}>↑<//>
      <${Button} small label="Next (n)" disabled=${!places.length} onClick=${() => search.move(1)}>↓<//>`}
  </div>`;
}
