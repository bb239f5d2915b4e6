/**
 * A quiet evaluation comes to the state of `decideSize`, bit for bit: on random courses and on recorded loads.
 */
import { assert } from "#assert";
import type { Pressure } from "../../lib/api/usage.ts";
import type { Autoscaler, FieldPolicy } from "../../lib/model/autoscaler.ts";
import type { SizeInput } from "../../lib/model/decision.ts";
import type { ContainerFacts, PodFacts } from "../../lib/model/pod.ts";
import type { ResizeRequest } from "../../lib/model/resize_request.ts";
import { RESOURCE_FIELDS } from "../../lib/units/resources.ts";
import {
  container,
  deepFreeze,
  input,
  MI,
  MINUTE,
  pod,
  point,
  policy,
  resizeEntry,
  resources,
  SECOND,
  side,
  START,
  usage,
} from "../support/builders.ts";
import { QuietTwin } from "../support/quiet_twin.ts";
import { autoscalerOf, HOUR, loadOf, run } from "../simulate/runs.ts";
import type { Load } from "../../lib/simulate/load.ts";

/** Draws of one course, repeatable. */
function newRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6D2B79F5) | 0;
    let mixed = Math.imul(state ^ state >>> 15, 1 | state);
    mixed = mixed + Math.imul(mixed ^ mixed >>> 7, 61 | mixed) ^ mixed;
    return ((mixed ^ mixed >>> 14) >>> 0) / 2 ** 32;
  };
}

interface Meter {
  at: number;
  counterNs: number;
  fullNs: number;
  throttledNs: number;
  podAt: number;
  podCounterNs: number;
  oomKills: number;
  stallPercent: number;
  instance: string;
  /** Millicores and bytes around which usage varies. */
  cpu: number;
  memory: number;
}

/** A pod under a random policy and a random load, over some hundred polls. */
class Course {
  readonly twin = new QuietTwin();
  readonly #random: () => number;
  readonly #kind: "kubelet" | "cgroup" | "bare";
  readonly #everyMs: number;
  #now = START;
  #pod: PodFacts;
  #contenders: readonly Autoscaler[];
  #meters: Meter[];
  #version = 100;
  #wallAheadMs = 0;
  #answersIn = 0;
  #request: ResizeRequest | null = null;
  #scaledInAt: number | undefined;
  #room: SizeInput["room"] = null;
  readonly #roomChance: number;

