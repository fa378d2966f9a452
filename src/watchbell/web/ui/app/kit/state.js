/** States, shown by shape and word as well as colour. */

import { html } from "htm/preact";

/** @typedef {"ok" | "warning" | "critical" | "unknown" | "maintenance" | "acknowledged" | "disabled" | "running" | "paused" | "none"} Shown */

/** @type {Record<string, string>} */
const SHAPES = {
  ok: "M8 1.5a6.5 6.5 0 1 1 0 13a6.5 6.5 0 0 1 0-13zM5 8.2l2.1 2.1L11.2 6",
  warning: "M8 1.8l6.6 12H1.4z",
  critical: "M5.2 1.5h5.6l3.7 3.7v5.6l-3.7 3.7H5.2l-3.7-3.7V5.2z",
  unknown: "M8 1l7 7l-7 7l-7-7z",
  maintenance: "M2.5 2.5h11v11h-11zM2.5 9.5l7-7M6.5 13.5l7-7",
  acknowledged: "M8 1.5a6.5 6.5 0 1 1 0 13a6.5 6.5 0 0 1 0-13z",
  disabled: "M8 1.5a6.5 6.5 0 1 1 0 13a6.5 6.5 0 0 1 0-13zM3.5 12.5l9-9",
  running: "M4 2l10 6l-10 6z",
  paused: "M4 2.5v11M12 2.5v11",
  none: "M3 8h10",
};

/**
 * The icon alone; screen readers get the word.
 * @param {{state: string, title?: string}} props
 */
export function Mark({ state, title }) {
  const known = state in SHAPES ? state : "none";
  const word = title ?? state;
  return html`<svg class=${`mark mark-${known}`} viewBox="0 0 16 16" role="img" aria-label=${word}>
    <path d=${SHAPES[known]} />
  </svg>`;
}

/**
 * The icon and its word.
 * @param {{state: string, word?: string}} props
 */
export function State({ state, word }) {
  const known = state in SHAPES ? state : "none";
  return html`<span class=${`state state-${known}`}>
    <svg class=${`mark mark-${known}`} viewBox="0 0 16 16" aria-hidden="true"><path d=${SHAPES[known]} /></svg>
    <span>${word ?? state}</span>
  </span>`;
}

/**
 * A tag or another short label.
 * @param {{children?: any, tone?: "plain" | "good" | "bad" | "warn" | "soft", href?: string, title?: string}} props
 */
export function Chip({ children, tone = "plain", href, title }) {
  const look = { class: `chip chip-${tone}`, ...(title ? { title } : {}) };
  return href ? html`<a ...${look} href=${href}>${children}</a>` : html`<span ...${look}>${children}</span>`;
}
