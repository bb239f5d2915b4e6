/**
 * What does the status of an autoscaler follow from? Its spec, its pods, limits, recommendations and the status stored
 * before. The rules that turn these facts into conditions are elsewhere, and pure.
 */
import type { Action, Autoscaler } from "../../model/autoscaler.ts";
import { isOfSidecar } from "../../model/ownership.ts";
import { findContainer, isResized, MAX_POD_CONTAINERS, type PodFacts } from "../../model/pod.ts";
import { formatProblems, type LimitReason, type NoticeName } from "../../model/reasons.ts";
import type { PodState, ReadableState } from "../../model/state.ts";
import { toEffectivePolicy } from "../../resources/pod_resource_autoscaler/profiles.ts";
import {
  computeMaxSize,
  computeMedianSize,
  computeMinSize,
  type ContainerStatus,
  MAX_CONTAINERS,
  type PodSizes,
} from "../../resources/pod_resource_autoscaler/sizes.ts";
import {
  type AutoscalerStatus,
  type Condition,
  describeContainer,
  isInFuture,
  type LastScale,
  type LimitFacts,
  nextRecommended,
  type Recommended,
  type StatusFacts,
} from "../../resources/pod_resource_autoscaler/status.ts";
import type { Resources } from "../../units/resources.ts";
import { isRecord, type Problem } from "../../units/untrusted.ts";
import { findScaleUpLimit } from "../../vertical/outcome.ts";
import { findRecommendedSize, getStateFor, listViewsOf } from "../../vertical/recommend.ts";
import type { AutoscalerFacts, Mode, Resolution } from "../cluster/facts.ts";
import { toStableText } from "../health.ts";
import type { EvaluationSink } from "../pods/controller.ts";

/** What a status depends on, in addition to the autoscaler itself. */
export interface StatusSources {
  readonly resolution: Resolution;
  /** The stale resource; none by default. */
  readonly stale?: string | null;
  /** `null` = only the podfits of the pods know it. */
  readonly unread: { readonly count: number; readonly why: string } | null;
  readonly limits: LimitFacts;
  readonly recommended: readonly Recommended[] | null;
  /** `null` if not all pods are seen. */
  readonly sizes: PodSizes | null;
  readonly isNodeLocal: boolean;
  /** The last resize of this process. The one in the status may be newer, or from before a restart. */
  readonly lastScale: LastScale | null;
  readonly now: number;
}

/** Returns the facts from which `nextStatus` computes the status. */
export function toStatusFacts(
  parsed: AutoscalerFacts,
  { resolution, stale = null, unread, limits, recommended, sizes, isNodeLocal, lastScale, now }: StatusSources,
): StatusFacts {
  const { autoscaler, status, generation, problems, warnings } = parsed;
  const { selector, matched, oversized, tracked } = resolution;
  const crowdedOut = resolution.countCrowdedOut();
  return {
    generation,
    stale,
    problems,
    warnings: [
      ...warnings,
      ...(crowdedOut === 0 ? [] : [toCrowdWarning(crowdedOut)]),
      ...(oversized === 0 ? [] : [toOversizedWarning(parsed, oversized)]),
    ],
    paused: autoscaler?.paused ?? false,
    missingTarget: describeMissing(parsed, resolution),
    selector: selector?.source ?? null,
    containerName: autoscaler?.containerName ?? "",
    matched,
    tracked: tracked.size,
    unread: unread?.count ?? 0,
    unreadWhy: toStableText(unread?.why ?? ""),
    limits,
    recommended,
    sizes,
    isNodeLocal,
    isUsageElsewhere: unread === null,
    lastScale: findNewestScale(lastScale, findLastScale(parseStatus(status)), now),
    cooldownMs: autoscaler?.cooldownMs ?? 0,
    effectivePolicy: autoscaler === null || autoscaler.profile === null ? null : toEffectivePolicy(autoscaler),
  };
}

function toCrowdWarning(crowdedOut: number): Problem {
  const pods = crowdedOut === 1 ? "1 of its pods has" : `${crowdedOut} of its pods have`;
  return {
    path: "spec.priority",
    message:
      `${pods} as many autoscalers of higher rank for the container as podfit asks (--max-contenders): raise the ` +
      "priority, or delete some",
  };
}

