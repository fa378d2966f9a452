/** All pages: path, title, module, place in the menu, shortcut and required privilege. */

/**
 * @typedef {{path: string, title: string, load: () => Promise<{default: any}>, nav?: "watch" | "people" | "run" | "admin",
 *   key?: string, needs?: string}} PageInfo
 *   `nav`: its section of the menu; `key`: the letter that opens it after `g`
 */

/** @type {PageInfo[]} */
export const PAGES = [
  { path: "/", title: "Overview", load: () => import("./pages/overview.js"), nav: "watch", key: "o" },
  { path: "/checks", title: "Checks", load: () => import("./pages/checks.js"), nav: "watch", key: "c" },
  { path: "/check", title: "Check", load: () => import("./pages/check.js") },
  { path: "/alerts", title: "Alerts", load: () => import("./pages/alerts.js"), nav: "watch", key: "a" },
  { path: "/maintenance", title: "Maintenance", load: () => import("./pages/maintenance.js"), nav: "watch", key: "m" },
  { path: "/cron", title: "Cron", load: () => import("./pages/cron.js"), nav: "run", key: "r" },
  { path: "/cron/new", title: "New job", load: () => import("./pages/cron_job.js"), needs: "write" },
  { path: "/cron/job", title: "Job", load: () => import("./pages/cron_job.js") },
  { path: "/cron/run", title: "Run", load: () => import("./pages/cron_run.js") },
  { path: "/contacts", title: "Contacts", load: () => import("./pages/contacts.js"), nav: "people", key: "p" },
  { path: "/contact", title: "Contact", load: () => import("./pages/contact.js") },
  { path: "/entities", title: "Entities", load: () => import("./pages/entities.js"), nav: "people", key: "e" },
  { path: "/gateways", title: "Gateways", load: () => import("./pages/gateways.js"), nav: "admin", key: "g" },
  { path: "/rejected", title: "Rejected events", load: () => import("./pages/rejected.js"), nav: "admin", key: "x" },
  { path: "/system", title: "System", load: () => import("./pages/system.js"), nav: "admin", key: "s" },
  { path: "/settings", title: "Settings", load: () => import("./pages/settings.js"), nav: "admin", needs: "admin" },
  { path: "/audit", title: "Audit log", load: () => import("./pages/audit.js"), nav: "admin", needs: "admin" },
  { path: "/users", title: "Users", load: () => import("./pages/users.js"), nav: "admin", key: "u", needs: "admin" },
  { path: "/account", title: "Account", load: () => import("./pages/account.js") },
  { path: "/api-keys", title: "API keys", load: () => import("./pages/api_keys.js"), nav: "admin", key: "k" },
  { path: "/api", title: "API", load: () => import("./pages/api_docs.js"), nav: "admin", key: "d" },
];
