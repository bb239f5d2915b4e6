/**
 * A timeline over `decideSize` for one pod: containers use cpu and memory, time passes in polls, the pod changes, orders
 * are sent and answered. By default an order is accepted and enacted at once, as a healthy node does it.
 */
import { assessAutoscaler } from "../../lib/vertical/explain.ts";
import type { Point } from "../../lib/api/usage.ts";
import { decideSize } from "../../lib/vertical/decide.ts";
import type { ContainerDecision, Observation, ScaleAction, SizeInput, SizeOutcome } from "../../lib/model/decision.ts";
import type { Answer, ResizeRequest } from "../../lib/model/resize_request.ts";
import type { FieldAssessment } from "../../lib/vertical/proposals.ts";
import {
  type ContainerFacts,
  findContainer,
  type PodFacts,
  type Siblings,
  type Termination,
} from "../../lib/model/pod.ts";
import type { Autoscaler } from "../../lib/model/autoscaler.ts";
import type { Notice } from "../../lib/model/reasons.ts";
import { NEW_POD_STATE, type PodState } from "../../lib/model/state.ts";
import { deepFreeze, pod, policy, resizeEntry, resources, SECOND, START, usage } from "./builders.ts";

/** What a container uses: steady millicores, and bytes. */
export interface Load {
  readonly cpu?: number;
  readonly memory?: number;
  /** With page cache; `null` = the source doesn't tell. As `memory` when not given. */
  readonly cache?: number | null;
  /** For how much of the time it waits for memory, percent. */
  readonly stall?: number;
}

/** What node, namespace and version allow, and what replicas are about to do. */
export type Surroundings = Pick<
  SizeInput,
  "ledSince" | "room" | "limits" | "lowersMemoryLimits" | "scaleInPending" | "scaledInAt" | "disruption"
>;

export interface StoryOptions {
  readonly surroundings?: Partial<Surroundings>;
  readonly pod?: PodFacts;
  readonly contenders?: readonly Autoscaler[];
  readonly dryRun?: boolean;
  readonly now?: number;
  readonly load?: Load;
  /** Poll every so often. */
  readonly everyMs?: number;
  /** "enact": accepted, and the pod follows; "accept": accepted, and the pod's spec follows; "hold": not answered. */
  readonly answer?: "enact" | "accept" | "hold" | Answer;
}

export class Story {
  now: number;
  /** How far podfit's wall clock is ahead of its steady time. */
  wallAheadMs = 0;
  pod: PodFacts;
  contenders: readonly Autoscaler[];
  answer: NonNullable<StoryOptions["answer"]>;
  /** Nothing is known of the node and the namespace, unless said otherwise. */
  surroundings: Surroundings;
  state: PodState = NEW_POD_STATE;
  siblings: Siblings | null = null;
  /** A request is on its way. */
  inFlight = false;
  last: SizeOutcome | null = null;
  readonly requests: ResizeRequest[] = [];
  readonly notices: Notice[] = [];
  readonly scaled: ScaleAction[] = [];
  readonly enacted: NonNullable<SizeOutcome["enacted"]>[] = [];
  readonly #dryRun: boolean;
  readonly #everyMs: number;
  readonly #loads = new Map<string, { load: Load; counterNs: number; readAt: number; instance: string }>();

  constructor(options: StoryOptions = {}) {
    this.now = options.now ?? START;
    this.pod = options.pod ?? pod();
    this.contenders = options.contenders ?? [policy()];
    this.answer = options.answer ?? "enact";
    this.surroundings = { room: null, limits: null, lowersMemoryLimits: true, ...options.surroundings };
    this.#dryRun = options.dryRun ?? false;
    this.#everyMs = options.everyMs ?? 5 * SECOND;
    if (options.load !== undefined) this.use(options.load);
  }

