/** Text from the server with its markup. */

import { html } from "htm/preact";

/** Text between backticks as code. @param {string} text */
export function withCode(text) {
  return text.split("`").map((part, at) => (at % 2 ? html`<code>${part}</code>` : part));
}
