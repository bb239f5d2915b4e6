/**
 * Who gets how much of a node's processor: each wants what its load wants, no more than its limit, and when they want
 * more than there is, they share it by their requests, as the kernel's weights do.
 */

/** What one process wants of the CPU, and its weight. */
export interface Want {
  readonly millicores: number;
  readonly limitMillicores: number | null;
  readonly requestMillicores: number;
}

/** The least weight a cgroup has. */
const MIN_SHARES = 2;

/** The shares in the order of the wants, in millicores. Their sum is never above `capacityMillicores`. */
export function shareCpu(wants: readonly Want[], capacityMillicores: number): readonly number[] {
  const caps = wants.map(({ millicores, limitMillicores }) =>
    Math.max(0, Math.min(millicores, limitMillicores ?? Infinity))
  );
  const total = caps.reduce((sum, cap) => sum + cap, 0);
  if (total <= capacityMillicores) return caps;
  const weights = wants.map(({ requestMillicores }) => Math.max(MIN_SHARES, requestMillicores));
  const shares = caps.map(() => 0);
  let open = caps.map((_, index) => index);
  let left = Math.max(0, capacityMillicores);
  // A process that wants less than its part leaves the rest to the others, so each round closes one at least.
  while (open.length > 0) {
    const weight = open.reduce((sum, index) => sum + (weights[index] ?? 0), 0);
    const part = (index: number) => left * (weights[index] ?? 0) / weight;
    const content = open.filter((index) => (caps[index] ?? 0) <= part(index));
    const served = content.length > 0 ? content : open;
    const amounts = served.map((index) => content.length > 0 ? caps[index] ?? 0 : part(index));
    for (const [at, index] of served.entries()) shares[index] = amounts[at] ?? 0;
    if (content.length === 0) break;
    left -= amounts.reduce((sum, amount) => sum + amount, 0);
    open = open.filter((index) => !content.includes(index));
  }
  return shares;
}
