/** Converts a job's definition to form values and back. */

/**
 * @typedef {{by: "text" | "fields", cronstring: string, fields: Record<string, string>, timezone: string, start_date: string,
 *   end_date: string, jitter: string, cmd: string, sharing: "own" | "named" | "everywhere", lock: string, ttl: string,
 *   alert: boolean, missed: string, grace: string, overlap: string, time_limit: string, kill_after: string,
 *   linger: string, lingers: boolean, daemons: string, environment: [string, string][], folder: string, user: string,
 *   group: string, nice: string, limits: [string, string][], output_limit: string, retries: string, retry_delay: string,
 *   retry_factor: string, hosts: string, tags: string}} Draft
 */

export const FIELDS = ["year", "month", "day", "week", "day_of_week", "hour", "minute", "second"];
const TEXTS = /** @type {const} */ (["folder", "user", "group", "missed", "overlap", "daemons"]);
const NUMBERS = /** @type {const} */ (["grace", "time_limit", "kill_after", "nice", "output_limit", "retries", "retry_delay", "retry_factor"]);
const NAMES = /** @type {const} */ (["hosts", "tags"]);
const LIMITS = /** @type {const} */ (["timezone", "start_date", "end_date"]);

/** @type {Draft} */
const BLANK = {
  by: "text", cronstring: "", fields: {}, timezone: "", start_date: "", end_date: "", jitter: "",
  cmd: "", sharing: "own", lock: "", ttl: "60",
  alert: true, missed: "", grace: "", overlap: "", time_limit: "", kill_after: "", linger: "", lingers: false, daemons: "",
  environment: [], folder: "", user: "", group: "", nice: "", limits: [],
  output_limit: "", retries: "", retry_delay: "", retry_factor: "", hosts: "", tags: "",
};

/** @param {any} definition as stored @returns {Draft} */
export function drafted(definition) {
  const source = definition ?? {};
  const cron = object(source.cron_args);
  const args = object(source.job_args);
  const settings = object(source.watchbell);
  const fields = Object.fromEntries(FIELDS.filter((name) => cron[name] != null).map((name) => [name, text(cron[name])]));
  return {
    ...BLANK,
    by: Object.keys(fields).length > 0 && !cron.cronstring ? "fields" : "text",
    cronstring: text(cron.cronstring),
    fields,
    timezone: text(cron.timezone),
    start_date: text(cron.start_date),
    end_date: text(cron.end_date),
    jitter: text(cron.jitter),
    cmd: text(args.cmd),
    sharing: args.lock === false || args.lock === "" ? "everywhere" : typeof args.lock === "string" ? "named" : "own",
    lock: typeof args.lock === "string" ? args.lock : "",
    ttl: text(args.ttl ?? 60),
    alert: settings.alert !== false,
    ...Object.fromEntries([...TEXTS, ...NUMBERS].map((name) => [name, text(settings[name])])),
    ...Object.fromEntries(NAMES.map((name) => [name, Array.isArray(settings[name]) ? settings[name].join(", ") : text(settings[name])])),
    linger: text(settings.linger),
    lingers: "linger" in settings && settings.linger === null,
    environment: pairs(settings.environment),
    limits: pairs(settings.limits),
  };
}

/**
 * The definition with the form's values; keys that the form does not know are kept.
 * @param {Draft} draft
 * @param {any} before
 */
export function defined(draft, before = {}) {
  const settings = settingsOf(draft);
  const { watchbell: _, ...rest } = before ?? {};
  return {
    ...rest,
    cron_args: { ...timed(draft), ...(draft.jitter ? { jitter: number(draft.jitter) } : {}) },
    job_args: { ...object(rest.job_args), cmd: draft.cmd, lock: locked(draft), ttl: number(draft.ttl) },
    ...(Object.keys(settings).length > 0 ? { watchbell: settings } : {}),
  };
}

/** @param {Draft} draft */
function timed(draft) {
  /** @type {Record<string, unknown>} */
  const result = {};
  if (draft.by === "text") result.cronstring = draft.cronstring;
  else for (const name of FIELDS) if (draft.fields[name]) result[name] = draft.fields[name];
  for (const name of LIMITS) if (draft[name]) result[name] = draft[name];
  return result;
}

/** @param {Draft} draft */
function locked(draft) {
  if (draft.sharing === "everywhere") return false;
  return draft.sharing === "named" && draft.lock ? draft.lock : true;
}

/** @param {Draft} draft */
function settingsOf(draft) {
  /** @type {Record<string, unknown>} */
  const result = {};
  if (!draft.alert) result.alert = false;
  for (const name of TEXTS) if (draft[name]) result[name] = draft[name];
  for (const name of NUMBERS) if (draft[name]) result[name] = number(draft[name]);
  for (const name of NAMES) if (draft[name].trim()) result[name] = draft[name].split(/[\s,]+/).filter(Boolean);
  if (draft.lingers) result.linger = null;
  else if (draft.linger) result.linger = number(draft.linger);
  const environment = draft.environment.filter(([name, value]) => name || value);
  const limits = draft.limits.filter(([name]) => name);
  if (environment.length > 0) result.environment = Object.fromEntries(environment);
  if (limits.length > 0) result.limits = Object.fromEntries(limits.map(([name, value]) => [name, number(value)]));
  return result;
}

/** A number, or the typed text if it is none, for the server to reject. @param {string} typed */
function number(typed) {
  const found = Number(typed);
  return typed.trim() === "" || Number.isNaN(found) ? typed : found;
}

/** @param {unknown} value @returns {Record<string, any>} */
function object(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value) ? value : {};
}

/** @param {unknown} value */
function text(value) {
  return value === null || value === undefined ? "" : String(value);
}

/** @param {unknown} value @returns {[string, string][]} */
function pairs(value) {
  return Object.entries(object(value)).map(([name, one]) => [name, text(one)]);
}
