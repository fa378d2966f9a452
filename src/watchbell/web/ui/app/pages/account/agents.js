/** Browser and system names from user agents. */

/** @type {[pattern: RegExp, words: string][]} */
const BROWSERS = [
  [/\bEdg(e|A|iOS)?\//, "Edge"],
  [/\bOPR\//, "Opera"],
  [/\b(Firefox|FxiOS)\//, "Firefox"],
  [/\b(Chrome|CriOS|HeadlessChrome|Chromium)\//, "Chrome"],
  [/\bSafari\//, "Safari"],
  [/^curl\//, "curl"],
];
/** @type {[pattern: RegExp, words: string][]} */
const SYSTEMS = [
  [/\bAndroid\b/, "Android"],
  [/\b(iPhone|iPad)\b/, "iOS"],
  [/\bWindows\b/, "Windows"],
  [/\bMac OS X\b/, "macOS"],
  [/\bCrOS\b/, "ChromeOS"],
  [/\bLinux\b/, "Linux"],
];

/** @param {[RegExp, string][]} known @param {string} agent */
const found = (known, agent) => known.find(([pattern]) => pattern.test(agent))?.[1];

/**
 * As `Firefox on Linux`; unknown agents are returned unchanged.
 * @param {string} agent
 */
export function agentWords(agent) {
  const browser = found(BROWSERS, agent);
  const system = found(SYSTEMS, agent);
  if (browser) return system ? `${browser} on ${system}` : browser;
  return agent.slice(0, 60) || "Unknown client";
}