function toOversizedWarning({ autoscaler }: AutoscalerFacts, oversized: number): Problem {
  const pods = oversized === 1 ? "1 matching pod has" : `${oversized} matching pods have`;
  return {
    path: autoscaler?.target ? "spec.target" : "spec.selector",
    message: `${pods} more than ${MAX_POD_CONTAINERS} containers, and podfit leaves such pods as they are: use fewer ` +
      "containers in one pod",
  };
}

/**
 * Returns the newer of two resizes. A time in the future comes from a clock that was set back later, so the other
 * resize is newer then.
 */
export function findNewestScale(a: LastScale | null, b: LastScale | null, now: number): LastScale | null {
  if (a === null || b === null) return a ?? b;
  if (isInFuture(a, now) !== isInFuture(b, now)) return isInFuture(a, now) ? b : a;
  return a.at >= b.at ? a : b;
}

/** Returns the notice for the state of the spec, and its message; `null` if the spec works. */
export function findSpecNotice(facts: StatusFacts): readonly [NoticeName | null, string] {
  const [first] = facts.problems;
  if (first !== undefined) return [first.reason ?? "InvalidSpec", formatProblems(facts.problems)];
  if (facts.missingTarget !== null && !facts.paused) return ["TargetNotFound", facts.missingTarget];
  if (facts.matched > 0 && facts.tracked === 0) {
    return ["ContainerNotFound", `no matching pod has ${describeContainer(facts)}`];
  }
  return [null, ""];
}

function describeMissing(
  { autoscaler }: AutoscalerFacts,
  { isTargetMissing, targetProblems }: Resolution,
): string | null {
  if (!isTargetMissing || !autoscaler?.target) return null;
  const target = `${autoscaler.target.kind} "${autoscaler.target.name}"`;
  return targetProblems.length === 0
    ? `${target} does not exist`
    : `${target} has a selector that cannot be used: ${formatProblems(targetProblems)}`;
}

function findLastScale(
  { lastScaleTime, lastScaleAction, lastScaleResourceChange }: AutoscalerStatus,
): LastScale | null {
  const at = Date.parse(lastScaleTime ?? "");
  if (Number.isNaN(at) || lastScaleAction === undefined) return null;
  return { at, action: lastScaleAction, change: lastScaleResourceChange ?? "" };
}

/**
 * Returns the valid parts of a stored status. An older CRD or a manual edit may have left anything there; the next
 * status replaces what is invalid. Never throws. Clauses: C8, C51.
 */
export function parseStatus(stored: unknown): AutoscalerStatus {
  if (!isRecord(stored)) return {};
  const { conditions, containers, lastScaleTime, lastScaleAction, lastScaleResourceChange } = stored;
  return {
    conditions: Array.isArray(conditions) ? conditions.filter(isCondition) : [],
    ...(isTime(lastScaleTime) && isAction(lastScaleAction) && {
      lastScaleTime,
      lastScaleAction,
      lastScaleResourceChange: typeof lastScaleResourceChange === "string" ? lastScaleResourceChange : "",
    }),
    ...(Array.isArray(containers) && containers.every(isContainer) && { containers }),
  };
}

/** Checks the fields from which the next status is computed. */
function isCondition(value: unknown): value is Condition {
  return isRecord(value) && typeof value.type === "string" && typeof value.status === "string" &&
    isTime(value.lastTransitionTime);
}

/** Checks the fields that are compared with new ones. Amounts are parsed when they are compared. */
function isContainer(value: unknown): value is ContainerStatus {
  return isRecord(value) && typeof value.name === "string" && isRecord(value.current) &&
    (value.wanted === undefined || isRecord(value.wanted));
}

/** The format of the API server; Date.parse alone accepts far more. */
function isTime(value: unknown): value is string {
  return typeof value === "string" && RFC3339.test(value) && !Number.isNaN(Date.parse(value));
}

function isAction(value: unknown): value is Action {
  return value === "scaleUp" || value === "scaleDown";
}

const RFC3339 = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.][0-9]{1,9})?(?:Z|[+-][0-9]{2}:[0-9]{2})$/;

/**
 * Counts the pods that need more and are held by a limit that does not end without a change. Each pod counts once,
 * under the first reason of its containers.
 */
export type CountLimited = (autoscaler: Autoscaler, pods: Iterable<PodFacts>) => LimitFacts;

