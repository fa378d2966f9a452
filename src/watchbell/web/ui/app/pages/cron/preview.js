/** The next runs of a schedule while it is being edited. */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ask, Problem } from "../../api.js";
import { When } from "../../kit/time.js";

/**
 * @typedef {{at: number, local: string, remark: string}} Fire
 * @typedef {{words: string, zone: string, fires: Fire[], problems: {field: string, reason: string}[]}} Previewed
 */

const WAIT_MS = 250;

/**
 * The server's preview of a definition, shortly after its last change.
 * @param {string} name
 * @param {unknown} definition
 * @returns {{value: Previewed | null, problem: Problem | null}}
 */
export function usePreview(name, definition) {
  const [found, setFound] = useState(/** @type {{value: Previewed | null, problem: Problem | null}} */ ({ value: null, problem: null }));
  const body = JSON.stringify({ name: name || "preview", definition, count: 8 });
  const isFirst = useRef(true);
  useEffect(() => {
    const abort = new AbortController();
    const timer = setTimeout(
      () =>
        ask("POST", "/cron/preview", body, { signal: abort.signal }).then(
          (value) => setFound({ value, problem: null }),
          (problem) => {
            if (abort.signal.aborted) return;
            if (!(problem instanceof Problem)) throw problem;
            setFound((old) => ({ ...old, problem }));
          },
        ),
      isFirst.current ? 0 : WAIT_MS,
    );
    isFirst.current = false;
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [body]);
  return found;
}

/** @param {{preview: {value: Previewed | null, problem: Problem | null}}} props */
export function Previewing({ preview }) {
  const { value, problem } = preview;
  return html`<div class="preview" role="status" aria-live="polite" aria-label="Next runs">
    ${problem && html`<p class="wrong">${problem.message}</p>`}
    ${value && (value.words ? html`<${Fires} words=${value.words} fires=${value.fires} />` : html`<p class="soft">Enter a schedule to see the next runs.</p>`)}
  </div>`;
}

/** @param {{words: string, fires: Fire[]}} props */
export function Fires({ words, fires }) {
  return html`<p class="preview-words">${words}</p>
    ${fires.length === 0 && html`<p class="soft">No scheduled runs.</p>`}
    <ol class="fires">
      ${fires.map((fire) => html`<li>
        <span>${fire.local || html`<${When} at=${fire.at} as="exact" />`}</span>
        <span class="soft"><${When} at=${fire.at} /></span>
        ${fire.remark && html`<div class="fire-remark">${fire.remark}</div>`}
      </li>`)}
    </ol>`;
}
