/** Labels and colours for alerts. */

/**
 * @typedef {"queued" | "underway" | "delivered" | "failed"} Outcome
 * @typedef {{id: string, time: number, outcome: Outcome, can_retry: boolean, contact: string, media: string, address: string,
 *   check: string, type: string, rollup: string, state: string, delivered_at: number | null, failed_at: number | null,
 *   tries: number | null, answer: string, error: string, subject: string}} Sent
 * @typedef {{sent: Sent, contact_name: string}} Alert
 * @typedef {{message: {sent: Sent, body: string, summary: string, details: string, problem: string}, contact_name: string}} Message
 */

/** @type {Record<Outcome, {words: string, tone: "plain" | "good" | "bad" | "warn"}>} */
export const OUTCOMES = {
  delivered: { words: "delivered", tone: "good" },
  failed: { words: "failed", tone: "bad" },
  underway: { words: "sending", tone: "warn" },
  queued: { words: "queued", tone: "plain" },
};

export const KINDS = ["problem", "recovery", "acknowledgement", "test"];

/** The state whose icon is shown. @param {Sent} sent */
export function shownState(sent) {
  if (sent.state === "acknowledgement") return "acknowledged";
  return sent.state === "test_notifications" ? "none" : sent.state;
}
