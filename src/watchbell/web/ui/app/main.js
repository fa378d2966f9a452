/** Begins: draws the application into the page. */

import { html, render } from "htm/preact";
import { Shell } from "./shell.js";

const root = document.getElementById("app");
if (root) {
  root.replaceChildren();
  render(html`<${Shell} />`, root);
}
