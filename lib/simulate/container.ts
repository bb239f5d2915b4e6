/**
 * What does a simulated container use, and what does the kubelet report of it?
 * It is changed in place, for speed.
 */
import type { Pressure } from "../api/usage.ts";
import { type ContainerFacts, getActualSize } from "../model/pod.ts";
import type { Resources } from "../units/resources.ts";
import { addSecond, addToCourse, type Course, findStep, newCourse, newSums, type Steps, type Sums } from "./figures.ts";
import { findLoad, IDLE, type Load, type Loads, type Wanted } from "./load.ts";
import {
  computeHolding,
  type CpuPressure,
  HOUSEKEEPING_MS,
  nextPressure,
  NO_PRESSURE,
  TAKEOVER_MS,
} from "./model/meter.ts";
import { draw, drawBetween, type Key } from "./model/random.ts";

/** A container that is simulated. Times are epoch ms. */
export interface SimContainer {
  readonly name: string;
  readonly load: Load;
  readonly key: Key;
  readonly cpu: Tracked;
  readonly memory: Tracked;
  readonly oomKills: number[];
  meter: Meter;
  wanted: Wanted;
  /** The share of the last slice in which it waited. */
  stalled: number;
  isRunning: boolean;
  startedAt: number;
  instances: number;
  /** Infinity while it runs. */
  restartAt: number;
  /** The wait before its next restart but one. */
  backOffMs: number;
}

/** How a container fares, in all pods of its workload. */
export interface Accounts {
  readonly cpu: ResourceAccount;
  readonly memory: ResourceAccount;
  /** Epoch ms. */
  readonly oomKills: number[];
}

/** Returns the accounts of a new run. */
export function newAccounts(steps: Steps | null): Accounts {
  const open = (): ResourceAccount => ({
    sums: newSums(),
    course: steps === null ? null : newCourse(steps.seconds, steps.stepSeconds),
  });
  return { cpu: open(), memory: open(), oomKills: [] };
}

/** A container that has just started. */
export function newSimContainer({ facts, loads, startedAt, key, accounts }: SimContainerOptions): SimContainer {
  const track = ({ sums, course }: ResourceAccount): Tracked => ({ request: 0, limit: Infinity, sums, course });
  const own = [...key, facts.name];
  const container: SimContainer = {
    name: facts.name,
    load: findLoad(loads, facts.name),
    key: own,
    cpu: track(accounts.cpu),
    memory: track(accounts.memory),
    oomKills: accounts.oomKills,
    meter: newMeter(startedAt, [...own, 1], TAKEOVER_MS),
    wanted: IDLE.at(0),
    stalled: 0,
    isRunning: true,
    startedAt,
    instances: 1,
    restartAt: Infinity,
    backOffMs: 0,
  };
  setContainerSize(container, getActualSize(facts));
  return container;
}

/** The size in force from now on. */
export function setContainerSize({ cpu, memory }: SimContainer, size: Resources): void {
  cpu.request = size["cpu.requests"] ?? 0;
  cpu.limit = size["cpu.limits"] ?? Infinity;
  memory.request = size["memory.requests"] ?? 0;
  memory.limit = size["memory.limits"] ?? Infinity;
}

/** Moves on by `ms` with the same demand. Returns the millicores that it got. */
export function runContainer(container: SimContainer, ms: number): number {
  if (!container.isRunning) return 0;
  const { meter, wanted, cpu, memory } = container;
  const wantedMillicores = Math.max(0, wanted.cpuMillicores);
  const got = Math.min(wantedMillicores, cpu.limit);
  container.stalled = computeStalledShare(wantedMillicores, cpu.limit);
  meter.workingSetBytes = Math.max(PROCESS_BYTES, Math.round(wanted.workingSetBytes));
  // The kernel drops the cache before it kills.
  const room = Math.max(0, memory.limit - meter.workingSetBytes);
  meter.cacheBytes = Math.min(Math.round(wanted.pageCacheBytes ?? 0), room);
  addUse(meter, got, container.stalled, ms);
  return got;
}

/** Whether the kernel kills it. */
export function isOverMemoryLimit({ isRunning, meter, memory }: SimContainer): boolean {
  return isRunning && meter.workingSetBytes > memory.limit;
}

/** Notes how one second fared, by the size at its start. */
export function addContainerSecond(container: SimContainer, second: number, steps: Steps | null): void {
  const { cpu, memory, wanted, isRunning } = container;
  addResourceSecond(cpu, Math.max(0, wanted.cpuMillicores), second, steps);
  addResourceSecond(memory, isRunning ? Math.max(PROCESS_BYTES, wanted.workingSetBytes) : 0, second, steps);
}

/** Ends it; it starts again at once, or after its back-off. Gives how long it waits for that. */
export function stopContainer(container: SimContainer, now: number): number {
  const { startedAt, backOffMs, key, instances } = container;
  const waitMs = now - startedAt > BACK_OFF_RESET_MS ? 0 : backOffMs;
  container.isRunning = false;
  container.stalled = 0;
  container.backOffMs = waitMs === 0 ? FIRST_BACK_OFF_MS : Math.min(2 * waitMs, MAX_BACK_OFF_MS);
  container.restartAt = now +
    (waitMs === 0
      ? drawBetween(FIRST_RESTART_MS, [...key, instances, "again"])
      : waitMs + drawBetween(LATE_RESTART_MS, [...key, instances, "late"]));
  return waitMs;
}

