/**
 * What happens to a simulated pod on its node? Containers use, are killed, restart and are resized.
 * It is changed in place, for speed.
 */
import type { PodUsage, Point } from "../api/usage.ts";
import type { PodFacts } from "../model/pod.ts";
import type { ResizeRequest } from "../model/resize_request.ts";
import { isSameSize, type Resources } from "../units/resources.ts";
import {
  type Accounts,
  addContainerSecond,
  addUse,
  clearBackOff,
  getMeterReading,
  isOverMemoryLimit,
  type Meter,
  newMeter,
  newSimContainer,
  runContainer,
  sampleIfDue,
  setContainerSize,
  type SimContainer,
  startContainer,
  stopContainer,
} from "./container.ts";
import type { Steps } from "./figures.ts";
import { type Loads, toShareOfLoad } from "./load.ts";
import { POD_TAKEOVER_MS } from "./model/meter.ts";
import { drawBetween, type Key } from "./model/random.ts";
import { restarts, toAccepted, toEnded, toInForce, toRefused, toRunning, toStarted } from "./pod_facts.ts";

/** What a pod on a node is made of. */
export interface NodePodOptions {
  /** As the manifest has it. */
  readonly template: PodFacts;
  readonly name: string;
  readonly loads: Loads;
  readonly seed: string;
  /** Epoch ms. */
  readonly startedAt: number;
  readonly steps: Steps | null;
  /** By container name. */
  readonly findAccounts: (container: string) => Accounts;
  readonly onResized: (resized: Resized) => void;
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

/** What a sandbox holds in addition to its containers. */
const SANDBOX_BYTES = 1_000_000;

const SECOND_MS = 1000;

/** Owns the state of the pod on its node. */
export class NodePod {
  readonly containers: readonly SimContainer[];
  readonly #options: NodePodOptions;
  readonly #key: Key;
  readonly #meter: Meter;
  #facts: PodFacts;
  /** When what was accepted is to come in force; Infinity where nothing is. */
  #actuateAt = Infinity;
  #request: ResizeRequest | null = null;
  #nextAt = 0;
  /** What polls show until something happens; `null` = to be computed again. */
  #usage: PodUsage | null = null;

