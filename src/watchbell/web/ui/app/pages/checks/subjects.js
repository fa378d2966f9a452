/** What checks of jobs and servers are about: events and servers, asked for together. */

import { html } from "htm/preact";
import { useEffect } from "preact/hooks";
import { get, Problem, url } from "../../api.js";
import { Cell, useCell } from "../../cell.js";
import { eventLink, jobLink } from "../events/words.js";
import { serverLink } from "../servers/words.js";

/**
 * @typedef {{check: string, kind: "event" | "server", id: string, title: string, last_job: string}} Subject
 * @typedef {number | null | undefined} Stamp when the check last reported: another job may be the last one then
 */

const AT_ONCE = 100;
const WAIT_MS = 30;

/** @type {Cell<Map<string, {stamp: Stamp, subject: Subject | null}>>} */
const known = new Cell(new Map());
/** @type {Map<string, Stamp>} */
const wanted = new Map();
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

/** @param {string} check @param {Stamp} stamp */
function want(check, stamp) {
  wanted.set(check, stamp);
  timer ??= setTimeout(() => {
    timer = undefined;
    const all = [...wanted];
    wanted.clear();
    for (let first = 0; first < all.length; first += AT_ONCE) load(all.slice(first, first + AT_ONCE));
  }, WAIT_MS);
}

/** @param {[check: string, stamp: Stamp][]} some */
async function load(some) {
  try {
    const { items } = /** @type {{items: Subject[]}} */ (await get(url("/checks/subjects", { check: some.map(([check]) => check) })));
    const found = new Map(known.value);
    for (const [check, stamp] of some) found.set(check, { stamp, subject: items.find((one) => one.check === check) ?? null });
    known.set(found);
  } catch (error) {
    if (!(error instanceof Problem)) throw error; // the page shows the names of the checks
  }
}

/**
 * What a check is about; null if that is unknown.
 * @param {string} check @param {Stamp} stamp
 * @returns {Subject | null}
 */
export function useSubject(check, stamp) {
  const found = useCell(known).get(check);
  const isKnown = found !== undefined && found.stamp === stamp;
  useEffect(() => {
    if (!isKnown && /^(jobs|servers):/.test(check)) want(check, stamp);
  }, [check, stamp, isKnown]);
  return found?.subject ?? null;
}

/**
 * Links to what a check is about.
 * @param {{subject: Subject | null, tabindex?: string}} props
 */
export function SubjectLinks({ subject, ...more }) {
  if (!subject) return null;
  if (subject.kind === "server") return html`<span class="check-about"><a href=${serverLink(subject.id)} ...${more}>Server</a></span>`;
  return html`<span class="check-about"><a href=${eventLink(subject.id)} ...${more}>Event</a>
    ${subject.last_job && html`<a href=${jobLink(subject.last_job)} ...${more}>Last job</a>`}</span>`;
}