/** An admitted resize clears the back-off: it starts soon. */
export function clearBackOff(container: SimContainer, now: number): void {
  container.backOffMs = container.isRunning && container.backOffMs === 0 ? 0 : FIRST_BACK_OFF_MS;
  if (!container.isRunning) container.restartAt = Math.min(container.restartAt, now + SHOWN_MS);
}

/** Another instance runs from now on. */
export function startContainer(container: SimContainer, now: number): void {
  container.instances++;
  container.isRunning = true;
  container.startedAt = now;
  container.restartAt = Infinity;
  container.meter = newMeter(now, [...container.key, container.instances], TAKEOVER_MS);
}

/** A cgroup's counters, and what cAdvisor has read of them. Times are epoch ms. */
export interface Meter {
  /** The state of the random numbers, from which the next wait follows. */
  chance: number;
  cpuNs: number;
  psi: CpuPressure;
  workingSetBytes: number;
  cacheBytes: number;
  nextSampleAt: number;
  /** `null`: cAdvisor has not taken over yet. */
  taken: MeterReading | null;
}

/** The meter of what starts now. */
export function newMeter(startedAt: number, key: Key, takeoverMs: readonly [number, number]): Meter {
  return {
    chance: Math.floor(draw([...key, "housekeeping"]) * 2 ** 32),
    cpuNs: 0,
    psi: NO_PRESSURE,
    workingSetBytes: 0,
    cacheBytes: 0,
    nextSampleAt: startedAt + drawBetween(takeoverMs, [...key, "takeover"]),
    taken: null,
  };
}

/** Adds `ms` with this usage. `stalled` is the share of the time in which it waited, 0 to 1. */
export function addUse(meter: Meter, millicores: number, stalled: number, ms: number): void {
  // 1 millicore for 1 ms is 1000 ns.
  meter.cpuNs += Math.floor(millicores * ms * 1000);
  if (stalled > 0 || meter.psi.avg300 > 0) meter.psi = nextPressure(meter.psi, stalled, ms);
}

/** cAdvisor reads the meter, where that is due at `now`. */
export function sampleIfDue(meter: Meter, now: number): void {
  if (now < meter.nextSampleAt) return;
  meter.taken = toMeterReading(meter, meter.nextSampleAt, "us");
  meter.nextSampleAt += nextWaitMs(meter);
}

/** What a summary shows of a container at `now`: the runtime's own numbers until cAdvisor has any. */
export function getMeterReading(meter: Meter, now: number): MeterReading {
  return meter.taken ?? toMeterReading(meter, now, "ns");
}

/** One resource of it: the size in force, and the account of how that fares. */
interface Tracked extends ResourceAccount {
  request: number;
  limit: number;
}

/** How one resource fares; pods of a workload share it. */
interface ResourceAccount {
  readonly sums: Sums;
  readonly course: Course | null;
}

/** What a container begins with. */
interface SimContainerOptions {
  readonly facts: ContainerFacts;
  readonly loads: Loads;
  readonly startedAt: number;
  readonly key: Key;
  readonly accounts: Accounts;
}

/** The least bytes of a process. */
const PROCESS_BYTES = 90_112;

function addResourceSecond(
  { request, limit, sums, course }: Tracked,
  wanted: number,
  second: number,
  steps: Steps | null,
): void {
  addSecond(sums, wanted, request, limit);
  if (course !== null && steps !== null) addToCourse(course, findStep(second, steps), { wanted, request, limit });
}

const FIRST_BACK_OFF_MS = 10_000;

const MAX_BACK_OFF_MS = 300_000;

/** After a run of this length, in ms, the back-off of a container starts again. */
const BACK_OFF_RESET_MS = 600_000;

/** Past the back-off until the kubelet comes by. */
const LATE_RESTART_MS = [0, 5000] as const;

/** The kubelet lists its containers once a second, and restarts one this long after that, in ms. */
const FIRST_RESTART_MS = [60, 1110] as const;

/** How long, in ms, CrashLoopBackOff shows before a restart. */
const SHOWN_MS = 110;

/** What was read at one time. */
interface MeterReading {
  /** Whole seconds, as a summary writes it. */
  readonly at: number;
  readonly counterNs: number;
  readonly pressure: Pressure;
  readonly workingSetBytes: number;
  readonly usageBytes: number;
}

/** The share of the time in which a container waits that wants more than its limit. */
function computeStalledShare(wanted: number, limit: number): number {
  if (wanted <= limit) return 0;
  return computeHolding({ wanted, got: limit, limit, threads: 1, nodeMillicores: Infinity }).stalled;
}

/**
 * The time between two reads, in ms. One generator for all steps (Numerical Recipes): a key for each would cost as much
 * as a decision.
 */
function nextWaitMs(meter: Meter): number {
  meter.chance = (Math.imul(meter.chance, 1_664_525) + 1_013_904_223) >>> 0;
  const [least, most] = HOUSEKEEPING_MS;
  return least + Math.floor(meter.chance / 2 ** 32 * (most - least + 1));
}

/** Times are whole seconds, cut off. */
function toMeterReading(
  { cpuNs, psi, workingSetBytes, cacheBytes }: Meter,
  at: number,
  unit: "us" | "ns",
): MeterReading {
  const fullHint = { unit, percent: Math.max(psi.avg10, psi.avg60) };
  return {
    at: at - at % 1000,
    counterNs: cpuNs,
    pressure: { fullNs: psi.fullNs, fullHint, throttledNs: null, largestCpuNs: null },
    workingSetBytes,
    usageBytes: workingSetBytes + cacheBytes,
  };
}
