/** All pages: path, title, module, place in the menu, shortcut and required privilege. */

/**
 * @typedef {"attention" | "jobs" | "fleet" | "notify" | "setup"} Part
 * @typedef {{path: string, title: string, load: () => Promise<{default: any}>, nav?: Part, under?: string,
 *   key?: string, needs?: string}} PageInfo
 *   `nav`: its section of the menu; `under`: the page of the menu that it belongs to; `key`: the
 *   letter that opens it after `g`
 */

/** @type {PageInfo[]} */
export const PAGES = [
  { path: "/", title: "Overview", load: () => import("./pages/overview.js"), nav: "attention", key: "o" },
  { path: "/checks", title: "Checks", load: () => import("./pages/checks.js"), nav: "attention", key: "c" },
  { path: "/check", title: "Check", load: () => import("./pages/check.js"), under: "/checks" },
  { path: "/alerts", title: "Alerts", load: () => import("./pages/alerts.js"), nav: "attention", key: "a" },
  { path: "/maintenance", title: "Maintenance", load: () => import("./pages/maintenance.js"), nav: "attention", key: "m" },
  { path: "/events", title: "Events", load: () => import("./pages/events.js"), nav: "jobs", key: "v" },
  { path: "/events/new", title: "New event", load: () => import("./pages/event.js"), under: "/events", needs: "create_events" },
  { path: "/events/event", title: "Event", load: () => import("./pages/event.js"), under: "/events" },
  { path: "/jobs", title: "Runs", load: () => import("./pages/jobs.js"), nav: "jobs", key: "j" },
  { path: "/jobs/job", title: "Job", load: () => import("./pages/job.js"), under: "/jobs" },
  { path: "/timeline", title: "Timeline", load: () => import("./pages/timeline.js"), nav: "jobs", key: "t" },
  { path: "/cron", title: "Cron", load: () => import("./pages/cron.js"), nav: "jobs", key: "r" },
  { path: "/cron/new", title: "New job", load: () => import("./pages/cron_job.js"), under: "/cron", needs: "write" },
  { path: "/cron/job", title: "Job", load: () => import("./pages/cron_job.js"), under: "/cron" },
  { path: "/cron/run", title: "Run", load: () => import("./pages/cron_run.js"), under: "/cron" },
  { path: "/archive", title: "Archive", load: () => import("./pages/archive.js"), nav: "jobs", key: "w" },
  { path: "/archive/crawl", title: "Crawl", load: () => import("./pages/crawl.js"), under: "/archive" },
  { path: "/archive/pending", title: "Pending crawls", load: () => import("./pages/archive_pending.js"), under: "/archive" },
  { path: "/archive/history", title: "Ended crawls", load: () => import("./pages/archive_history.js"), under: "/archive" },
  { path: "/archive/pipelines", title: "Pipelines", load: () => import("./pages/archive_pipelines.js"), under: "/archive" },
  { path: "/archive/ignore-sets", title: "Ignore sets", load: () => import("./pages/ignore_sets.js"), under: "/archive" },
  { path: "/servers", title: "Servers", load: () => import("./pages/servers.js"), nav: "fleet", key: "f" },
  { path: "/servers/server", title: "Server", load: () => import("./pages/server.js"), under: "/servers" },
  { path: "/groups", title: "Groups", load: () => import("./pages/groups.js"), nav: "fleet" },
  { path: "/contacts", title: "Contacts", load: () => import("./pages/contacts.js"), nav: "notify", key: "p" },
  { path: "/contact", title: "Contact", load: () => import("./pages/contact.js"), under: "/contacts" },
  { path: "/entities", title: "Entities", load: () => import("./pages/entities.js"), nav: "notify", key: "e" },
  { path: "/channels", title: "Channels", load: () => import("./pages/channels.js"), nav: "notify", key: "n" },
  { path: "/gateways", title: "Gateways", load: () => import("./pages/gateways.js"), nav: "notify", key: "g" },
  { path: "/categories", title: "Categories", load: () => import("./pages/categories.js"), nav: "setup", key: "y" },
  { path: "/plugins", title: "Plugins", load: () => import("./pages/plugins.js"), nav: "setup", key: "i" },
  { path: "/tags", title: "Tags", load: () => import("./pages/tags.js"), nav: "setup" },
  { path: "/users", title: "Users", load: () => import("./pages/users.js"), nav: "setup", key: "u", needs: "admin" },
  { path: "/account", title: "Account", load: () => import("./pages/account.js") },
  { path: "/api-keys", title: "API keys", load: () => import("./pages/api_keys.js"), nav: "setup", key: "k" },
  { path: "/settings", title: "Settings", load: () => import("./pages/settings.js"), nav: "setup", needs: "admin" },
  { path: "/system", title: "System", load: () => import("./pages/system.js"), nav: "setup", key: "s" },
  { path: "/audit", title: "Audit log", load: () => import("./pages/audit.js"), nav: "setup", needs: "admin" },
  { path: "/rejected", title: "Rejected events", load: () => import("./pages/rejected.js"), nav: "setup", key: "x" },
  { path: "/api", title: "API", load: () => import("./pages/api_docs.js"), nav: "setup", key: "d" },
];
