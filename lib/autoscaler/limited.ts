/** The condition Limited (L53): pods want more than they can be given. It is what alerts and replicas listen to. */

/** Whose scale-ups are held by what does not pass by itself. */
export interface LimitFacts {
  /** The first such pod; `null` = none. */
  readonly first: { readonly pod: string; readonly reason: string } | null;
  /** How many pods are held, by reason. */
  readonly reasons: ReadonlyMap<string, number>;
}

/** Nothing is held. */
export const UNLIMITED: LimitFacts = { first: null, reasons: new Map() };

/** What the condition is judged by. */
export interface LimitedFacts {
  readonly paused: boolean;
  readonly tracked: number;
  readonly limits: LimitFacts;
  /** This podfit looks after one node or pod: nobody sees all pods of an autoscaler. */
  readonly isNodeLocal: boolean;
}

/** The condition, without its times. */
export interface LimitedVerdict {
  readonly type: "Limited";
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
}

/** Its reason is that of the first pod that is held. */
export function judgeLimited(
  { paused, tracked, limits: { first, reasons }, isNodeLocal }: LimitedFacts,
): LimitedVerdict {
  const type = "Limited";
  if (paused) return { type, status: "Unknown", reason: "Paused", message: "spec.paused is true" };
  if (tracked === 0) return { type, status: "Unknown", reason: "NoPods", message: "no pod is tracked" };
  if (isNodeLocal) {
    const message = "podfit looks after a part of the pods only: see the metric podfit_limited_pods of each podfit";
    return { type, status: "Unknown", reason: "NodeLocal", message };
  }
  if (first === null) {
    return { type, status: "False", reason: "NotLimited", message: "no pod wants more than it can be given" };
  }
  let pods = 0;
  for (const count of reasons.values()) pods += count;
  const message = `${pods} of ${tracked === 1 ? "1 pod" : `${tracked} pods`} ${pods === 1 ? "wants" : "want"} more ` +
    `than can be given; the first is "${first.pod}": ${first.reason}`;
  return { type, status: "True", reason: first.reason, message };
}
