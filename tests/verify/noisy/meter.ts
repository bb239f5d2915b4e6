/** How soon does podfit react to what steps, and does it keep its Lease? Seen from the API server. */
import { systemClock } from "../../../lib/runtime/clock.ts";
import type { Clock } from "../../../lib/runtime/clock.ts";
import type { Transport } from "../../../lib/kube/transport.ts";
import type { PlainCluster } from "../chaos/plain_cluster.ts";

/** What a step must lead to: a PATCH of a pod's size, or a write of a workload's scale. */
export type StepKind = "size" | "replicas";

/** Ms from step to write; Infinity where none came. */
export type Reactions = Readonly<Record<StepKind, readonly number[]>>;

/** What was seen since the last `take`. */
export interface Seen {
  readonly reactions: Reactions;
  /** The longest time without a renewal of the Lease, ms. */
  readonly leaseGapMs: number;
  /** Who held it. */
  readonly holders: readonly string[];
}

/** Measures one world. */
export class Meter {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #pending = new Map<string, { readonly kind: StepKind; readonly atMs: number }>();
  #reactions: Record<StepKind, number[]> = { size: [], replicas: [] };
  #renewedMs: number | null = null;
  #gapMs = 0;
  #holders = new Set<string>();

  constructor(clock: Pick<Clock, "monotonic"> = systemClock) {
    this.#clock = clock;
  }

  /** Steps that podfit has not reacted to. */
  get pending(): number {
    return this.#pending.size;
  }

  /** Whether podfit has not reacted to the last step of this workload. */
  isPending(name: string): boolean {
    return this.#pending.has(name);
  }

  /** A workload steps. */
  begin(kind: StepKind, name: string): void {
    this.#pending.set(name, { kind, atMs: this.#clock.monotonic() });
  }

  /** The same transport, whose writes are seen. */
  through(transport: Transport): Transport {
    return (request) => {
      if (request.method !== "GET") this.#see(new URL(request.url).pathname);
      return transport(request);
    };
  }

  /** Sees renewals of Leases until the returned function is called. */
  watch(cluster: PlainCluster): () => void {
    return cluster.api.store.collection("coordination.k8s.io/leases").listen(({ entry: { object } }) => {
      // deno-lint-ignore no-explicit-any
      const { holderIdentity } = (object as any).spec;
      if (typeof holderIdentity === "string" && holderIdentity !== "") this.#holders.add(holderIdentity);
      this.#noteGap();
      this.#renewedMs = this.#clock.monotonic();
    }, null);
  }

  /** Returns what was seen and begins again; with `isLast`, steps without a reaction count as such. */
  take({ isLast = false }: { readonly isLast?: boolean } = {}): Seen {
    if (isLast) {
      for (const { kind } of this.#pending.values()) this.#reactions[kind].push(Infinity);
      this.#pending.clear();
    }
    this.#noteGap();
    const seen = { reactions: this.#reactions, leaseGapMs: this.#gapMs, holders: [...this.#holders] };
    this.#reactions = { size: [], replicas: [] };
    this.#gapMs = 0;
    this.#holders = new Set();
    return seen;
  }

  #noteGap(): void {
    if (this.#renewedMs !== null) this.#gapMs = Math.max(this.#gapMs, this.#clock.monotonic() - this.#renewedMs);
  }

  #see(path: string): void {
    const [, name = "", kind] = /\/(?:pods|deployments)\/([^/]+)\/(resize|scale)$/.exec(path) ?? [];
    const pending = this.#pending.get(name);
    if (pending === undefined || (kind === "resize") !== (pending.kind === "size")) return;
    this.#pending.delete(name);
    this.#reactions[pending.kind].push(this.#clock.monotonic() - pending.atMs);
  }
}

/** The value that this share of all values does not exceed; NaN without any. */
export function computePercentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * percent / 100) - 1)] ?? NaN;
}
