/**
 * The pods of a run: one, or as many as the ScaledObject of their workload makes them, by the fold that the daemon scales
 * with. They share the load evenly.
 */
import type { Input } from "../../core/decision.ts";
import { nextRecord, type Sizes } from "../../core/replicas/births.ts";
import { listCoupledSides } from "../../core/replicas/coupling.ts";
import { decideReplicas } from "../../core/replicas/decide.ts";
import {
  isAboveTarget,
  readTargetUsage,
  SOONEST_TICK_MS,
  type TargetUsage,
  TICK_MS,
  type TriggerUsage,
} from "../../core/replicas/early_tick.ts";
import type { ReplicasObservation, Scale, TriggerReading } from "../../core/replicas/input.ts";
import { NEW_REPLICAS_STATE } from "../../core/replicas/new_state.ts";
import { nextRates, type PodRates } from "../../core/replicas/rates.ts";
import { readPods } from "../../core/replicas/read_pods.ts";
import { countReadyPods } from "../../core/replicas/ready_pods.ts";
import type { ReplicasReport } from "../../core/replicas/report.ts";
import type { WorkloadPod } from "../../core/replicas/workload_pod.ts";
import { listResourceTriggers } from "../../scaled_object/list_triggers.ts";
import type { ScaledObjectFacts } from "../../scaled_object/scaled_object.ts";
import type { ResourceTrigger } from "../../scaled_object/trigger.ts";
import { drawBetween } from "../../sim/model/random.ts";
import { SimPod, type SimPodOptions } from "./pod.ts";

/** What a workload is made of. */
export interface WorkloadOptions extends Omit<SimPodOptions, "name" | "readSurroundings"> {
  /** How many pods there are at the start. */
  readonly replicas: number;
  /** With triggers of CPU and memory alone; `null` = the number stays. */
  readonly scaledObject: ScaledObjectFacts | null;
}

/** So many pods from then on. */
export interface ReplicaChange {
  /** Epoch ms. */
  readonly at: number;
  readonly replicas: number;
}

interface Member {
  readonly pod: SimPod;
  rates: PodRates | null;
  recorded: Sizes | null;
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
  #born = 0;
  #replicas: number;
  #state = NEW_REPLICAS_STATE;
  #tickAt: number;
  /** Since the last tick or look: no other look comes sooner than the one, and none without the other (R7). */
  #soonestAt = Infinity;
  #isFresh = false;
  #targets: TargetUsage = new Map();

  constructor(options: WorkloadOptions) {
    const { scaledObject, replicas, startedAt } = options;
    this.#options = options;
    this.#replicas = replicas;
    this.#tickAt = startedAt + TICK_MS;
    const object = scaledObject?.scaledObject ?? null;
    this.#triggers = object === null ? [] : listResourceTriggers(object);
    while (this.#members.length < replicas) this.#add(startedAt);
    if (object !== null) this.#see({ kind: "changed", scale: this.#scale }, startedAt);
  }

  /** Lets the second pass that begins at `from`, epoch ms. */
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
    this.#tickAt = now + TICK_MS;
    this.#soonestAt = now + SOONEST_TICK_MS;
    this.#isFresh = false;
    const usage = this.#readUsage();
    const report = this.#see(this.#look(now), now);
    if (report !== null) this.#targets = readTargetUsage(usage, report);
  }

  /** Whether a tick would raise replicas now, as fresh usage has it: then it does not wait for its time (R7). */
  #isRaising(now: number): boolean {
    const { scaledObject: object } = this.#options;
    if (object === null || !this.#isFresh || now < this.#soonestAt) return false;
    this.#isFresh = false;
    this.#soonestAt = now + SOONEST_TICK_MS;
    const { maxReplicas = 0 } = object.scaledObject ?? {};
    if (this.#replicas === 0 || this.#replicas >= maxReplicas || !isAboveTarget(this.#readUsage(), this.#targets)) {
      return false;
    }
    const { write } = decideReplicas(this.#state, { now, object, observation: this.#look(now), dryRun: false });
    return write !== null && write.replicas > this.#replicas;
  }

  #readUsage(): TriggerUsage {
    return { resources: this.#triggers, rates: this.#members.map(({ rates }) => rates) };
  }

  #look(now: number): ReplicasObservation {
    const pods = this.#members.map((one) => this.#toWorkloadPod(one));
    const triggers = new Map(
      this.#triggers.map((one): [number, TriggerReading] => [one.index, { kind: "pods", ...readPods(one, pods, now) }]),
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
    this.changes.push({ at: now, replicas });
  }

  #add(at: number): void {
    const { template, onEvaluation } = this.#options;
    const name = this.#born === 0 ? template.name : `${template.name}-${this.#born}`;
    this.#born++;
    const member: Member = {
      rates: null,
      recorded: null,
      pod: new SimPod({
        ...this.#options,
        name,
        startedAt: at,
        readSurroundings: (now) => this.#readSurroundings(member, now),
        onEvaluation: (evaluation) => {
          const { observation, pod, now } = evaluation.input;
          if (this.#triggers.length > 0 && observation.kind === "usage") {
            const { usage, capacity } = observation;
            const rates = nextRates(member.rates, usage, { pod, readAt: now, capacity });
            if (rates !== member.rates) this.#isFresh = true;
            member.rates = rates;
          }
          onEvaluation(evaluation);
        },
      }),
    };
    this.#members.push(member);
    this.changes.push({ at, replicas: this.#members.length });
  }

  #toWorkloadPod(member: Member): WorkloadPod {
    const { facts: pod, state } = member.pod;
    member.recorded = nextRecord(member.recorded, pod);
    const { contenders } = this.#options;
    const births = { recorded: member.recorded, revision: null, template: null };
    return { pod, rates: member.rates, births, vertical: { state, contenders } };
  }

  /** What replicas mean for a pod's size (R86). */
  #readSurroundings(member: Member, now: number): Partial<Input> | null {
    const { isScaleInPending, scaledInAt } = this.#state;
    if (!isScaleInPending && scaledInAt === null) return null;
    const scaleInPending = listCoupledSides(this.#triggers, this.#toWorkloadPod(member), now);
    return { ...(isScaleInPending && { scaleInPending }), ...(scaledInAt !== null && { scaledInAt }) };
  }
}
