/** The dialog that schedules maintenance, with a preview. */

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { post, Problem } from "../../api.js";
import { Dialog } from "../../kit/dialog.js";
import { Field, Form } from "../../kit/form.js";
import { MomentField } from "../../kit/moment.js";
import { showToastWithUndo } from "../../kit/toast.js";
import { clock, lasting, zone } from "../../times.js";
import { spanName, written } from "./days.js";
import { counted } from "../../words.js";

/**
 * @typedef {{start: number, end: number, duration: number, count: number, checks: string[], id: string, remark: string}} Preview
 * @typedef {{start: number, end: number}} Span
 */

const LENGTHS = ["30 minutes", "1 hour", "2 hours", "4 hours", "1 day"];
const PAUSE_MS = 250;

/** A duration in words that the server can parse. @param {number} seconds */
function spoken(seconds) {
  const parts = [];
  let rest = seconds;
  for (const [word, size] of /** @type {const} */ ([["day", 86_400], ["hour", 3_600], ["minute", 60], ["second", 1]])) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(counted(count, word));
  }
  return parts.join(" ");
}

/**
 * @param {{span: Span | null, pattern: string, onClose: () => void, onDone: () => void}} props
 *   `span`: the period selected in the calendar
 */
export function Plan({ span, pattern: given, onClose, onDone }) {
  const [pattern, setPattern] = useState(given);
  const [summary, setSummary] = useState("");
  // A time selected in the calendar is exact even where clocks are set back; typed words replace it.
  const [exact, setExact] = useState(span);
  const [start, setStart] = useState(span ? written(span.start) : "now");
  const [length, setLength] = useState(span ? spoken(span.end - span.start) : "1 hour");
  const [preview, setPreview] = useState(/** @type {Preview | null} */ (null));
  const [problem, setProblem] = useState(/** @type {Problem | null} */ (null));

  const body = { pattern, start: exact ? exact.start : start, duration: length, zone: zone(), summary };
  useEffect(() => {
    if (!pattern.trim() || !start.trim() || !length.trim()) {
      setPreview(null);
      setProblem(null);
      return undefined;
    }
    let isLatest = true;
    const timer = setTimeout(() => {
      post("/maintenance/preview", body).then(
        (value) => {
          if (!isLatest) return;
          setPreview(value);
          setProblem(null);
        },
        (error) => {
          if (!(error instanceof Problem)) throw error;
          if (!isLatest) return;
          setPreview(null);
          setProblem(error);
        },
      );
    }, PAUSE_MS);
    return () => {
      isLatest = false;
      clearTimeout(timer);
    };
  }, [pattern, start, length, exact]);

  const wrong = (/** @type {string} */ field) => problem?.of(field) ?? "";
  const save = async () => {
    /** @type {Preview} */
    const done = await post("/maintenance", body);
    const remove = () => post("/maintenance/end", { id: done.id });
    showToastWithUndo(`Maintenance of ${counted(done.count, "check")}: ${spanName(done.start, done.end)}.`, remove, "Maintenance deleted.", onDone);
    onDone();
    onClose();
  };
  return html`<${Dialog} title="Schedule maintenance" onClose=${onClose}>
    <${Form} onSubmit=${save} submit="Schedule" cancel=${onClose} disabled=${!preview || preview.count === 0}>
      <${Field} label="Checks" name="pattern" value=${pattern} onInput=${setPattern} problem=${wrong("pattern")} autofocus mono placeholder="web-*:HTTP"
        hint=${html`<code>web-1</code> for all its checks, <code>web-*:HTTP</code> with wildcards, <code>*</code> for everything, or a <code>/regular expression/</code>`} />
      <div class="form-row">
        <${MomentField} label="Start" name="start" value=${start} problem=${wrong("start")} hint="24 nov 14:00, tomorrow 08:00, sat 22:00"
          onInput=${(/** @type {string} */ text) => {
            setStart(text);
            setExact(null);
          }} />
        <${Field} label="Duration" name="duration" value=${length} onInput=${setLength} problem=${wrong("duration")} list=${LENGTHS} hint="For example 2 hours or 1d12h" />
      </div>
      <${Field} label="Reason" name="summary" value=${summary} onInput=${setSummary} placeholder="New disks" maxlength="1000" />
      <${Meaning} preview=${preview} isAsked=${pattern.trim() !== "" && problem === null} />
    <//>
  <//>`;
}

/** @param {{preview: Preview | null, isAsked: boolean}} props */
function Meaning({ preview, isAsked }) {
  let words;
  if (!preview) words = html`<p class="soft">${isAsked ? "Loading…" : "Enter which checks to include."}</p>`;
  else if (preview.count === 0) words = html`<p class="bad">No checks match.</p>`;
  else {
    words = html`<p><strong>${counted(preview.count, "check")}</strong>, ${spanName(preview.start, preview.end)} (${lasting(preview.duration, 2)})</p>
      <ul>${preview.checks.slice(0, 5).map((check) => html`<li>${check}</li>`)}${preview.count > 5 && html`<li class="soft">and ${(preview.count - 5).toLocaleString("en-GB")} more</li>`}</ul>
      ${preview.remark && html`<p class="soft">${preview.remark}</p>`}
      ${preview.end <= clock.value && html`<p class="plan-late">This period is in the past. It is recorded but affects no alerts.</p>`}`;
  }
  return html`<div class="plan-meaning" role="status" aria-live="polite">${words}</div>`;
}
