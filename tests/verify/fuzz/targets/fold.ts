/**
 * The whole fold on what hostile texts were parsed to: a pod, its autoscaler, its namespace's limits and its node's
 * summaries. Whatever comes in, what goes out is a size that the autoscaler allows, and a state that is plain JSON.
 */
import * as fc from "fast-check";
import type { PodResourceAutoscaler } from "../../../../lib/api/autoscaler.ts";
import type { Pod } from "../../../../lib/api/kubernetes.ts";
import type { Autoscaler } from "../../../../lib/model/autoscaler.ts";
import { decideSize } from "../../../../lib/vertical/decide.ts";
import type { Observation, SizeInput } from "../../../../lib/model/decision.ts";
import type { PodFacts } from "../../../../lib/model/pod.ts";
import type { Answer, ResizeRequest } from "../../../../lib/model/resize_request.ts";
import { NEW_POD_STATE, type PodState } from "../../../../lib/model/state.ts";
import {
  type LimitRange,
  NamespaceLimitsCache,
  parseLimitRange,
  parseQuota,
  type ResourceQuota,
} from "../../../../lib/daemon/cluster/capacity.ts";
import { parseAutoscalerFacts } from "../../../../lib/daemon/cluster/parse_objects.ts";
import { parsePod } from "../../../../lib/daemon/cluster/parse_pod.ts";
import * as v from "valibot";
import { inputSchema } from "../../../../lib/record/pod_schema.ts";
import { projectObject } from "../../../../lib/kube/list.ts";
import { isDeepEqual } from "../../../../lib/units/equality.ts";
import { RESIZE_UNIT, resourceOf, type Resources } from "../../../../lib/units/resources.ts";
import { formatTime } from "../../../../lib/units/time.ts";
import { autoscalerObject, podObject } from "../../../support/api_objects.ts";
import { edited } from "../hostile.ts";
import { must, target } from "../target.ts";
import { limitRange, quota } from "./objects.ts";
import { readSummary } from "./usage.ts";

const START = Date.UTC(2026, 10, 20, 11);
const UID = "uid-web-1";

/** What passes until the next summary, what the container uses meanwhile, and what becomes of the text. */
interface Step {
  readonly passMs: number;
  /** By how much the wall clock is set, ms. */
  readonly setMs: number;
  readonly millicores: number;
  readonly memory: number;
  readonly spoilt: { readonly at: number; readonly remove: number; readonly text: string } | null;
  readonly answer: Answer;
}

const SPOILS = ["", "0", "9", "-", "1e300", "null", "{}", "[]", '"', ",", "}", "2099"];

/** Mostly honest, or nothing would ever be resized. */
const step: fc.Arbitrary<Step> = fc.record({
  passMs: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(10_000, 15_000, 60_000) },
    { weight: 1, arbitrary: fc.constantFrom(0, 3_600_000) },
  ),
  setMs: fc.oneof({ weight: 8, arbitrary: fc.constant(0) }, {
    weight: 1,
    arbitrary: fc.constantFrom(3_600_000, -7_200_000),
  }),
  millicores: fc.constantFrom(1, 50, 150, 400, 1200, 9000),
  memory: fc.constantFrom(0, 2 ** 20, 120 * 2 ** 20, 250 * 2 ** 20, 2 ** 34),
  spoilt: fc.option(
    fc.record({ at: fc.nat(500), remove: fc.nat(12), text: fc.constantFrom(...SPOILS) }),
    { nil: null, freq: 4 },
  ),
  answer: fc.constantFrom<Answer>(
    { kind: "accepted", generation: 2 },
    { kind: "accepted", generation: null },
    { kind: "conflict" },
    { kind: "gone" },
    { kind: "unconfirmed", message: "" },
    { kind: "refused", reason: "RetryLater", message: "", resources: [], waitMs: 1000 },
  ),
});

function toText(
  { memory, spoilt }: Step,
  { now, counterNs }: { readonly now: number; readonly counterNs: number },
): string {
  const time = formatTime(now);
  const usage = { time, workingSetBytes: memory, usageBytes: memory };
  const cpu = { time, usageCoreNanoSeconds: counterNs };
  const containers = [{ name: "main", startTime: "2026-11-20T10:00:00Z", cpu, memory: usage }];
  const text = JSON.stringify({
    node: { nodeName: "node1" },
    pods: [{ podRef: { uid: UID }, memory: usage, containers }],
  });
  if (spoilt === null) return text;
  const at = spoilt.at % text.length;
  return text.slice(0, at) + spoilt.text + text.slice(at + spoilt.remove);
}

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