/** Returns a counter that uses the state of each pod's last evaluation. Clauses: L53. */
export function createCountLimited(readStanding: (uid: string) => ReadableState | null): CountLimited {
  return (autoscaler, pods) => {
    let first: LimitFacts["first"] = null;
    let reasons: Map<string, number> | null = null;
    for (const pod of pods) {
      const reason = findLimitReason(autoscaler, pod, readStanding(pod.uid));
      if (reason === null) continue;
      first ??= { pod: pod.name, reason };
      reasons ??= new Map();
      reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    }
    return { first, reasons: reasons ?? NO_REASONS };
  };
}

const NO_REASONS: ReadonlyMap<string, number> = new Map();

function findLimitReason(autoscaler: Autoscaler, pod: PodFacts, state: ReadableState | null): LimitReason | null {
  if (state === null) return null;
  for (const view of listViewsOf(autoscaler, pod, getStateFor(autoscaler, state))) {
    const reason = findScaleUpLimit(view);
    if (reason !== null) return reason;
  }
  return null;
}

/** Returns a sink that passes on the uid of each autoscaler for which an evaluation has begun, ended or changed a limit. */
export function createLimitedSink(onChange: (uid: string) => void): EvaluationSink {
  return ({ before, input: { contenders }, outcome: { state } }) => {
    if (state.views === before.views) return;
    for (const { key, uid } of contenders) {
      if (findScaleUpLimit(state.views[key]) !== findScaleUpLimit(before.views[key])) onChange(uid);
    }
  };
}

/** Returns what an autoscaler recommends; `null` if its mode is not `recommend`. */
export type ComputeRecommended = (autoscaler: Autoscaler, pods: Iterable<PodFacts>) => readonly Recommended[] | null;

/**
 * Computes `status.recommendations` from the recommended states of the pods. Small changes since the last published
 * value are not published. Clauses: L51.
 */
export class Recommendations {
  readonly #findState: (uid: string) => PodState | null;
  readonly #published = new Map<string, readonly Recommended[]>();

  constructor(options: { readonly readState: (uid: string) => PodState | null }) {
    this.#findState = options.readState;
  }

  readonly compute: ComputeRecommended = (autoscaler, pods) => {
    const { uid, mode } = autoscaler;
    if (mode !== "recommend") {
      this.#published.delete(uid);
      return null;
    }
    const published = nextRecommended(this.#published.get(uid) ?? null, this.#gather(autoscaler, pods));
    this.#published.set(uid, published);
    return published;
  };

  forget(uid: string): void {
    this.#published.delete(uid);
  }

  /** Gathers sizes by container name. A pod counts after its first sample. */
  #gather(autoscaler: Autoscaler, pods: Iterable<PodFacts>): readonly Recommended[] {
    const seen = new Map<string, { readonly sizes: Resources[]; template: Resources | null }>();
    for (const pod of pods) {
      const state = this.#findState(pod.uid);
      if (state === null || state.shadow === null) continue;
      for (const { container: name, sampling } of listViewsOf(autoscaler, pod, state.shadow.state)) {
        const container = findContainer(pod, name);
        if (container === null || sampling.sample === null) continue;
        const one = seen.get(name) ?? { sizes: [], template: null };
        seen.set(name, one);
        one.sizes.push(findRecommendedSize(state.shadow.sizes, name) ?? container.spec);
        if (!isResized(pod, name)) one.template = container.spec;
      }
    }
    return [...seen].sort(([a], [b]) => a < b ? -1 : 1).slice(0, MAX_CONTAINERS).map(([container, of]) => ({
      container,
      min: computeMinSize(of.sizes),
      median: computeMedianSize(of.sizes),
      max: computeMaxSize(of.sizes),
      template: of.template,
    }));
  }
}

/**
 * Returns whether a podfit of this mode writes the status of an autoscaler that tracks these pods. A sidecar writes it
 * if all pods have sidecars, the others write it if any pod has none. Without pods, both compute the same status and
 * either writes it. Clauses: C51.
 */
export function isStatusOurs(mode: Mode, pods: Iterable<Pick<PodFacts, "labels">>): boolean {
  let hasPods = false;
  for (const pod of pods) {
    if (!isOfSidecar(pod)) return mode !== "sidecar";
    hasPods = true;
  }
  return !hasPods || mode === "sidecar";
}
