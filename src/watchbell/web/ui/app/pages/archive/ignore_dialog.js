/** Adds an ignore pattern to a crawl, suggested by a URL of its log. */

import { html } from "htm/preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { patch, post, Problem } from "../../api.js";
import { Dialog } from "../../kit/dialog.js";
import { Field, Form } from "../../kit/form.js";
import { showToast } from "../../kit/toast.js";
import { counted } from "../../words.js";
import { suggestions } from "./suggestions.js";
import { crawlPath } from "./words.js";

const PAUSE_MS = 250;
const MOST = 500;

/**
 * @param {{ident: string, target?: string, urls: string[], onClose: () => void, onDone?: () => void}} props
 *   `target`: the URL that should be ignored; `urls`: those of the log, to try the pattern on
 */
export function IgnoreDialog({ ident, target = "", urls, onClose, onDone }) {
  const offered = useMemo(() => suggestions(target), [target]);
  const [pattern, setPattern] = useState(offered[0]?.[0] ?? "");
  const matched = useMatches(pattern, urls);
  const save = async () => {
    const { ignored } = await patch(crawlPath(ident), { ignore: [pattern] });
    showToast(ignored ? "Pattern added. URLs that match are no longer fetched." : "The crawl has this pattern already.");
    onClose();
    onDone?.();
  };
  return html`<${Dialog} title="Ignore URLs" onClose=${onClose} wide>
    <${Form} onSubmit=${save} submit="Add pattern" cancel=${onClose} disabled=${!pattern.trim()}>
      ${target && html`<p class="soft break mono">${target}</p>`}
      ${offered.length > 0 && html`<fieldset class="crawl-offers"><legend>What to ignore</legend>
        ${offered.map(([one, words]) => html`<label><input type="radio" name="offer" checked=${one === pattern} onChange=${() => setPattern(one)} />
          <span>${words}</span></label>`)}</fieldset>`}
      <${Field} label="Pattern" name="ignore" value=${pattern} onInput=${setPattern} mono spellcheck=${false} maxlength="2000"
        hint=${matched ?? "A regular expression. It matches anywhere in a URL unless it begins with ^."} />
    <//>
  <//>`;
}

/**
 * How many of these URLs a pattern matches, in words.
 * @param {string} pattern @param {string[]} urls @returns {string | null} null if that is not known
 */
function useMatches(pattern, urls) {
  const [words, setWords] = useState(/** @type {string | null} */ (null));
  const tried = useMemo(() => [...new Set(urls)].slice(-MOST), []);
  useEffect(() => {
    if (!pattern.trim() || tried.length === 0) {
      setWords(null);
      return undefined;
    }
    let isOld = false;
    const timer = setTimeout(async () => {
      try {
        const { items } = await post("/archive/ignore-sets/try", { patterns: [pattern], urls: tried });
        const many = items.filter((/** @type {{pattern: string | null}} */ one) => one.pattern !== null).length;
        if (!isOld) setWords(`It matches ${number(many)} of the last ${counted(tried.length, "URL")} in the log.`);
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        if (!isOld) setWords(error.errors[0]?.reason ?? error.message);
      }
    }, PAUSE_MS);
    return () => {
      isOld = true;
      clearTimeout(timer);
    };
  }, [pattern]);
  return words;
}

/** @param {number} many */
const number = (many) => many.toLocaleString("en");
