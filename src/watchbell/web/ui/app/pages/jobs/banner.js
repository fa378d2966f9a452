/** The state of a job in words, with its progress. */

import { html } from "htm/preact";
import { useCell } from "../../cell.js";
import { clock, lasting, took } from "../../times.js";
import { capitalized } from "../../words.js";
import { Mark } from "../../kit/state.js";
import { Since, When } from "../../kit/time.js";
import { jobLink, percent, Progress, standingOf } from "./words.js";

/** @typedef {import("./words.js").JobRow} JobRow */
/** @typedef {import("../job.js").JobShown} JobShown */

/** @param {{row: JobRow, shown: JobShown}} props */
export function Banner({ row, shown }) {
  const [state, word] = shown.is_suspended ? ["paused", "suspended"] : standingOf(row);
  const isRunning = row.state === "active" || row.state === "finishing";
  return html`<section class=${`job-banner job-is-${state}`} aria-label="State" role="status">
    <${Mark} state=${state} title=${word} />
    <div class="job-banner-words">
      <p class="job-banner-title">${title(row, word)}</p>
      ${detail(row, shown)}
    </div>
    ${isRunning && row.progress > 0 && html`<div class="job-banner-progress">
      <${Progress} value=${row.progress} />
      <div class="soft">${percent(row.progress * 100)}<${Remaining} row=${row} /></div>
    </div>`}
  </section>`;
}

/** @param {JobRow} row @param {string} word */
function title(row, word) {
  const place = row.hostname ? html` on ${row.hostname}` : "";
  if (row.state === "active") return html`Running${place} for <${Since} since=${Math.floor(row.started)} />`;
  if (row.state === "finishing") return html`Finishing${place}`;
  if (row.state === "complete") return html`${capitalized(word)}${place} after ${took(row.elapsed)}`;
  if (row.until !== null) return html`${row.state === "retry_delay" ? "Tries again" : "Starts"} <${When} at=${Math.ceil(row.until)} />`;
  return capitalized(word);
}

/** @param {JobRow} row @param {JobShown} shown */
function detail(row, shown) {
  const next = shown.jobs.find((one) => one.reason === "retry");
  if (row.state === "complete") {
    return html`${row.description && html`<p class="job-banner-said">${row.description}</p>`}
      <p class="soft">Ended <${When} at=${row.completed} as="exact" /> (<${When} at=${Math.floor(row.completed)} />).
        ${next && html` It was <a href=${jobLink(next.id)}>tried again</a>.`}</p>`;
  }
  if (row.state === "active") return html`<p class="soft">${row.status}</p>`;
  const reason = /** @type {string} */ (shown.job.reason);
  if (reason) return html`<p class="soft">${capitalized(reason)}.</p>`;
  if (row.until !== null) return html`<p class="soft"><${When} at=${row.until} as="exact" /></p>`;
  return null;
}

/** An estimate from the progress so far. @param {{row: JobRow}} props */
function Remaining({ row }) {
  const now = useCell(clock);
  if (row.progress >= 1 || row.progress < 0.02) return null;
  const passed = now - row.started;
  const left = (passed / row.progress) * (1 - row.progress);
  return passed < 5 ? null : `, about ${lasting(left)} left`;
}
