/** How many pods does a simulated workload have? One, or as many as its ScaledObject makes them. */
import { decideReplicas } from "../horizontal/decide.ts";
import { nextInitialResources, type ResourcesByContainer } from "../horizontal/initial_requests.ts";
import { computePodReadings, listHeldFields, type WorkloadPod } from "../horizontal/joint/pod_readings.ts";
import {
  MIN_SCALING_INTERVAL_MS,
  nextRates,
  type PodRates,
  SCALING_LOOP_MS,
  TargetUsage,
} from "../horizontal/pod_metrics.ts";
import { countReadyPods, toTolerance } from "../horizontal/replica_calculator.ts";
import type { SizeInput } from "../model/decision.ts";
import { canResizeRestart, type Disruption, isUnavailable } from "../model/disruption.ts";
import type { ReplicasObservation, ReplicasReport, Scale, TriggerReading } from "../model/replicas_decision.ts";
import { NEW_REPLICAS_STATE } from "../model/replicas_state.ts";
import { listResourceTriggers, type ResourceTrigger, type ScaledObjectFacts } from "../model/scaled_object.ts";
import { drawBetween } from "./model/random.ts";
import { SimPod, type SimPodOptions } from "./pod.ts";

/** What a workload is made of. */
interface WorkloadOptions extends Omit<SimPodOptions, "name" | "getContext"> {
  /** How many pods there are at the start. */
  readonly replicas: number;
  /** With triggers of CPU and memory alone; `null` = the number stays. */
  readonly scaledObject: ScaledObjectFacts | null;
}

/** So many pods from then on. */
interface ReplicaChange {
  /** Epoch ms. */
  readonly at: number;
  readonly replicas: number;
}

interface Member {
  readonly pod: SimPod;
  rates: PodRates | null;
  recorded: ResourcesByContainer | null;
}

/** From a new number to a pod that runs and is ready. */
const START_MS = [5_000, 15_000] as const;

/** Owns the pods, and what podfit remembers of the ScaledObject. */
export class Workload {
  readonly changes: ReplicaChange[] = [];
  readonly #options: WorkloadOptions;
  readonly #triggers: readonly ResourceTrigger[];
  readonly #members: Member[] = [];
  /** When pods that are on their way will run, epoch ms. */
  readonly #starting: number[] = [];
  #podsCreated = 0;
  #replicas: number;
  #state = NEW_REPLICAS_STATE;
  #tickAt: number;
  /** Since the last tick or look: no other look comes sooner than the one, and none without the other (R7). */
  #soonestAt = Infinity;
  #isFresh = false;
  /** `null` before the first tick. */
  #usage: TargetUsage | null = null;

