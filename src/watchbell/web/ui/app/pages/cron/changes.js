/** Changes in cron. */

import { changesOf } from "../../kit/changes.js";

export const { ChangeStream, useChanges } = changesOf("cron");
