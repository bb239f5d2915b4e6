/**
 * The whole fold on what hostile texts were parsed to: a pod, its autoscaler, its namespace's limits and its node's
 * summaries. Whatever comes in, what goes out is a size that the autoscaler allows, and a state that is plain JSON.
 */
import * as fc from "fast-check";
import type { PodResourceAutoscaler } from "../../../lib/api/autoscaler.ts";
import type { Pod } from "../../../lib/api/kubernetes.ts";
import type { Autoscaler } from "../../../lib/autoscaler/autoscaler.ts";
import { decide } from "../../../lib/core/decide.ts";
import type { Input, Observation } from "../../../lib/core/decision.ts";
import type { PodFacts } from "../../../lib/core/pod/pod_facts.ts";
import type { Answer, ResizeRequest } from "../../../lib/core/resize_request.ts";
import { NEW_POD_STATE, type PodState } from "../../../lib/core/state.ts";
import { Namespaces } from "../../../lib/daemon/inventory/namespaces.ts";
import { readAutoscaler } from "../../../lib/daemon/inventory/read_autoscaler.ts";
import {
  type LimitRange,
  readLimitRange,
  readQuota,
  type ResourceQuota,
} from "../../../lib/daemon/inventory/read_limits.ts";
import { readPod } from "../../../lib/daemon/inventory/read_pod.ts";
import * as v from "valibot";
import { inputSchema } from "../../../lib/record/input_schema.ts";
import { projectObject } from "../../../lib/kube/collection.ts";
import { resourceOf, UNIT } from "../../../lib/units/resources.ts";
import { formatTime } from "../../../lib/units/time.ts";
import { autoscalerObject, podObject } from "../../support/api_objects.ts";
import { edited, editedText } from "../hostile.ts";
import { must, target } from "../target.ts";
import { limitRange, quota } from "./objects.ts";
import { readSummary } from "./usage.ts";

const START = Date.UTC(2026, 10, 20, 11);
const UID = "uid-web-1";

function summaryAt(
  step: number,
  { millicores, memory }: { readonly millicores: number; readonly memory: number },
): unknown {
  const time = formatTime(START + step * 10_000);
  const usage = { time, workingSetBytes: memory, usageBytes: memory };
  const cpu = { time, usageCoreNanoSeconds: 1e9 + millicores * 1e7 * step };
  return {
    node: { nodeName: "node1" },
    pods: [{
      podRef: { uid: UID },
      memory: usage,
      containers: [{ name: "main", startTime: time, cpu, memory: usage }],
    }],
  };
}

/** Mostly honest, or nothing would ever be resized. */
const summary = fc.tuple(
  fc.nat(12),
  fc.constantFrom(1, 50, 150, 1200, 9000),
  fc.constantFrom(0, 2 ** 20, 120 * 2 ** 20, 2 ** 34),
)
  .chain(([step, millicores, memory]) => {
    const base = summaryAt(step, { millicores, memory });
    return fc.oneof(
      { weight: 4, arbitrary: fc.constant(JSON.stringify(base)) },
      { weight: 1, arbitrary: editedText([base]) },
    );
  });

const answer: fc.Arbitrary<Answer> = fc.constantFrom<Answer>(
  { kind: "accepted", generation: 2 },
  { kind: "accepted", generation: null },
  { kind: "conflict" },
  { kind: "gone" },
  { kind: "unconfirmed", message: "" },
  { kind: "refused", reason: "RetryLater", message: "", resources: [], waitMs: 1000 },
);

const spec = autoscalerObject();
const WHOLE = {
  ...spec,
  spec: {
    ...spec.spec,
    policy: {
      ...spec.spec.policy,
      consecutiveSamples: 1,
      cooldown: "0s",
      memory: { requests: spec.spec.policy.cpu.requests, limits: { ...spec.spec.policy.cpu.requests } },
    },
    bounds: { cpu: { requests: { min: "20m", max: "2", step: "400m" } }, memory: { limits: { max: "1Gi" } } },
  },
};