  constructor(options: WorkloadOptions) {
    const { scaledObject, replicas, startedAt } = options;
    this.#options = options;
    this.#replicas = replicas;
    this.#tickAt = startedAt + SCALING_LOOP_MS;
    const object = scaledObject?.scaledObject ?? null;
    this.#triggers = object === null ? [] : listResourceTriggers(object);
    while (this.#members.length < replicas) this.#add(startedAt);
    if (object !== null) this.#see({ kind: "changed", scale: this.#scale }, startedAt);
  }

  /** Moves on by the second that begins at `from`, epoch ms. */
  passSecond(from: number, second: number): void {
    while ((this.#starting[0] ?? Infinity) <= from) {
      this.#starting.shift();
      this.#add(from);
    }
    const share = 1 / this.#members.length;
    for (const { pod } of this.#members) pod.passSecond(from, second, share);
    const to = from + 1000;
    if (this.#options.scaledObject !== null && (to >= this.#tickAt || this.#isRaising(to))) this.#tick(to);
  }

  get #scale(): Scale {
    const { length } = this.#members;
    return { replicas: this.#replicas, statusReplicas: length, resourceVersion: "1", uid: "workload" };
  }

  #tick(now: number): void {
    this.#tickAt = now + SCALING_LOOP_MS;
    this.#soonestAt = now + MIN_SCALING_INTERVAL_MS;
    this.#isFresh = false;
    const rates = this.#members.map((member) => member.rates);
    const report = this.#see(this.#look(now), now);
    const { behavior = null } = this.#options.scaledObject?.scaledObject ?? {};
    const tolerance = toTolerance(behavior).up;
    if (report !== null) this.#usage = new TargetUsage({ resources: this.#triggers, rates, report, tolerance });
  }

  /** Whether a tick would raise replicas now, as fresh usage has it: then it does not wait for its time (R7). */
  #isRaising(now: number): boolean {
    const { scaledObject: object } = this.#options;
    if (object === null || !this.#isFresh || now < this.#soonestAt) return false;
    this.#isFresh = false;
    this.#soonestAt = now + MIN_SCALING_INTERVAL_MS;
    const { maxReplicas = 0 } = object.scaledObject ?? {};
    if (this.#replicas === 0 || this.#replicas >= maxReplicas) return false;
    if (this.#usage?.compare() !== "raises") return false;
    const { write } = decideReplicas(this.#state, { now, object, observation: this.#look(now), dryRun: false });
    return write !== null && write.replicas > this.#replicas;
  }

  #look(now: number): ReplicasObservation {
    const pods = this.#members.map((one) => this.#toWorkloadPod(one));
    const triggers = new Map(
      this.#triggers.map((
        one,
      ): [number, TriggerReading] => [one.index, { kind: "pods", ...computePodReadings(one, pods, now) }]),
    );
    const readyPods = countReadyPods(pods.map(({ pod }) => pod));
    return { kind: "tick", scale: this.#scale, triggers, readyPods };
  }

  #see(observation: ReplicasObservation, now: number): ReplicasReport | null {
    const { scaledObject: object } = this.#options;
    if (object === null) return null;
    const { state, write, report } = decideReplicas(this.#state, { now, object, observation, dryRun: false });
    this.#state = state;
    if (write === null) return report;
    this.#scaleTo(write.replicas, now);
    this.#see({ kind: "answered", write, answer: { kind: "accepted", replicas: write.replicas } }, now);
    return report;
  }

  /** Pods that have not started go first, then the youngest. */
  #scaleTo(replicas: number, now: number): void {
    this.#replicas = replicas;
    while (this.#members.length + this.#starting.length < replicas) {
      const key = [this.#options.seed, "start", now, this.#starting.length];
      this.#starting.push(now + drawBetween(START_MS, key));
    }
    this.#starting.sort((a, b) => a - b);
    while (this.#members.length + this.#starting.length > replicas && this.#starting.length > 0) this.#starting.pop();
    if (this.#members.length <= replicas) return;
    this.#members.length = replicas;
    this.#noteReplicas(now);
  }

  /** Several pods can start at one time. */
  #noteReplicas(at: number): void {
    if (this.changes.at(-1)?.at === at) this.changes.pop();
    const replicas = this.#members.length;
    if (this.changes.at(-1)?.replicas !== replicas) this.changes.push({ at, replicas });
  }

  #add(at: number): void {
    const { template, onEvaluation } = this.#options;
    const name = this.#podsCreated === 0 ? template.name : `${template.name}-${this.#podsCreated}`;
    this.#podsCreated++;
    const member: Member = {
      rates: null,
      recorded: null,
      pod: new SimPod({
        ...this.#options,
        name,
        startedAt: at,
        getContext: (now) => this.#getContext(member, now),
        onEvaluation: (evaluation) => {
          const { observation, pod, now } = evaluation.input;
          if (this.#triggers.length > 0 && observation.kind === "usage") {
            const { usage, capacity } = observation;
            const rates = nextRates(member.rates, usage, { pod, readAt: now, capacity });
            if (rates !== member.rates) {
              this.#isFresh = true;
              this.#usage?.replace(member.rates, rates);
            }
            member.rates = rates;
          }
          onEvaluation(evaluation);
        },
      }),
    };
    this.#members.push(member);
    this.#noteReplicas(at);
  }

  #toWorkloadPod(member: Member): WorkloadPod {
    const { facts: pod, state } = member.pod;
    member.recorded = nextInitialResources(member.recorded, pod);
    const { autoscalers } = this.#options;
    const births = { recorded: member.recorded, revision: null, template: null };
    return { pod, rates: member.rates, initialResources: births, vertical: { state, matching: autoscalers } };
  }

  /** What the other replicas mean for a pod's size. Clauses: R86, L70. */
  #getContext(member: Member, now: number): Partial<SizeInput> | null {
    const { isScaleInPending, scaledInAt } = this.#state;
    const disruption = this.#findDisruption(member);
    if (!isScaleInPending && scaledInAt === null) return disruption === null ? null : { disruption };
    const scaleInPending = listHeldFields(this.#triggers, this.#toWorkloadPod(member), now);
    return {
      ...(isScaleInPending && { scaleInPending }),
      ...(scaledInAt !== null && { scaledInAt }),
      ...(disruption !== null && { disruption }),
    };
  }

  /** `null` where no resize restarts a container. A simulation has no PodDisruptionBudgets. */
  #findDisruption(member: Member): Disruption | null {
    if (!canResizeRestart(member.pod.facts)) return null;
    const others = this.#members.filter((one) => one !== member && isUnavailable(one.pod.facts));
    const example = others[0]?.pod.facts.name ?? null;
    return { pods: this.#members.length, unavailable: others.length, example, budgets: [] };
  }
}
