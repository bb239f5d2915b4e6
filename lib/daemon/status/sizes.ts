/**
 * What does an autoscaler's status say of the sizes of its pods? The sizes come from the watch of pods. What podfit
 * wants, and why it waits, comes from the last evaluation of each pod.
 */
import { type Autoscaler, toAutoscalerKey } from "../../model/autoscaler.ts";
import type { ContainerDecision, WantedSize } from "../../model/decision.ts";
import { type ContainerFacts, findContainer, getActualSize, listContainers, type PodFacts } from "../../model/pod.ts";
import type { HoldReason } from "../../model/reasons.ts";
import { listChangedFields } from "../../model/resize_request.ts";
import type { ReadableState } from "../../model/state.ts";
import {
  type ContainerSize,
  type ContainerStatus,
  nextContainers,
  type PodSizes,
  summarizeSizes,
} from "../../resources/pod_resource_autoscaler/sizes.ts";
import { NO_RESOURCES, RESOURCE_FIELDS, type Resources } from "../../units/resources.ts";
import type { HeldVerdict } from "../../vertical/quiet/verdict.ts";
import { findRecommendedSize } from "../../vertical/recommend.ts";
import type { Evaluation, EvaluationSink, QuietEvaluation } from "../pods/controller.ts";

/** What podfit wants of a container and does not do. */
export interface Waiting {
  readonly wanted: WantedSize | null;
  readonly reason: string;
}

/** Returns what a container waits for; `null` if nothing. */
export type FindWaiting = (autoscaler: Autoscaler, pod: PodFacts, container: string) => Waiting | null;

/** A podfit that sees the pods of others does not know what they wait for. */
export const WAITING_ELSEWHERE: FindWaiting = () => ELSEWHERE;

const ELSEWHERE: Waiting = { wanted: null, reason: "NodeLocal" };

interface WaitingPart extends Waiting {
  /** The autoscaler's uid. */
  readonly autoscaler: string;
  /** The verdict that holds since, which knows what is wanted now; `null` until the first quiet evaluation. */
  renewed: { readonly verdict: HeldVerdict; readonly decided: ContainerDecision } | null;
}

/** What the last evaluation of each pod wanted and did not do. Most pods have nothing. Clauses: L59. */
export class WaitingContainers {
  /** By pod uid, then by autoscaler and container. A pod may have 160 of them, so none of them is searched for. */
  readonly #parts = new Map<string, Map<string, WaitingPart>>();
  /** Verdicts whose decisions are renewed: all together, with the first quiet evaluation in which they are due. */
  readonly #renewed = new WeakSet<HeldVerdict>();
  readonly #findState: (uid: string) => ReadableState | null;

  constructor(options: { readonly findState: (uid: string) => ReadableState | null }) {
    this.#findState = options.findState;
  }