  /** From now on the container uses this. */
  use(load: Load, name = "main"): this {
    const before = this.#loads.get(name);
    this.#loads.set(name, {
      load: { ...before?.load, ...load },
      counterNs: before?.counterNs ?? 1e9,
      readAt: before?.readAt ?? this.now,
      instance: before?.instance ?? "run-1",
    });
    return this;
  }

  /** Polls so many times, the interval passing before each; ends after the first order, so that tests see each one. */
  poll(times = 1): SizeOutcome {
    this.now += this.#everyMs;
    const outcome = this.observe(this.read());
    return times <= 1 || outcome.request !== null ? outcome : this.poll(times - 1);
  }

  /** Polls until something is ordered; throws when nothing is within so many polls. */
  pollToRequest(within = 40): ResizeRequest {
    const { request: order } = this.poll(within);
    if (order === null) throw new Error(`Cannot see an order within ${within} polls: ${this.reason()}`);
    return order;
  }

  /** Time passes without a poll. */
  wait(ms: number): this {
    this.now += ms;
    return this;
  }

  /** Somebody sets podfit's wall clock; the clocks of the node and the API server stay. */
  setWall(byMs: number): this {
    this.wallAheadMs += byMs;
    return this;
  }

  /** The pod is seen changed: a newer resourceVersion, and what is given. */
  change(facts: Partial<PodFacts> = {}): SizeOutcome {
    const resourceVersion = String(Number(this.pod.resourceVersion) + 1);
    this.pod = { ...this.pod, resourceVersion, ...facts };
    return this.observe({ kind: "changed" });
  }

  changeContainer(facts: Partial<ContainerFacts>, name = "main"): SizeOutcome {
    const containers = this.pod.containers.map((one) => one.name === name ? { ...one, ...facts } : one);
    return this.change({ containers });
  }

  contend(contenders: readonly Autoscaler[]): SizeOutcome {
    this.contenders = contenders;
    return this.observe({ kind: "changed" });
  }

  /** The kubelet has done what the spec says. */
  enact(): SizeOutcome {
    const containers = this.pod.containers.map((one) => ({ ...one, reported: one.spec, allocated: requestsOf(one) }));
    return this.change({ containers, observedGeneration: this.pod.generation, pending: null, inProgress: null });
  }

  decide(before: PodState, input: SizeInput): SizeOutcome {
    return decideSize(before, input);
  }

  /** One fold, and what follows from its order. */
  observe(observation: Observation): SizeOutcome {
    return this.fold(observation, (order) => this.reply(order));
  }

  fold(observation: Observation, onOrder: (order: ResizeRequest) => void): SizeOutcome {
    const { now, pod, contenders } = this;
    const input: SizeInput = deepFreeze({
      now,
      ...(this.wallAheadMs !== 0 && { wallAheadMs: this.wallAheadMs }),
      pod,
      contenders,
      observation,
      siblings: this.siblings,
      ...this.surroundings,
      inFlight: this.inFlight,
      dryRun: this.#dryRun,
    });
    const outcome = this.decide(deepFreeze(this.state), input);
    this.state = outcome.state;
    this.notices.push(...outcome.notices);
    if (outcome.scaled !== null) this.scaled.push(outcome.scaled);
    if (outcome.enacted !== null) this.enacted.push(outcome.enacted);
    if (observation.kind !== "answered") this.last = outcome;
    if (outcome.request !== null) {
      this.requests.push(outcome.request);
      onOrder(outcome.request);
    }
    return outcome;
  }

  reply(order: ResizeRequest, answer = this.answer): void {
    if (answer === "hold") return;
    if (typeof answer === "object") return void this.observe({ kind: "answered", request: order, answer });
    const last = this.last;
    const generation = (this.pod.generation ?? 0) + 1;
    this.observe({ kind: "answered", request: order, answer: { kind: "accepted", generation } });
    const manager = `podfit.${order.container}`;
    const others = this.pod.resizes.filter((one) => one.manager !== manager);
    const entryAt = Math.floor(this.now / SECOND) * SECOND;
    this.change({
      generation,
      containers: this.pod.containers.map((one) => one.name === order.container ? { ...one, spec: order.to } : one),
      resizes: [...others, resizeEntry(manager, entryAt, { [order.container]: order.changes })],
    });
    if (answer === "enact") this.enact();
    this.last = last;
  }

  /** podfit starts anew: all it knew is gone. */
  restartPodfit(): this {
    this.state = NEW_POD_STATE;
    return this;
  }

  /** A run begins: another container ID, a counter from zero. */
  restartContainer(name = "main"): SizeOutcome {
    const one = this.#loads.get(name);
    const instance = `run-${this.now}`;
    if (one !== undefined) this.#loads.set(name, { ...one, instance, counterNs: 1, readAt: this.now });
    return this.changeContainer({ instance: `containerd://${this.now}`, runningAt: this.now, ready: true }, name);
  }

  /** The container's instance ends, by default killed at its memory limit; `restartContainer` brings the next one. */
  endContainer({ reason = "OOMKilled", exitCode = 137 }: Partial<Termination> = {}, name = "main"): SizeOutcome {
    const one = findContainer(this.pod, name);
    const termination = { id: one?.instance ?? "", reason, exitCode, finishedAt: Math.floor(this.now / 1000) * 1000 };
    return this.changeContainer({ runningAt: null, ready: false, terminations: [termination] }, name);
  }

  decision(autoscaler = this.contenders[0]?.name): ContainerDecision["decision"] | null {
    return this.last?.decisions.find((one) => one.autoscaler === `uid-of-${autoscaler}`)?.decision ?? null;
  }

  /** The sides of the first contender as they stand. */
  assessments(): readonly FieldAssessment[] {
    const [policy] = this.contenders;
    return policy === undefined ? [] : assessAutoscaler(policy, this.state, this.pod);
  }

  /** `scaleUp` and the like for an action, else the reason; "-" when nothing was decided. */
  reason(autoscaler?: string): string {
    const decision = this.decision(autoscaler);
    if (decision === null) return "-";
    return decision.kind === "resize" ? decision.action : decision.reason;
  }

  notified(): string[] {
    return this.notices.map(({ name }) => name);
  }

  /** What a poll gives now. */
  read(): Extract<Observation, { kind: "usage" }> {
    const points: Point[] = [];
    let usageBytes: number | null = 0;
    for (const [name, one] of this.#loads) {
      const { cpu = 0, memory = 100 * 1024 * 1024, cache = memory, stall } = one.load;
      // A millicore for a millisecond is 1000 ns.
      one.counterNs += cpu * 1000 * (this.now - one.readAt);
      one.readAt = this.now;
      points.push({
        container: name,
        instance: one.instance,
        at: this.now,
        resolutionMs: SECOND,
        cpu: { kind: "counter", counterNs: one.counterNs },
        workingSetBytes: memory,
        usageBytes: cache,
        pressure: null,
        ...(stall !== undefined && { memoryStallPercent: stall }),
      });
      usageBytes = cache === null || usageBytes === null ? null : usageBytes + cache;
    }
    return usage(points, usageBytes);
  }
}

function requestsOf({ spec }: ContainerFacts): ContainerFacts["allocated"] {
  return resources({ "cpu.requests": spec["cpu.requests"], "memory.requests": spec["memory.requests"] });
}
