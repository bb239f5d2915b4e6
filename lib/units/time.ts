/** Times as the Kubernetes API writes them. */

/** Whole seconds, cut off, as metav1.Time has them. */
export function formatTime(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`;
}
