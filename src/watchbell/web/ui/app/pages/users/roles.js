/** The roles, from the least to the most, and what each may. */

/** @type {[role: string, may: string][]} */
export const ROLES = [
  ["viewer", "May look at everything but users, settings and the audit log."],
  ["operator", "May also report, acknowledge, put into maintenance, start and end runs."],
  ["editor", "May also change what is watched, what is run and who is told."],
  ["administrator", "May also keep users, everybody's keys and sessions, and see settings and the audit log."],
];
