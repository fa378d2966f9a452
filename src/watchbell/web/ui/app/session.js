/** The signed-in user, their permissions, and the state of the connection. */

import { Cell } from "./cell.js";

/**
 * @typedef {"intake" | "metrics" | "read" | "operate" | "write" | "admin"} Scope
 * @typedef {{user: string, role: string, scopes: Scope[], privileges: string[], csrf: string, has_password: boolean, asks_old: boolean}} Me
 */

/** @type {Cell<Me | null>} */
export const me = new Cell(/** @type {Me | null} */ (null));

/**
 * `lost` while the server is unreachable, `over` once the session has ended.
 * @type {Cell<"fine" | "lost" | "over">}
 */
export const connection = new Cell(/** @type {"fine" | "lost" | "over"} */ ("fine"));

/**
 * Whether the user may do this; actions they may not do are not shown.
 * @param {string} privilege such as `operate` or `run_jobs`; it may be limited to some categories
 */
export function may(privilege) {
  return me.value?.privileges.includes(privilege) ?? false;
}
