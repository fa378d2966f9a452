/** The roles and their permissions, from least to most. */

/** @type {[role: string, may: string][]} */
export const ROLES = [
  ["viewer", "Can see everything except users, settings and the audit log."],
  ["operator", "Like viewer; can also report events, acknowledge, schedule maintenance, and start, stop and tag jobs."],
  ["editor", "Like operator; can also edit entities, events, jobs, contacts and rules."],
  ["administrator", "Like editor; can also manage users, roles, servers and all keys and sessions, and see settings and the audit log."],
];
