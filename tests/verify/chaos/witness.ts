/**
 * Judges what podfit does to pods, from outside: no size outside of its bounds, none that was decided on what podfit
 * could no longer know, and one resize for one cause.
 */
import type { Clock } from "../../../lib/runtime/clock.ts";
import type { EmbeddedApiServer } from "../../../lib/embedded/server/http/handler.ts";
import { parseAmount } from "../../../lib/units/quantity.ts";
import type { Json } from "../../support/api_objects.ts";
import type { Stage } from "./stage.ts";
import type { Sent, Wire } from "./wire.ts";

/** What holds for every managed container of a world. */
export interface WitnessOptions {
  readonly stage: Stage;
  readonly clock: Clock;
  /** Bounds of the cpu request, millicores. */
  readonly bounds: { readonly min: number; readonly max: number };
  /** Between two resizes of one container. */
  readonly cooldownMs: number;
}

/** What one podfit could know when it sent something. */
export interface Knowledge {
  readonly name: string;
  readonly wire: Wire;
  /** When usage of the pod was last measured, as far as this podfit was told: epoch ms. */
  readonly sampledAt: (uid: string) => number | null;
}

/** Usage is silent after a minute, or three polls (C20); a poll more for the way. */
const MAX_SAMPLE_AGE_MS = 75_000;
/** podfit may act for five minutes on a list that nobody tells it of; half a minute more for the way. */
const MAX_LIST_AGE_MS = 330_000;
/** Cooldowns are read back from managedFields, in whole seconds. */
const SLACK_MS = 2_000;
/** Whose pods are resized, and by whom, follows from these. */
const LISTS = /\/(pods|podresourceautoscalers|deployments)$/;

/** Watches the pods of an API server until its signal aborts; judges each PATCH that a podfit sends. */
export class Witness {
  readonly #options: WitnessOptions;
  readonly #lastMs = new Map<string, number>();
  /** Resizes that were applied. */
  resizes = 0;

  constructor(options: WitnessOptions) {
    this.#options = options;
  }

  /** Returns how to end it. */
  watch({ store }: EmbeddedApiServer): () => void {
    return store.collection("/pods").listen(({ kind, entry, previous }) => {
      if (kind === "MODIFIED" && previous !== null) this.compare(previous.object, entry.object);
      if (kind === "DELETED") this.forget(entry.object);
    }, null);
  }

  /** Of what a podfit sends: a PATCH of pods/resize is decided on what is still known. */
  judge({ method, path }: Sent, { name, wire, sampledAt }: Knowledge, uid: string | null): void {
    if (method !== "PATCH" || !path.endsWith("/resize")) return;
    const { stage, clock } = this.#options;
    for (const list of wire.collections.filter((one) => LISTS.test(one))) {
      const ageMs = clock.monotonic() - (wire.contactMs(list) ?? 0);
      if (ageMs <= MAX_LIST_AGE_MS) continue;
      stage.broke("stale resize", `${name} sent ${path} ${seconds(ageMs)} after it last heard of ${list}`);
    }
    const at = uid === null ? null : sampledAt(uid);
    if (at === null || clock.now() - at <= MAX_SAMPLE_AGE_MS) return;
    stage.broke("stale resize", `${name} sent ${path} on usage that is ${seconds(clock.now() - at)} old`);
  }

  /** The pod is gone. */
  forget({ metadata, spec }: Json): void {
    for (const { name } of spec.containers) this.#lastMs.delete(`${metadata.uid}/${name}`);
  }

  /** `atMs`: when the second of two states of a pod came to be, by any clock that never steps. */
  compare(before: Json, after: Json, atMs = this.#options.clock.monotonic()): void {
    if (before.metadata.uid !== after.metadata.uid) return;
    for (const container of after.spec.containers) {
      const former = before.spec.containers.find(({ name }: Json) => name === container.name);
      if (JSON.stringify(former?.resources) === JSON.stringify(container.resources)) continue;
      this.#resized(after, { from: readCpu(former), to: readCpu(container), name: container.name, atMs });
    }
  }

  #resized(pod: Json, { from, to, name, atMs }: Resize): void {
    const { stage, bounds, cooldownMs } = this.#options;
    const what = `${pod.metadata.name}/${name} ${from}m -> ${to}m`;
    this.resizes++;
    if (!(to >= bounds.min && to <= bounds.max)) stage.broke("wrong size", `${what}, outside of its bounds`);
    const key = `${pod.metadata.uid}/${name}`;
    const sinceMs = atMs - (this.#lastMs.get(key) ?? -Infinity);
    if (sinceMs < cooldownMs - SLACK_MS) {
      stage.broke("double resize", `${what}, ${seconds(sinceMs)} after the one before`);
    }
    this.#lastMs.set(key, atMs);
  }
}

interface Resize {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  readonly atMs: number;
}

function readCpu(container: Json): number {
  const parsed = parseAmount(container?.resources?.requests?.cpu, "cpu");
  return parsed.ok ? parsed.amount : NaN;
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`;
}
