/** Times as the Kubernetes API writes them: https://pkg.go.dev/k8s.io/apimachinery/pkg/apis/meta/v1#Time */

/** Writes epoch milliseconds as RFC 3339 in UTC, cut off to whole seconds. Throws RangeError for what is no time. */
export function formatTime(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`;
}

/** Reads RFC 3339 into epoch milliseconds; `null` for any other value. Never throws. */
export function parseTime(value: unknown): number | null {
  // Date.parse() alone would also take "1" and "May 5".
  if (typeof value !== "string" || !RFC_3339.test(value)) return null;
  const at = Date.parse(value);
  return Number.isNaN(at) ? null : at;
}

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;