/** A pod, its autoscaler, what its namespace allows, and what happens to it. */
export const lives = fc.record({
  pod: fc.oneof(edited([podObject()]), fc.constant<unknown>(podObject())),
  autoscaler: fc.oneof(edited([spec, WHOLE], { most: 2 }), fc.constant<unknown>(WHOLE)),
  range: fc.option(limitRange, { freq: 2 }),
  quota: fc.option(quota, { freq: 2 }),
  steps: fc.array(step, { minLength: 2, maxLength: 8 }),
});
type Life = typeof lives extends fc.Arbitrary<infer T> ? T : never;

const fold = target<Life>({ name: "fold", weight: 12, arbitrary: lives, check: (life) => void playLife(life) });

/** Throws where something comes out that must not; gives how many resizes were asked for. */
export function playLife(drawn: Life): number {
  const pod = projectObject(drawn.pod, { project: (one) => parsePod(one as unknown as Pod) });
  const { autoscaler } = parseAutoscalerFacts(Object(drawn.autoscaler) as PodResourceAutoscaler);
  if (pod === null || autoscaler === null || !isPossible(pod)) return 0;
  const namespaces = new NamespaceLimitsCache();
  if (drawn.range !== null) namespaces.set(parseLimitRange(drawn.range as LimitRange));
  if (drawn.quota !== null) namespaces.set(parseQuota(drawn.quota as ResourceQuota));
  let state: PodState = NEW_POD_STATE;
  let [now, wallAheadMs, counterNs, requests] = [START, 0, 1e9, 0];
  for (const one of drawn.steps) {
    now += one.passMs;
    wallAheadMs += one.setMs;
    // A millicore for a millisecond is 1000 ns.
    counterNs += one.millicores * 1000 * one.passMs;
    const around = { pod, autoscaler, now, wallAheadMs, limits: namespaces.find("shop", () => false) };
    const turn = observe(state, around, toObservation(toText(one, { now, counterNs }), now), one.answer);
    state = turn.state;
    requests += turn.requests;
  }
  must(isDeepEqual(JSON.parse(JSON.stringify(state)), state), "a state that JSON does not keep");
  return requests;
}

/** No API server has a pod whose request is above its limit: what becomes of one is nobody's promise. */
function isPossible({ containers }: PodFacts): boolean {
  return containers.every(({ spec, reported }) =>
    isWithinLimits(spec) && (reported === null || isWithinLimits(reported))
  );
}

function isWithinLimits(size: Resources): boolean {
  return (["cpu", "memory"] as const).every((resource) =>
    (size[`${resource}.requests`] ?? 0) <= (size[`${resource}.limits`] ?? Infinity)
  );
}

interface Turn {
  readonly state: PodState;
  readonly requests: number;
}

interface Around {
  readonly pod: PodFacts;
  readonly autoscaler: Autoscaler;
  readonly now: number;
  readonly wallAheadMs: number;
  readonly limits: SizeInput["limits"];
}

function toObservation(text: string, nodeNow: number): Observation {
  const reading = readSummary(text, nodeNow);
  const usage = reading.kind === "summary" ? reading.pods.get(UID) : undefined;
  if (usage === undefined) return { kind: "changed" };
  const capacity = { cpuMillicores: 8000, memoryBytes: 2 ** 35 };
  return { kind: "usage", usage, clockOffsetMs: 0, capacity };
}

function observe(before: PodState, around: Around, observation: Observation, came: Answer): Turn {
  const input: SizeInput = {
    now: around.now,
    wallAheadMs: around.wallAheadMs,
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
  if (!v.is(inputSchema, input)) return { state: before, requests: 0 };
  const { state, request } = decideSize(before, input);
  if (request === null) return { state, requests: 0 };
  mustBeAllowed(request, around.autoscaler);
  const answered = decideSize(state, { ...input, observation: { kind: "answered", request, answer: came } });
  return { state: answered.state, requests: 1 };
}

/** Within bounds where it was so before, a request never above its limit, and whole. */
function mustBeAllowed({ from, to, changes, action }: ResizeRequest, { sides }: Autoscaler): void {
  must(isWithinLimits(to), "a request goes above its limit");
  for (const key of changes) {
    const [before, after, rule] = [from[key], to[key], sides.find((side) => side.key === key)];
    must(
      after !== null && Number.isSafeInteger(after) && after >= RESIZE_UNIT[resourceOf(key)],
      `${key} becomes ${after}`,
    );
    must(rule !== undefined && before !== null, `${key} is not managed`);
    if (action === "revert") continue;
    const [min, max] = [rule.bounds.min ?? 0, rule.bounds.max ?? Infinity];
    if (before >= min && before <= max) {
      must(after >= min && after <= max, `${key} ${after} is not in ${min} to ${max}`);
    }
  }
}

export const FOLD_TARGETS = [fold];
