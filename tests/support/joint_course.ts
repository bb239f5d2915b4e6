/**
 * Both halves of podfit over one Deployment on an embedded cluster: its pods share a load that steps once and then stays as it is, and limits equal
 * requests. What became of its replicas and sizes is listed from the step on.
 */
import { autoscaler, deployment } from "../e2e/support/workloads.ts";
import type { Json } from "./api_objects.ts";
import { parseAmount } from "../../lib/units/quantity.ts";
import { ReplicasRun, scaledObject } from "./replicas_run.ts";

export interface JointCourse {
  /** Millicores that a pod is born with, requests and limits alike, and the most that either can grow to. */
  readonly born: number;
  readonly full: number;
  /** Of utilization. */
  readonly target: number;
  readonly replicas: number;
  readonly min: number;
  /** Millicores in all, before the step and from it on. */
  readonly load: readonly [before: number, after: number];
  readonly leaderPart: number;
  /** Part of a pod's share by which it moves. */
  readonly noise: number;
  /** Of the autoscaler, beside what it is about: its policy or profile. */
  readonly rules: Json;
  /** Of the cpu trigger. */
  readonly metadata?: Json;
  /** How long it goes on after the step; 2 h by default. */
  readonly seconds?: number;
}

/** From the step on. */
export interface CourseRun {
  readonly replicas: readonly number[];
  /** Millicores requested by each pod, in the order of their start. */
  readonly sizes: readonly (readonly number[])[];
  /** Messages and reasons of podfit's log. */
  readonly reasons: ReadonlySet<string>;
  readonly errors: readonly unknown[];
}

const SETTLING_SECONDS = 900;
const LOOK_SECONDS = 15;
const MAX_REPLICAS = 30;

export async function runCourse(course: JointCourse): Promise<CourseRun> {
  await using run = await startCourse(course);
  shareLoad(run, course, 0);
  await run.advance(SETTLING_SECONDS);
  shareLoad(run, course, 1);
  const replicas = [await run.replicas()];
  const sizes = new Map<string, number[]>();
  for (let at = 0; at < (course.seconds ?? 7_200); at += LOOK_SECONDS) {
    await run.advance(LOOK_SECONDS);
    replicas.push(await run.replicas());
    for (const [pod, size] of await readSizes(run)) sizes.set(pod, [...sizes.get(pod) ?? [], size]);
  }
  const reasons = new Set(run.podfit.log.flatMap(({ reason }) => typeof reason === "string" ? [reason] : []));
  return { replicas, sizes: [...sizes.values()], reasons, errors: run.cluster.errors };
}

/** Its objects are there, and nothing is used yet. */
export function startCourse(course: JointCourse): Promise<ReplicasRun> {
  return ReplicasRun.start(toObjects(course), {
    nodes: [{ cpuMillicores: 64_000, memoryBytes: 256 * 2 ** 30, stepMs: 15_000 }],
  });
}

/** Sets the load of before the step, or of after it. */
export function shareLoad({ cluster: { cluster } }: ReplicasRun, course: JointCourse, stage: 0 | 1): void {
  cluster.setWorkloadLoad({ namespace: "default", labels: { app: "web" } }, {
    cpuMillicores: course.load[stage],
    leaderPart: course.leaderPart,
    noise: { part: course.noise, stepMs: 30_000 },
  });
}

/** Millicores requested, by the UID of pods that are not being deleted. */
export async function readSizes({ cluster }: ReplicasRun): Promise<ReadonlyMap<string, number>> {
  const pods = (await cluster.list("pods")).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  return new Map(pods.map(({ metadata, spec }) => [
    metadata.uid,
    readMillicores(spec.containers[0].resources.requests.cpu),
  ]));
}

function toObjects(course: JointCourse): readonly Json[] {
  const { born, full, target, replicas, min, rules, metadata } = course;
  const size = { cpu: `${born}m`, memory: "128Mi" };
  const bounds = { min: "50m", max: `${full}m` };
  return [
    deployment("web", { containers: [{ requests: size, limits: size }], replicas }),
    autoscaler("web", {
      target: { kind: "deployment", name: "web" },
      containerName: "main",
      bounds: { cpu: { requests: bounds, limits: bounds } },
      ...rules,
    }),
    scaledObject("web", [{
      type: "cpu",
      metricType: "Utilization",
      metadata: { value: String(target), ...metadata },
    }], { spec: { minReplicaCount: min, maxReplicaCount: MAX_REPLICAS } }),
  ];
}

function readMillicores(quantity: string): number {
  const parsed = parseAmount(quantity, "cpu");
  if (!parsed.ok) throw new Error(`Cannot read "${quantity}": ${parsed.message}`);
  return parsed.amount;
}
