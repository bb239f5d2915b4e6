/**
 * One pod of a run under virtual time: what its kubelet would show of it is polled and decided about by the daemon's own
 * fold, and what that asks for comes in force a moment later. Changed in place, for speed.
 */
import type { PodUsage, Point } from "../../api/usage.ts";
import type { Autoscaler } from "../../autoscaler/autoscaler.ts";
import { decide } from "../../core/decide.ts";
import type { Capacity, Input, Observation, Outcome } from "../../core/decision.ts";
import type { PodFacts } from "../../core/pod/pod_facts.ts";
import type { ResizeRequest } from "../../core/resize_request.ts";
import { NEW_POD_STATE, type PodState } from "../../core/state.ts";
import { POD_TAKEOVER_MS } from "../../sim/model/meter.ts";
import { drawBetween, type Key } from "../../sim/model/random.ts";
import { isSameSize, type Resource, type Resources } from "../../units/resources.ts";
import * as containers from "./container.ts";
import type { Loads, Wanted } from "./load.ts";
import { count, type Meter, newMeter, readMeter, takeSample } from "./meter.ts";
import { toAccepted, toEnded, toInForce, toRefused, toRunning, toStarted } from "./pod_facts.ts";
import type { Steps } from "./series.ts";

/** What a pod of a run is made of. */
export interface SimPodOptions {
  /** As the manifest has it. */
  readonly template: PodFacts;
  readonly name: string;
  /** Those that contend for its containers, a container each. */
  readonly contenders: readonly Autoscaler[];
  readonly loads: Loads;
  readonly seed: string;
  /** Epoch ms. */
  readonly startedAt: number;
  readonly steps: Steps | null;
  /** What else of the node and of other pods a decision looks at. */
  readonly surroundings?: ((now: number) => Partial<Input>) | undefined;
  readonly onEvaluation?: ((evaluation: PodEvaluation) => void) | undefined;
  readonly onResized?: ((resized: Resized) => void) | undefined;
}

/** One call of the fold. */
export interface PodEvaluation {
  readonly before: PodState;
  readonly input: Input;
  readonly outcome: Outcome;
}

/** A resize that has come in force. */
export interface Resized {
  readonly at: number;
  readonly pod: string;
  readonly container: string;
  readonly action: ResizeRequest["action"];
  readonly from: Resources;
  readonly to: Resources;
  /** What was used of what, in words. */
  readonly why: string;
}

/** Observing a new generation and writing to the cgroups. */
const ACTUATE_MS = [30, 85] as const;
/** The kubelet tries again what it could not do. */
const RETRY_MS = [10_000, 15_000] as const;
/** What a sandbox holds beside its containers. */
const SANDBOX_BYTES = 1_000_000;
const CAPACITY: Capacity = { cpuMillicores: null, memoryBytes: null };

/** Owns what is so of the pod. */
export class SimPod {
  readonly containers: readonly containers.SimContainer[];
  readonly #options: SimPodOptions;
  readonly #key: Key;
  readonly #pollMs: number;
  readonly #meter: Meter;
  #facts: PodFacts;
  #state: PodState = NEW_POD_STATE;
  #pollAt: number;
  /** When what was accepted is to come in force; Infinity where nothing is. */
  #actuateAt = Infinity;
  #request: ResizeRequest | null = null;
  #nextAt = 0;

