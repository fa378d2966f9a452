/** Tests a contact's rules on a sample event; nothing is sent. */

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { ask, Problem } from "../../api.js";
import { Choice, Field } from "../../kit/form.js";
import { Card } from "../../kit/layout.js";
import { SEVERITIES } from "./shapes.js";
import { Tokens } from "../../kit/tokens.js";

/**
 * @typedef {import("./shapes.js").Contact} Contact
 * @typedef {import("./shapes.js").RuleBody} RuleBody
 * @typedef {{is_told: boolean, words: string, zone: string, local_time: string, tags: string[],
 *   rules: {id: string, matches: boolean, counts: boolean, words: string}[]}} Verdict
 */

const PAUSE_MS = 250;

/**
 * @param {{contact: Contact, rules: (RuleBody & {id: string})[], isDraft: boolean}} props
 *   the rules, saved or edited, each with the name shown for it
 */
export function Trial({ contact, rules, isDraft }) {
  const [check, setCheck] = useState("");
  const [state, setState] = useState("critical");
  const [tags, setTags] = useState(/** @type {string[]} */ ([]));
  const [at, setAt] = useState("");
  const [verdict, setVerdict] = useState(/** @type {Verdict | null} */ (null));
  const [problem, setProblem] = useState(/** @type {Problem | null} */ (null));
  const isReady = /^[^:]+:./.test(check);
  const text = isReady ? JSON.stringify({ contact: contact.id, rules, event: { check, state, tags, at } }) : "";
  useEffect(() => {
    if (!text) return undefined;
    const abort = new AbortController();
    const timer = setTimeout(() => {
      ask("POST", "/rules/try", text, { signal: abort.signal }).then(
        (found) => {
          setVerdict(found);
          setProblem(null);
        },
        (error) => {
          if (abort.signal.aborted) return;
          if (!(error instanceof Problem)) throw error;
          setProblem(error);
        },
      );
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text, contact.version]);
  return html`<${Card} title="Test rules" id="try">
    <p class="soft">Shows the alerts that ${contact.first_name} would get for an event under ${isDraft ? "the edited rules" : "these rules"}. Nothing is sent. Links, intervals and summaries are ignored.</p>
    <div class="form rule-trial">
      <div class="form-row">
        <${Field} label="Check" name="check" value=${check} onInput=${setCheck} placeholder="web-1.example.com:HTTP" problem=${problem?.of("check") || (check && !isReady ? "Enter ENTITY:CHECK" : "")} />
        <${Field} label=${`Time, in ${contact.first_name}'s time zone`} name="at" value=${at} onInput=${setAt} placeholder="now" problem=${problem?.of("at")} hint="For example sat 03:00, tomorrow 9:00, 2026-11-20 14:00" />
        <${Tokens} label="Tags" words=${tags} onChange=${setTags} hint="Leave empty to use the tags of its latest report" />
      </div>
      <${Choice} label="State" value=${state} options=${SEVERITIES.map((one) => [one, one])} onChange=${setState} />
      <div role="status">
        ${problem && problem.errors.length === 0 && html`<div class="wrong">${problem.message}</div>`}
        ${isReady && verdict && !problem && html`<${Shown} verdict=${verdict} />`}
      </div>
    </div>
  <//>`;
}

/** @param {{verdict: Verdict}} props */
function Shown({ verdict }) {
  return html`<div class=${`rule-trial-verdict ${verdict.is_told ? "rule-trial-notified" : "rule-trial-silent"}`}>
    <p><strong>${verdict.words}</strong> <span class="soft">${verdict.local_time}, ${verdict.zone}</span></p>
    <ul>${verdict.rules.map((rule) => html`<li class=${rule.counts ? "rule-counts" : ""}><span aria-hidden="true">${rule.matches ? "✓" : "✕"}</span>
      <span>${/^\d/.test(rule.id) ? `Rule ${rule.id}` : rule.id}: ${rule.words}</span></li>`)}</ul>
    <p class="soft">Tags: ${verdict.tags.join(", ") || "none"}</p>
  </div>`;
}