const fold = target({
  name: "fold",
  weight: 12,
  arbitrary: fc.record({
    pod: fc.oneof({ weight: 1, arbitrary: edited([podObject()]) }, {
      weight: 1,
      arbitrary: fc.constant<unknown>(podObject()),
    }),
    autoscaler: fc.oneof(edited([spec, WHOLE], { most: 2 }), fc.constant<unknown>(WHOLE)),
    range: fc.option(limitRange),
    quota: fc.option(quota),
    steps: fc.array(fc.record({ passMs: fc.constantFrom(0, 10_000, 60_000, 3_600_000, -7_200_000), summary, answer }), {
      minLength: 1,
      maxLength: 6,
    }),
  }),
  check(drawn) {
    const pod = projectObject(drawn.pod, { project: (one) => readPod(one as unknown as Pod) });
    const { autoscaler } = readAutoscaler(Object(drawn.autoscaler) as PodResourceAutoscaler);
    if (pod === null || autoscaler === null) return;
    const namespaces = new Namespaces();
    if (drawn.range !== null) namespaces.set(readLimitRange(drawn.range as LimitRange));
    if (drawn.quota !== null) namespaces.set(readQuota(drawn.quota as ResourceQuota));
    let state: PodState = NEW_POD_STATE;
    let now = START;
    for (const { passMs, summary: text, answer: came } of drawn.steps) {
      now += passMs;
      const around = { pod, autoscaler, now, limits: namespaces.read("shop") };
      state = observe(state, around, toObservation(text, now), came);
    }
    must(isDeepEqual(JSON.parse(JSON.stringify(state)), state), "a state that JSON does not keep");
  },
});

interface Around {
  readonly pod: PodFacts;
  readonly autoscaler: Autoscaler;
  readonly now: number;
  readonly limits: Input["limits"];
}

function toObservation(text: string, nodeNow: number): Observation {
  const reading = readSummary(text, nodeNow);
  const usage = reading.kind === "summary" ? reading.pods.get(UID) : undefined;
  if (usage === undefined) return { kind: "changed" };
  const capacity = { cpuMillicores: 8000, memoryBytes: 2 ** 35 };
  return { kind: "usage", usage, clockOffsetMs: 0, capacity };
}

function observe(before: PodState, around: Around, observation: Observation, came: Answer): PodState {
  const input: Input = {
    now: around.now,
    pod: around.pod,
    contenders: [around.autoscaler],
    observation,
    siblings: null,
    room: null,
    limits: around.limits,
    lowersMemoryLimits: true,
    inFlight: false,
    dryRun: false,
  };
  // Types are believed: those of built-in objects are the API server's promise.
  if (!v.is(inputSchema, input)) return before;
  const { state, request } = decide(before, input);
  if (request === null) return state;
  mustBeAllowed(request, around.autoscaler);
  return decide(state, { ...input, observation: { kind: "answered", request, answer: came } }).state;
}

/** Within bounds where it was so before, a request never above its limit, and whole. */
function mustBeAllowed({ from, to, changes, action }: ResizeRequest, { sides }: Autoscaler): void {
  for (const resource of ["cpu", "memory"] as const) {
    const [request, limit] = [to[`${resource}.requests`], to[`${resource}.limits`]];
    if (request !== null && limit !== null) must(request <= limit, `${resource} ${request} above ${limit}`);
  }
  for (const key of changes) {
    const [before, after, rule] = [from[key], to[key], sides.find((side) => side.key === key)];
    must(after !== null && Number.isSafeInteger(after) && after >= UNIT[resourceOf(key)], `${key} becomes ${after}`);
    must(rule !== undefined && before !== null, `${key} is not managed`);
    if (action === "revert") continue;
    const [min, max] = [rule.bounds.min ?? 0, rule.bounds.max ?? Infinity];
    if (before >= min && before <= max) {
      must(after >= min && after <= max, `${key} ${after} is not in ${min} to ${max}`);
    }
  }
}

function isDeepEqual(a: unknown, b: unknown): boolean {
  // -0 is written as 0, and as much.
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  const [keys, others] = [Object.keys(a), Object.keys(b)];
  return keys.length === others.length &&
    keys.every((key) => isDeepEqual(a[key as keyof typeof a], b[key as keyof typeof b]));
}

export const FOLD_TARGETS = [fold];