  constructor(options: NodePodOptions) {
    const { template, name, loads, seed, startedAt, findAccounts } = options;
    this.#options = options;
    this.#key = [seed, name];
    this.#facts = toRunning(template, { name, at: startedAt });
    this.containers = this.#facts.containers.filter(({ kind }) => kind !== "init").map((facts) =>
      newSimContainer({ facts, loads, startedAt, key: this.#key, accounts: findAccounts(facts.name) })
    );
    this.#meter = newMeter(startedAt, this.#key, POD_TAKEOVER_MS);
    this.#findNext();
  }

  /** As the API server shows it. */
  get facts(): PodFacts {
    return this.#facts;
  }

  /** When something is due, epoch ms. */
  get nextAt(): number {
    return this.#nextAt;
  }

  /** What is wanted in the second that begins; `share`: how much of the CPU's loads is its own. */
  beginSecond(second: number, share: number): void {
    const { steps } = this.#options;
    for (const one of this.containers) {
      one.wanted = toShareOfLoad(one.load.at(second), share);
      addContainerSecond(one, second, steps);
    }
  }

  /** Moves on by this part of the second. */
  use(ms: number): void {
    if (ms <= 0) return;
    let [millicores, workingSetBytes, cacheBytes, stalled] = [0, SANDBOX_BYTES, 0, 1];
    for (const one of this.containers) {
      millicores += runContainer(one, ms);
      if (!one.isRunning) continue;
      workingSetBytes += one.meter.workingSetBytes;
      cacheBytes += one.meter.cacheBytes;
      stalled = Math.min(stalled, one.stalled);
    }
    this.#meter.workingSetBytes = workingSetBytes;
    this.#meter.cacheBytes = cacheBytes;
    addUse(this.#meter, millicores, millicores > 0 ? stalled : 0, ms);
  }

  /** Does all that is due, and says whether the pod is another than before. */
  happen(now: number): boolean {
    const before = this.#facts;
    this.#usage = null;
    sampleIfDue(this.#meter, now);
    for (const one of this.containers) {
      if (one.isRunning) sampleIfDue(one.meter, now);
      else if (one.restartAt <= now) this.#start(one, now);
    }
    if (this.#actuateAt <= now) this.#actuate(now);
    this.#findNext();
    return this.#facts !== before;
  }

  /** Kills what is over its limit, and says whether anything was. */
  killOverLimit(now: number): boolean {
    let isAny = false;
    for (const one of this.containers) {
      if (!isOverMemoryLimit(one)) continue;
      isAny = true;
      one.oomKills.push(now);
      this.#end(one, now, { reason: "OOMKilled", exitCode: 137 });
    }
    if (isAny) this.#findNext();
    return isAny;
  }

  /** The API server has taken a request; it comes in force soon. */
  accept(request: ResizeRequest, now: number): void {
    this.#request = request;
    this.#facts = toAccepted(this.#facts, request, now);
    this.#actuateAt = now + drawBetween(ACTUATE_MS, [...this.#key, "actuate", this.#facts.generation ?? 0]);
    const resized = this.#find(request.container);
    if (resized !== null) clearBackOff(resized, now);
    this.#findNext();
  }

  /** What a poll of the kubelet shows. */
  getUsage(now: number): PodUsage {
    if (this.#usage !== null) return this.#usage;
    const usage = this.#computeUsage(now);
    // The runtime's own numbers move on until cAdvisor has any.
    if (this.containers.every(({ isRunning, meter }) => !isRunning || meter.taken !== null)) this.#usage = usage;
    return usage;
  }

  #computeUsage(now: number): PodUsage {
    const points: Point[] = [];
    for (const { name, meter, isRunning, instances } of this.containers) {
      if (!isRunning) continue;
      const { at, counterNs, pressure, workingSetBytes, usageBytes } = getMeterReading(meter, now);
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

  #findNext(): void {
    let next = Math.min(this.#actuateAt, this.#meter.nextSampleAt);
    for (const { isRunning, meter, restartAt } of this.containers) {
      next = Math.min(next, isRunning ? meter.nextSampleAt : restartAt);
    }
    this.#nextAt = next;
  }

  #actuate(now: number): void {
    const changed = this.#facts.containers.filter(({ kind, spec, reported }) =>
      kind !== "init" && reported !== null && !isSameSize(spec, reported)
    );
    if (changed.some(({ name, spec }) => this.#isTooSmall(name, spec["memory.limits"] ?? Infinity))) {
      this.#facts = toRefused(this.#facts, now);
      this.#actuateAt = now + drawBetween(RETRY_MS, [...this.#key, "retry", now]);
      return;
    }
    this.#actuateAt = Infinity;
    this.#facts = toInForce(this.#facts);
    for (const { name, spec, reported, restartsOn } of changed) {
      const one = this.#find(name);
      if (one === null) continue;
      setContainerSize(one, spec);
      const isRestarted = one.isRunning && restarts(restartsOn, { from: reported, to: spec });
      if (isRestarted) this.#end(one, now, { reason: "Error", exitCode: 143 });
    }
    this.#reportResized(now, changed);
  }

  #isTooSmall(name: string, limit: number): boolean {
    const one = this.#find(name);
    return one !== null && limit < one.memory.limit && one.meter.workingSetBytes + one.meter.cacheBytes >= limit;
  }

  #reportResized(at: number, changed: PodFacts["containers"]): void {
    const request = this.#request;
    this.#request = null;
    const from = changed.find(({ name }) => name === request?.container)?.reported ?? null;
    if (request === null || from === null) return;
    const { container, action, to, why } = request;
    this.#options.onResized({ at, pod: this.#options.name, container, action, from, to, why });
  }

  #end(one: SimContainer, now: number, ending: Ending): void {
    this.#usage = null;
    stopContainer(one, now);
    this.#facts = toEnded(this.#facts, one.name, { ...ending, finishedAt: now });
  }

  #start(one: SimContainer, now: number): void {
    startContainer(one, now);
    this.#facts = toStarted(this.#facts, one.name, { at: now, instances: one.instances });
  }

  #find(name: string): SimContainer | null {
    return this.containers.find((one) => one.name === name) ?? null;
  }
}

interface Ending {
  readonly reason: string;
  readonly exitCode: number;
}
