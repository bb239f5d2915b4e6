/**
 * Where podfit does other than KEDA in KEDA's own unit tests, and why.
 *
 * A case of a table names one of these. docs/reference/keda-support.md has each sentence.
 */

/** In the order of the page. */
export const DIFFERENCES = {
  "no-webhook":
    "podfit has no admission webhook. What KEDA's webhook refuses is a finding of `podfit lint` and `Ready=False`; an update " +
    "is never refused, so an object can always be deleted.",
  "own-hpa": "While an HPA that KEDA has made still exists, podfit waits: both would set the replicas.",
  "name-length":
    "Names may have 253 characters. KEDA allows 63, and 54 without a name for its HPA: podfit makes no HPA.",
  "average-value":
    "A cpu or memory trigger with `AverageValue` needs no request, as in an HPA. KEDA's webhook asks for one.",
  "metric-type":
    "A cpu or memory trigger without `metricType` is refused at once. KEDA's webhook accepts it, and its scaler fails.",
  "client-certificates": "TLS client certificates (`tls`) are refused.",
  "cloud-identity":
    "Identities of a cloud (`podIdentity`, `awsRegion`, Google's credentials) are refused or have no effect.",
  "first-cooldown":
    "An object that was never active waits for `cooldownPeriod` before it goes to zero. `--keda-deactivation` restores KEDA's " +
    "rule.",
  "no-hpa": "`HPAActive` shows podfit's own scaling loop, which replaces the HPA.",
  "stale-health": "Without `fallback`, podfit removes `status.health`. KEDA leaves the last one.",
} as const;

export type Difference = keyof typeof DIFFERENCES;