  constructor(options: SimPodOptions) {
    const { template, name, contenders, loads, seed, startedAt, steps } = options;
    this.#options = options;
    this.#key = [seed, name];
    this.#facts = toRunning(template, { name, at: startedAt });
    this.containers = this.#facts.containers.filter(({ kind }) => kind !== "init").map((facts) =>
      containers.newSimContainer({ facts, loads, startedAt, key: this.#key, steps })
    );
    this.#meter = newMeter(startedAt, this.#key, POD_TAKEOVER_MS);
    this.#pollMs = Math.min(...contenders.map(({ pollIntervalMs }) => pollIntervalMs));
    this.#pollAt = startedAt + drawBetween([1, Math.min(this.#pollMs, MOST_PHASE_MS)], [...this.#key, "poll"]);
    this.#findNext();
  }

  get name(): string {
    return this.#options.name;
  }

  get facts(): PodFacts {
    return this.#facts;
  }

  get state(): PodState {
    return this.#state;
  }

  /** Lets the second pass that begins at `from`, epoch ms; `share`: how much of the loads is its own. */
  passSecond(from: number, second: number, share: number): void {
    const { steps } = this.#options;
    for (const one of this.containers) {
      one.wanted = toShare(one.load.at(second), share);
      containers.noteSecond(one, second, steps);
    }
    const to = from + SECOND_MS;
    let at = from;
    while (this.#nextAt <= to) {
      this.#use(this.#nextAt - at);
      at = this.#nextAt;
      this.#happen(at);
      this.#findNext();
    }
    this.#use(to - at);
    for (const one of this.containers) if (containers.isOverLimit(one)) this.#kill(one, to);
  }

  /** The fold is asked about what has changed. */
  evaluateChange(now: number): void {
    this.#evaluate(now, { kind: "changed" });
  }

  #use(ms: number): void {
    if (ms <= 0) return;
    let millicores = 0;
    let workingSetBytes = SANDBOX_BYTES;
    let cacheBytes = 0;
    let stalled = 1;
    for (const one of this.containers) {
      millicores += containers.use(one, ms);
      if (!one.isRunning) continue;
      workingSetBytes += one.meter.workingSetBytes;
      cacheBytes += one.meter.cacheBytes;
      stalled = Math.min(stalled, one.stalled);
    }
    this.#meter.workingSetBytes = workingSetBytes;
    this.#meter.cacheBytes = cacheBytes;
    count(this.#meter, millicores, millicores > 0 ? stalled : 0, ms);
  }

  /** All that is due. */
  #happen(now: number): void {
    takeSample(this.#meter, now);
    for (const one of this.containers) {
      if (one.isRunning) takeSample(one.meter, now);
      else if (one.restartAt <= now) this.#start(one, now);
    }
    if (this.#actuateAt <= now) this.#actuate(now);
    if (this.#pollAt > now) return;
    this.#pollAt += this.#pollMs;
    this.#evaluate(now, { kind: "usage", usage: this.#readUsage(now), clockOffsetMs: 0, capacity: CAPACITY });
  }

  #findNext(): void {
    let next = Math.min(this.#pollAt, this.#actuateAt, this.#meter.nextSampleAt);
    for (const { isRunning, meter, restartAt } of this.containers) {
      next = Math.min(next, isRunning ? meter.nextSampleAt : restartAt);
    }
    this.#nextAt = next;
  }

  #readUsage(now: number): PodUsage {
    const points: Point[] = [];
    for (const { name, meter, isRunning, instances } of this.containers) {
      if (!isRunning) continue;
      const { at, counterNs, pressure, workingSetBytes, usageBytes } = readMeter(meter, now);
      const cpu = { kind: "counter", counterNs } as const;
      const instance = String(instances);
      points.push({
        container: name,
        instance,
        at,
        resolutionMs: SECOND_MS,
        cpu,
        workingSetBytes,
        usageBytes,
        pressure,
      });
    }
    const { taken } = this.#meter;
    if (taken === null) return { usageBytes: null, points };
    const { at, counterNs, pressure, usageBytes } = taken;
    return { usageBytes, points, cpu: { at, resolutionMs: SECOND_MS, counterNs, pressure } };
  }

  #evaluate(now: number, observation: Observation): void {
    const { contenders, surroundings, onEvaluation } = this.#options;
    const input: Input = {
      now,
      pod: this.#facts,
      contenders,
      observation,
      siblings: null,
      room: null,
      limits: null,
      lowersMemoryLimits: true,
      inFlight: false,
      dryRun: false,
      ...surroundings?.(now),
    };
    const before = this.#state;
    const outcome = decide(before, input);
    this.#state = outcome.state;
    onEvaluation?.({ before, input, outcome });
    if (outcome.request !== null) this.#send(outcome.request, now);
  }

  /** The API server takes it at once. */
  #send(request: ResizeRequest, now: number): void {
    this.#request = request;
    const generation = (this.#facts.generation ?? 1) + 1;
    this.#evaluate(now, { kind: "answered", request, answer: { kind: "accepted", generation } });
    this.#facts = toAccepted(this.#facts, request, now);
    this.#actuateAt = now + drawBetween(ACTUATE_MS, [...this.#key, "actuate", generation]);
    const resized = this.containers.find(({ name }) => name === request.container);
    if (resized !== undefined) containers.clearBackOff(resized, now);
  }

  #actuate(now: number): void {
    const changed = this.#facts.containers.filter(({ kind, spec, reported }) =>
      kind !== "init" && reported !== null && !isSameSize(spec, reported)
    );
    const isTooSmall = changed.some(({ name, spec }) => {
      const one = this.#find(name);
      const limit = spec["memory.limits"] ?? Infinity;
      return one !== null && limit < one.memory.limit && one.meter.workingSetBytes + one.meter.cacheBytes >= limit;
    });
    if (isTooSmall) {
      this.#facts = toRefused(this.#facts, now);
      this.#actuateAt = now + drawBetween(RETRY_MS, [...this.#key, "retry", now]);
      return this.evaluateChange(now);
    }
    this.#actuateAt = Infinity;
    this.#facts = toInForce(this.#facts);
    for (const { name, spec, reported, restartsOn } of changed) {
      const one = this.#find(name);
      if (one === null) continue;
      containers.setSize(one, spec);
      if (restarts(restartsOn, { from: reported, to: spec })) this.#end(one, now, { reason: "Error", exitCode: 143 });
    }
    this.#tellResized(now, changed);
    this.evaluateChange(now);
  }

  #tellResized(at: number, changed: PodFacts["containers"]): void {
    const request = this.#request;
    this.#request = null;
    const from = changed.find(({ name }) => name === request?.container)?.reported ?? null;
    if (request === null || from === null) return;
    const { container, action, to, why } = request;
    this.#options.onResized?.({ at, pod: this.name, container, action, from, to, why });
  }

  #kill(one: containers.SimContainer, now: number): void {
    one.oomKills.push(now);
    this.#end(one, now, { reason: "OOMKilled", exitCode: 137 });
    this.evaluateChange(now);
    this.#findNext();
  }

  #end(one: containers.SimContainer, now: number, { reason, exitCode }: Ending): void {
    containers.stop(one, now);
    this.#facts = toEnded(this.#facts, one.name, { reason, exitCode, finishedAt: now });
  }

  #start(one: containers.SimContainer, now: number): void {
    containers.start(one, now);
    this.#facts = toStarted(this.#facts, one.name, { at: now, instances: one.instances });
    this.evaluateChange(now);
  }

  #find(name: string): containers.SimContainer | null {
    return this.containers.find((one) => one.name === name) ?? null;
  }
}

interface Ending {
  readonly reason: string;
  readonly exitCode: number;
}

const SECOND_MS = 1000;
/** A first poll comes so late at most. */
const MOST_PHASE_MS = 60_000;

function toShare(wanted: Wanted, share: number): Wanted {
  if (share === 1) return wanted;
  return { ...wanted, cpuMillicores: wanted.cpuMillicores * share };
}

function restarts(
  restartsOn: Readonly<Record<Resource, boolean>>,
  { from, to }: { readonly from: Resources | null; readonly to: Resources },
): boolean {
  if (from === null) return false;
  return RESOURCES.some((resource) =>
    restartsOn[resource] && SIDES.some((side) => from[`${resource}.${side}`] !== to[`${resource}.${side}`])
  );
}

const RESOURCES = ["cpu", "memory"] as const;
const SIDES = ["requests", "limits"] as const;