  /** `roomChance`: of a change of the node's headroom before a poll. */
  constructor(seed: number, { roomChance = 0.02 } = {}) {
    this.#roomChance = roomChance;
    const random = this.#random = newRandom(seed);
    this.#kind = this.#pick("kubelet", "kubelet", "cgroup", "bare");
    this.#everyMs = this.#pick(15, 15, 15, 5, 30) * SECOND;
    const names = random() < 0.3 ? ["main", "proxy"] : ["main"];
    this.#contenders = names.map((name, index) => this.#newPolicy(name, index));
    const isTwo = names.length === 2 || random() < 0.2;
    const containers = (isTwo ? ["main", "proxy"] : names).map((name) => this.#newContainer(name));
    this.#pod = pod({ containers, qosClass: random() < 0.05 ? "Guaranteed" : "Burstable" });
    this.#meters = containers.map(() => this.#newMeter());
  }

  #pick<T>(...all: readonly T[]): T {
    return all[Math.floor(this.#random() * all.length)] as T;
  }

  #between(from: number, to: number): number {
    return from + (to - from) * this.#random();
  }

  #newPolicy(name: string, index: number): Autoscaler {
    const keys = this.#random() < 0.5 ? RESOURCE_FIELDS : RESOURCE_FIELDS.filter(() => this.#random() < 0.6);
    const windowMs = this.#pick(0, 0, MINUTE, 5 * MINUTE, 15 * MINUTE);
    const percentile = this.#random() < 0.15 ? { percent: this.#pick(50, 90, 99), halfLifeMs: 10 * MINUTE } : null;
    const isBound = this.#random() < 0.7;
    const sides = (keys.length === 0 ? ["cpu.requests"] as const : keys).map((key): FieldPolicy => {
      const isCpu = key.startsWith("cpu");
      const unit = isCpu ? 1 : MI;
      return side(key, {
        scaleUpThresholdPercent: this.#pick(70, 80, 90),
        scaleDownThresholdPercent: this.#pick(20, 30, 40),
        consecutiveSamples: this.#pick(1, 2, 3),
        cooldownMs: this.#pick(0, 0, MINUTE, 10 * MINUTE),
        up: { targetUtilizationPercent: this.#pick(50, 60, 85) },
        down: { windowMs, percentile: isCpu ? percentile : null, targetUtilizationPercent: this.#pick(50, 60) },
        bounds: {
          min: isBound ? this.#pick(50, 80, 100) * unit : null,
          max: isBound ? this.#pick(100, 128, 200, 256) * unit : null,
          step: this.#random() < 0.1 ? 10 * unit : null,
        },
      });
    });
    return policy({
      name: `a${index}`,
      uid: `uid-${index}`,
      key: `uid-${index}`,
      containerName: name,
      pollIntervalMs: index === 1 && this.#random() < 0.2 ? 2 * this.#everyMs : this.#everyMs,
      sides,
      throttling: this.#pick("measure", "measure", "ignore"),
      oom: this.#pick("raise", "ignore"),
      veto: this.#pick("all", "resource"),
    });
  }

  #newContainer(name: string): ContainerFacts {
    return container({ name, instance: "run-1", runningAt: START - this.#pick(0, 1, 60) * MINUTE });
  }

  #newMeter(): Meter {
    return {
      at: START - 15 * SECOND,
      counterNs: 5e9,
      fullNs: 1e6,
      throttledNs: 1e6,
      podAt: START - 16 * SECOND,
      podCounterNs: 9e9,
      oomKills: 0,
      stallPercent: 0,
      instance: "run-1",
      cpu: this.#pick(3, 10, 25, 60, 95, 110, 195),
      memory: this.#pick(10, 40, 70, 90, 120, 240) * MI,
    };
  }

  /** Evaluates so many polls, and what happens in between. */
  run(polls: number): QuietTwin {
    for (let poll = 0; poll < polls; poll++) {
      this.#now += this.#everyMs + Math.round((this.#random() - 0.5) * 400);
      this.#happen();
      this.#evaluate(this.#random() < 0.01 ? { observation: { kind: "tick" } } : this.#read());
      if (this.#answersIn > 0 && --this.#answersIn === 0) this.#answer();
    }
    return this.twin;
  }

  /** Something rare, most of the time nothing. */
  #happen(): void {
    const draw = this.#random();
    if (draw < 0.002) this.#now += this.#pick(70, 100, 300) * SECOND;
    else if (draw < 0.003) this.#wallAheadMs = this.#pick(-5, 0, 3) * SECOND;
    else if (draw < 0.0035) this.#restart();
    else if (draw < 0.007) this.#change({ labels: { seen: String(this.#now) } });
    else if (draw < 0.008) this.#scaledInAt = this.#now;
    else if (draw > 1 - this.#roomChance) this.#room = this.#newRoom();
    else if (draw < 0.02) this.#meters.forEach((one) => Object.assign(one, this.#newLoad()));
  }

  #newRoom(): SizeInput["room"] {
    return this.#pick(null, { cpuMillicores: this.#pick(-5, 10, 60, 500), memoryBytes: this.#pick(0, 20, 300) * MI });
  }

  #newLoad(): Partial<Meter> {
    return this.#random() < 0.5
      ? { cpu: this.#pick(3, 10, 25, 60, 95, 110, 195, 260) }
      : { memory: this.#pick(10, 40, 70, 90, 120, 240) * MI };
  }

  #restart(): void {
    const index = Math.floor(this.#random() * this.#meters.length);
    const [meter, facts] = [this.#meters[index], this.#pod.containers[index]];
    if (meter === undefined || facts === undefined) return;
    const instance = `run-${this.#now}`;
    Object.assign(meter, { instance, counterNs: 1e6, fullNs: 0, throttledNs: 0, oomKills: 0, at: this.#now });
    const reason = this.#pick("OOMKilled", "Error", "Completed");
    const id = facts.instance ?? "";
    const ended = { id, reason, exitCode: reason === "Completed" ? 0 : 137, finishedAt: this.#now };
    this.#change({
      containers: this.#pod.containers.map((one, at) =>
        at === index ? { ...one, instance, runningAt: this.#now, terminations: [ended] } : one
      ),
    });
  }

  #change(facts: Partial<PodFacts>): void {
    this.#pod = { ...this.#pod, resourceVersion: String(++this.#version), ...facts };
    this.#evaluate({ observation: { kind: "changed" } });
  }

  #answer(): void {
    const request = this.#request;
    if (request === null) return;
    this.#request = null;
    if (this.#random() < 0.2) {
      const answer = { kind: "refused", reason: "Invalid", message: "no", resources: [], waitMs: null } as const;
      return void this.#evaluate({ observation: { kind: "answered", request, answer } });
    }
    const generation = (this.#pod.generation ?? 0) + 1;
    this.#evaluate({ observation: { kind: "answered", request, answer: { kind: "accepted", generation } } });
    const containers = this.#pod.containers.map((one) =>
      one.name === request.container ? { ...one, spec: request.to, reported: request.to } : one
    );
    const manager = `podfit.${request.container}`;
    const resizes = [
      ...this.#pod.resizes.filter((one) => one.manager !== manager),
      resizeEntry(manager, this.#now, { [request.container]: request.changes }),
    ];
    this.#change({ generation, observedGeneration: generation, containers, resizes });
  }

  #read(): Partial<SizeInput> {
    const random = this.#random;
    const isWild = random() < 0.015;
    const points = this.#meters.map((meter, index) => {
      const cpu = isWild ? 250 * random() : meter.cpu * this.#between(0.97, 1.03);
      const [leastMs, mostMs] = this.#kind === "kubelet" ? [10, 19] : [5, 5];
      while (meter.at + leastMs * SECOND <= this.#now) {
        const stepMs = Math.round(this.#between(leastMs, mostMs)) * SECOND;
        const usedNs = cpu * 1000 * stepMs;
        meter.at = Math.min(meter.at + stepMs, Math.floor(this.#now / SECOND) * SECOND);
        meter.counterNs += Math.round(usedNs);
        meter.fullNs += cpu > 190 && random() < 0.7 ? 2e9 : random() < 0.2 ? 1e5 : 0;
        meter.throttledNs += cpu > 190 ? 1e9 : 0;
      }
      if (this.#kind === "cgroup" && random() < 0.002) meter.oomKills++;
      meter.stallPercent = random() < 0.005 ? this.#pick(5, 9.99, 10, 90) : 0;
      return point({
        container: this.#pod.containers[index]?.name ?? "",
        instance: meter.instance,
        at: meter.at,
        counterNs: random() < 0.001 ? 0 : meter.counterNs,
        workingSetBytes: Math.round(isWild ? 250 * MI * random() : meter.memory * this.#between(0.98, 1.02)),
        usageBytes: random() < 0.95 ? Math.round(meter.memory * 1.1) : null,
        pressure: this.#readPressure(meter),
        ...(this.#kind === "cgroup" && { oomKills: meter.oomKills }),
        ...(meter.stallPercent > 0 && { memoryStallPercent: meter.stallPercent }),
      });
    });
    const [first] = this.#meters;
    if (first === undefined) throw new Error("unreachable");
    if (first.podAt + 11 * SECOND < this.#now) {
      const at = Math.floor((this.#now - this.#between(0, 5) * SECOND) / SECOND) * SECOND;
      first.podCounterNs += Math.round(first.cpu * 1000 * (at - first.podAt));
      first.podAt = at;
    }
    const { podAt: at, podCounterNs: counterNs } = first;
    const cpu = { at, resolutionMs: SECOND, counterNs, pressure: random() < 0.5 ? this.#readPressure(first) : null };
    return {
      observation: {
        kind: "usage",
        usage: {
          usageBytes: random() < 0.9 ? 150 * MI : null,
          points: random() < 0.004 ? [] : points,
          ...(this.#kind !== "bare" && random() < 0.95 && { cpu }),
        },
        clockOffsetMs: random() < 0.005 ? 3 * SECOND : 0,
        capacity: { cpuMillicores: 8000, memoryBytes: 32768 * MI },
      },
    };
  }

  #readPressure({ fullNs, throttledNs, counterNs }: Meter): Pressure | null {
    if (this.#kind === "bare" || this.#random() < 0.03) return null;
    const psi = this.#kind === "kubelet";
    return {
      fullNs,
      ...(psi && { fullHint: { unit: this.#random() < 0.99 ? "us" : "ns", percent: this.#pick(0, 3, 20) } }),
      throttledNs: psi ? null : throttledNs,
      largestCpuNs: psi ? null : counterNs,
    };
  }

  #evaluate(overrides: Partial<SizeInput>): void {
    const { request } = this.twin.evaluate(deepFreeze(input({
      now: this.#now,
      ...(this.#wallAheadMs !== 0 && { wallAheadMs: this.#wallAheadMs }),
      ...(this.#scaledInAt !== undefined && { scaledInAt: this.#scaledInAt }),
      pod: this.#pod,
      contenders: this.#contenders,
      inFlight: this.#request !== null,
      room: this.#room,
      ...overrides,
    })));
    if (request === null) return;
    this.#request = request;
    this.#answersIn = 1 + Math.floor(2 * this.#random());
  }
}

/** Adds to the counts by the reasons of the verdicts that held. */
function addCounts(counts: Map<string, number>, { quiet }: QuietTwin): void {
  for (const [reasons, count] of quiet) {
    for (const reason of new Set(reasons.split(" "))) counts.set(reason, (counts.get(reason) ?? 0) + count);
  }
}

function assertMany(counts: ReadonlyMap<string, number>, least: Readonly<Record<string, number>>): void {
  for (const [reason, count] of Object.entries(least)) {
    assert(
      (counts.get(reason) ?? 0) >= count,
      `${counts.get(reason) ?? 0} quiet evaluations of ${reason || "none due"}`,
    );
  }
}

Deno.test("a quiet evaluation comes to the state and the verdict of decideSize(), on any course (C36, L15)", () => {
  const counts = new Map<string, number>();
  let shortStreaks = 0;
  for (let seed = 1; seed <= 250; seed++) {
    const course = new Course(seed);
    try {
      addCounts(counts, course.run(240));
      shortStreaks += course.twin.shortStreaks;
    } catch (error) {
      throw new Error(`Course ${seed}, evaluation ${course.twin.evaluations}`, { cause: error });
    }
  }
  assertMany(counts, { InBand: 8_000, AtBound: 8_000, ScaleDownWindow: 2_500, AtTarget: 600, "": 120 });
  assertMany(counts, { "Cooldown:scaleDown": 400, "Cooldown:scaleUp": 250 });
  assert(shortStreaks >= 400, `${shortStreaks} quiet evaluations of a short streak`);
});

Deno.test("a quiet evaluation follows headroom while a scale-up waits for its cooldown (C36)", () => {
  const counts = new Map<string, number>();
  for (let seed = 1; seed <= 150; seed++) addCounts(counts, new Course(seed, { roomChance: 0.4 }).run(120));
  assertMany(counts, { "Cooldown:scaleUp": 60 });
});

Deno.test("a container that reaches its CPU limit during its cooldown is counted as held (C36)", () => {
  const spec = resources({ "cpu.requests": 50, "cpu.limits": 100, "memory.requests": 128 * MI });
  const rule = side("cpu.requests", { consecutiveSamples: 1, cooldownMs: 10 * MINUTE });
  const contenders = [policy({ sides: [rule], throttling: "ignore", pollIntervalMs: 15 * SECOND })];
  const resized = pod({
    containers: [container({ spec })],
    resizes: [resizeEntry("podfit.main", START - MINUTE, { main: ["cpu.requests"] })],
  });
  const twin = new QuietTwin();
  let counterNs = 1e9;
  for (let poll = 0; poll < 16; poll++) {
    const now = START + poll * 15 * SECOND;
    const one = point({ instance: "containerd://1", at: now, counterNs });
    twin.evaluate(deepFreeze(input({ now, pod: resized, contenders, observation: usage([one]) })));
    counterNs += (poll < 8 ? 85 : 100) * 15 * SECOND * 1000;
  }
  assert((twin.quiet.get("Cooldown:scaleUp") ?? 0) > 0, "no evaluation was quiet");
});

Deno.test("a quiet evaluation asks for a size that the headroom of before would have left too (C36, L30)", () => {
  const spec = resources({ "cpu.requests": 210, "cpu.limits": 210, "memory.requests": 128 * MI });
  const rule = { consecutiveSamples: 1, cooldownMs: 10 * MINUTE };
  const sides = [side("cpu.requests", rule), side("cpu.limits", { ...rule, bounds: { max: 220 } })];
  const contenders = [policy({ sides, throttling: "ignore", pollIntervalMs: 15 * SECOND })];
  const resized = pod({
    containers: [container({ spec })],
    resizes: [resizeEntry("podfit.main", START - MINUTE, { main: ["cpu.requests", "cpu.limits"] })],
  });
  const twin = new QuietTwin();
  for (let poll = 0; poll < 16; poll++) {
    const now = START + poll * 15 * SECOND;
    const one = point({ instance: "containerd://1", at: now, counterNs: 1e9 + poll * 180 * 15 * SECOND * 1000 });
    // 10m are less than 5 % of the request; later its limit stops it at the same 220m.
    const room = { cpuMillicores: poll < 8 ? 10 : 1000, memoryBytes: 1024 * MI };
    twin.evaluate(deepFreeze(input({ now, pod: resized, contenders, observation: usage([one]), room })));
  }
  assert((twin.quiet.get("Cooldown:scaleUp") ?? 0) > 0, "no evaluation was quiet");
});

const TRACES = ["24ae8d", "53ea38", "5f5533", "77c1ca", "cc0c53"];

/** CPU of a real server, 10m for a percent, with some noise; memory with a step every two hours. */
async function readTrace(name: string): Promise<Load> {
  const text = await Deno.readTextFile(new URL(`../verify/quality/traces/nab-${name}.csv`, import.meta.url));
  const percents = text.trim().split("\n").slice(1).map((line) => line.split(",").map(Number))
    .filter(([second = 0]) => second >= 0).map(([, percent = 0]) => percent);
  const random = newRandom(7);
  return loadOf((second) => {
    const [before = 0, after = 0] = percents.slice(Math.floor(second / 300), Math.floor(second / 300) + 2);
    const percent = before + (after - before) * (second % 300) / 300;
    const isHigh = Math.floor(second / 7200) % 2 === 1;
    return { cpuMillicores: 10 * percent * (0.9 + 0.2 * random()), workingSetBytes: (isHigh ? 230 : 120) * MI };
  });
}

Deno.test("a quiet evaluation comes to the state and the verdict of decideSize(), on recorded loads of servers", async () => {
  const counts = new Map<string, number>();
  for (const trace of TRACES) {
    for (const profile of ["latency", "balanced", "thrifty"]) {
      const twin = new QuietTwin();
      const bounds = { cpu: { requests: { min: "20m", max: "600m" } } };
      run(await readTrace(trace), {
        autoscalers: [autoscalerOf({ profile, bounds })],
        seconds: 8 * HOUR,
        onEvaluation: ({ input }) => void twin.evaluate(input),
      });
      addCounts(counts, twin);
    }
  }
  assertMany(counts, { InBand: 8_000 });
});