  /** Records an evaluation. A container that was not due keeps what it has. */
  readonly sink: EvaluationSink = Object.assign(
    ({ input: { pod, contenders }, outcome: { decisions } }: Evaluation) => {
      if (decisions.length === 0) return;
      const parts = this.#parts.get(pod.uid) ?? new Map<string, WaitingPart>();
      if (parts.size > 0) {
        const present = new Set(contenders.map(({ uid }) => uid));
        for (const [key, { autoscaler }] of parts) if (!present.has(autoscaler)) parts.delete(key);
      }
      for (const decided of decisions) {
        if (decided.decision.kind === "revert") continue;
        const part = toWaitingPart(decided, pod);
        if (part !== null) parts.set(toPlace(decided), part);
        else if (parts.size > 0) parts.delete(toPlace(decided));
      }
      if (parts.size > 0) this.#parts.set(pod.uid, parts);
      else this.#parts.delete(pod.uid);
    },
    { onQuiet: (quiet: QuietEvaluation) => this.#renew(quiet) },
  );

  forgetPod(uid: string): void {
    this.#parts.delete(uid);
  }

  /** What is wanted may follow usage under a verdict; everything else stays. */
  #renew({ verdict }: QuietEvaluation): void {
    const parts = this.#parts.get(verdict.pod.uid);
    if (parts === undefined || this.#renewed.has(verdict)) return;
    const { decisions } = verdict;
    if (decisions.length > 0) this.#renewed.add(verdict);
    for (const decided of decisions) {
      const part = parts.get(toPlace(decided));
      if (part !== undefined) part.renewed = { verdict, decided };
    }
  }

  /** In mode recommend a recommended size is wanted, too. */
  readonly find: FindWaiting = (autoscaler, pod, container) => {
    const kept = this.#parts.get(pod.uid)?.get(toAutoscalerKey(autoscaler.uid, container)) ?? null;
    const part = kept === null ? null : toWaiting(kept);
    if (autoscaler.mode !== "recommend") return part;
    const sizes = this.#findState(pod.uid)?.shadow?.sizes;
    const recommended = sizes === undefined ? null : findRecommendedSize(sizes, container);
    const actual = findContainer(pod, container);
    if (recommended === null || actual === null) return part;
    const wanted = { ...listDifferences(getCurrentSize(pod, actual), recommended), ...part?.wanted };
    return Object.keys(wanted).length === 0 ? part : { wanted, reason: part?.reason ?? "DryRun" };
  };
}

/** With these all is as it should be, or the next samples decide. */
const QUIET: ReadonlySet<string> = new Set<HoldReason>(["Warmup", "StreakShort", "InBand", "AtTarget"]);

function toWaiting({ wanted, reason, renewed }: WaitingPart): Waiting {
  return renewed === null
    ? { wanted, reason }
    : { wanted: renewed.verdict.findWanted(renewed.decided) ?? null, reason };
}

/** A size that would shrink below its smallest bound waits for nothing. */
function toWaitingPart(
  { autoscaler, container, decision, wanted }: ContainerDecision,
  pod: PodFacts,
): WaitingPart | null {
  if (decision.kind !== "blocked" && decision.kind !== "hold") return null;
  if (QUIET.has(decision.reason)) return null;
  if (decision.reason === "AtBound" && !isLarger(wanted ?? {}, findContainer(pod, container))) return null;
  return { autoscaler, wanted: wanted ?? null, reason: decision.reason, renewed: null };
}

function isLarger(wanted: WantedSize, container: ContainerFacts | null): boolean {
  const actual = container === null ? null : getActualSize(container);
  return RESOURCE_FIELDS.some((key) => (wanted[key] ?? 0) > (actual?.[key] ?? Infinity));
}

function toPlace({ autoscaler, container }: Pick<ContainerDecision, "autoscaler" | "container">): string {
  return toAutoscalerKey(autoscaler, container);
}

/**
 * Returns the size that the pod has, or is about to have. A resize that the kubelet defers or refuses does not count; any
 * other one is in force in a moment, and would cause a second write.
 */
function getCurrentSize({ pending }: PodFacts, container: ContainerFacts): Resources {
  return pending === null ? container.spec : getActualSize(container);
}

function listDifferences(from: Resources, to: Resources): WantedSize {
  return Object.fromEntries(
    listChangedFields(from, to).flatMap((key) => {
      const amount = to[key];
      return amount === null ? [] : [[key, amount] as const];
    }),
  );
}

/** Returns the sizes to publish; `before`: the published ones, `nowMs`: monotonic ms. */
export type ComputeSizes = (
  autoscaler: Autoscaler,
  pods: Iterable<PodFacts>,
  published: { readonly before: readonly ContainerStatus[] | undefined; readonly nowMs: number },
) => PodSizes;

/** What podfit wants is published once it has lasted this long, so that usage that changes does not cause writes. */
const LASTING_MS = 30_000;

/** Computes `status.containers` and `status.requests`. Clauses: L59. */
export class PublishedSizes {
  readonly #findWaiting: FindWaiting;
  /** By autoscaler uid and container, since when something else than the published is so. */
  readonly #differing = new Map<string, ReadonlyMap<string, number>>();

  constructor(options: { readonly findWaiting: FindWaiting }) {
    this.#findWaiting = options.findWaiting;
  }

  readonly compute: ComputeSizes = (autoscaler, pods, { before, nowMs }) => {
    const sizes = summarizeSizes(Array.from(pods, (pod) => this.#listSizes(autoscaler, pod)));
    const known = this.#differing.get(autoscaler.uid);
    const differing = new Map<string, number>();
    const containers = nextContainers(before, sizes.containers, (name) => {
      const sinceMs = known?.get(name) ?? nowMs;
      const isLasting = nowMs - sinceMs >= LASTING_MS;
      if (!isLasting) differing.set(name, sinceMs);
      return isLasting;
    });
    this.#differing.set(autoscaler.uid, differing);
    return { ...sizes, containers };
  };

  forget(uid: string): void {
    this.#differing.delete(uid);
  }

  #listSizes(autoscaler: Autoscaler, pod: PodFacts): readonly ContainerSize[] {
    // map() makes an array of the right length. push() leaves room for 16 more, for each pod.
    return listContainers(autoscaler, pod).map((name) => {
      const container = findContainer(pod, name);
      const waiting = this.#findWaiting(autoscaler, pod, name);
      const current = container === null ? NO_RESOURCES : getCurrentSize(pod, container);
      return { name, current, wanted: waiting?.wanted ?? null, waiting: waiting?.reason ?? null };
    });
  }
}
