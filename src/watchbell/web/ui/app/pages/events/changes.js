/** Changes of events, jobs and what else is defined for them. */

import { changesOf } from "../../kit/changes.js";

export const { ChangeStream, useChanges } = changesOf("jobs");
