/**
 * Looks at all ScaledObjects each second and writes the statuses that differ from what is stored (R90); counts what is
 * there for the gauges of KEDA's that say how much is registered (R93).
 */
import { type ScaledObjectStatus, toScaledObjectStatus } from "../../../core/replicas/status.ts";
import type { Compute } from "../../../runtime/compute.ts";
import type { ScaledObjectFacts } from "../../../scaled_object/scaled_object.ts";
import type { ReplicaMetrics } from "../../metrics/replica_metrics.ts";
import type { Pass, StatusWriter } from "../../report/status_writer.ts";
import type { SeenObject } from "../sink.ts";

/** Where the objects come from, and who takes what follows. */
export interface ReplicasSweepOptions {
  readonly compute: Compute;
  readonly list: () => Iterable<SeenObject>;
  readonly writer: Pick<StatusWriter<ScaledObjectStatus>, "write" | "forget">;
  readonly metrics: Pick<ReplicaMetrics, "setRegistered">;
  /** False while what the namespace's objects depend on is not known: their statuses stay as they are. */
  readonly isKnown: (namespace: string) => boolean;
}

/** Remembers what each status followed from, so that an unchanged object costs little. */
export class ReplicasSweep {
  readonly #options: ReplicasSweepOptions;
  /** By uid: what needs no more looking at. */
  readonly #settled = new Map<string, SeenObject>();

  constructor(options: ReplicasSweepOptions) {
    this.#options = options;
  }

  forget(uid: string): void {
    this.#settled.delete(uid);
    this.#options.writer.forget(uid);
  }

  /** Resolves when all that differed is written, has failed, or was put off. Never rejects. The last one puts nothing off. */
  async sweep(signal: AbortSignal, { isLast = false } = {}): Promise<void> {
    const pass: Pass = { signal, isUnanswered: false, isLast };
    const writes: Promise<void>[] = [];
    const registered = { triggers: new Map<string, number>(), objects: new Map<string, number>() };
    for (const seen of this.#options.list()) {
      await this.#options.compute(() => {
        const writing = this.#look(seen, pass);
        if (writing !== null) writes.push(writing);
      });
      count(seen.facts, registered);
    }
    this.#options.metrics.setRegistered(registered);
    await Promise.all(writes);
  }

  /** `null` = nothing is written, or later. */
  #look(seen: SeenObject, pass: Pass): Promise<void> | null {
    const { facts, state } = seen;
    if (!this.#options.isKnown(facts.namespace)) return null;
    const before = this.#settled.get(facts.uid);
    if (state === null || (before?.facts === facts && before.state === state && !pass.isLast)) return null;
    const status = toScaledObjectStatus(facts, state);
    const writing = this.#options.writer.write({ object: facts, isStale: false, status }, pass);
    if (writing === null) this.#settled.set(facts.uid, seen);
    return writing instanceof Promise ? writing : null;
  }
}

function count(
  { namespace, scaledObject }: ScaledObjectFacts,
  { triggers, objects }: { readonly triggers: Map<string, number>; readonly objects: Map<string, number> },
): void {
  objects.set(namespace, (objects.get(namespace) ?? 0) + 1);
  for (const { type } of scaledObject?.triggers ?? []) triggers.set(type, (triggers.get(type) ?? 0) + 1);
}
