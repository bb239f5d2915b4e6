/**
 * What a cpu or memory trigger asks for (R33 to R37), and where its pods are resized in place as well, within which bounds it leaves replicas
 * alone (R83): `lo` by what the pods can grow to, `hi` by what they were born with.
 */
import type { ResourceTrigger } from "../../../scaled_object/trigger.ts";
import type { PodReading } from "../pod_reading.ts";
import { groupPods, type Groups } from "./groups.ts";
import { proposeByGroups, type Run } from "./plain_proposal.ts";
import type { Proposal } from "./proposal.ts";
import type { Tolerance } from "./tolerance.ts";

export interface PodsInput {
  /** All that the selector lists. */
  readonly pods: readonly PodReading[];
  /** spec.replicas, above 0. */
  readonly replicas: number;
  /** The tick's due time, epoch ms. */
  readonly now: number;
  readonly tolerance: Tolerance;
}

/** A failure is as the HPA controller words it. */
export function proposeByPods(trigger: ResourceTrigger, input: PodsInput): Proposal {
  const fail = (cause: string): Proposal => ({
    kind: "failed",
    reason: trigger.container === null ? "FailedGetResourceMetric" : "FailedGetContainerResourceMetric",
    message: `failed to get ${trigger.type} ${
      trigger.target.kind === "Utilization" ? "utilization" : "usage"
    }: ${cause}`,
  });
  const { pods, replicas, now, tolerance } = input;
  if (pods.length === 0) return fail("no pods returned by selector while calculating replica count");
  const groups = groupPods(pods, { type: trigger.type, now });
  if (groups.ready.length === 0) return fail("did not receive metrics for targeted pods (pods might be unready)");
  const problem = trigger.target.kind === "Utilization" ? findProblem(pods) : null;
  if (problem !== null) return fail(problem);
  const run = (yardstick: Yardstick, isRaised = false) =>
    proposeByGroups(groups, {
      target: trigger.target,
      replicas,
      tolerance,
      requestOf: (pod) => readYardsticks(pod)[yardstick],
      usageOf: (pod) => isRaised && pod.isClipped ? max(pod.metric.milli, readYardsticks(pod).full) : pod.metric.milli,
    });
  const born = run("born");
  if (born === null) return fail("no metrics returned matched known pods");
  const full = isSplit(groups) ? run("full") ?? born : born;
  const raised = born.replicas < replicas && groups.ready.some(({ isClipped }) => isClipped) ? run("born", true) : null;
  return project({ full, born, raised }, { replicas, groups });
}

type Yardstick = "born" | "full";

interface Runs {
  readonly full: Run;
  readonly born: Run;
  /** With the clipped pods' usage raised (R85); `null` where replicas would not fall, or no pod is clipped. */
  readonly raised: Run | null;
}

/** Out only when even full-grown pods would exceed the target, in only when even pods of birth size would fall short of it. */
function project(
  { full, born, raised }: Runs,
  { replicas, groups }: { readonly replicas: number; readonly groups: Groups },
): Proposal {
  const lo = Math.min(full.replicas, born.replicas);
  const hi = raised === null ? born.replicas : Math.max(born.replicas, Math.min(raised.replicas, replicas));
  const counts = { ready: groups.ready.length, unready: groups.unready.length, missing: groups.missing.length };
  const common = { kind: "proposal", lo, hi, ...counts } as const;
  if (replicas < lo) return { ...common, replicas: lo, ratio: full.ratio };
  if (replicas > hi) return { ...common, replicas: hi, ratio: (hi === born.replicas ? born : raised ?? born).ratio };
  const proposal = { ...common, replicas, ratio: full.ratio };
  if (born.replicas < replicas) return { ...proposal, hold: "VerticalUp" };
  return hi > replicas ? { ...proposal, hold: "VerticalFirst" } : proposal;
}

/** Where no pod can grow both runs are the same. */
function isSplit({ ready, unready, missing }: Groups): boolean {
  return [ready, unready, missing].some((group) =>
    group.some((pod) => readYardsticks(pod).born !== readYardsticks(pod).full)
  );
}

/** Of any pod, also those that do not count (R25). */
function findProblem(pods: readonly PodReading[]): string | null {
  for (const { requests } of pods) if ("problem" in requests) return requests.problem.message;
  return null;
}

function readYardsticks({ requests }: PodReading): Readonly<Record<Yardstick, bigint>> {
  return "problem" in requests ? NO_REQUESTS : requests;
}

/** An average value is held against none. */
const NO_REQUESTS = { born: 0n, full: 0n };

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
