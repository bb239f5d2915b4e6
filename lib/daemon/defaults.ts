/** What holds where an operator has set nothing else: the command line's --help says it, and a daemon without one goes by it. */
import type { Pace } from "./act/turns.ts";

/** A burst of 5,000 resizes passes in less than a minute. */
export const DEFAULT_PACE: Pace = { perSecond: 100, burst: 200 };

/** So many autoscalers contend for one container: more than anybody means to have. */
export const MAX_CONTENDERS = 16;
