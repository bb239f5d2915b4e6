/** One container of a run: what it uses at the size in force, its meter, its ends and its figures; changed in place. */
import { type ContainerFacts, readActual } from "../../core/pod/pod_facts.ts";
import { TAKEOVER_MS } from "../../sim/model/meter.ts";
import { drawBetween, type Key } from "../../sim/model/random.ts";
import type { Resources } from "../../units/resources.ts";
import { addSecond, newSums, type Sums } from "./figures.ts";
import { findLoad, IDLE, type Load, type Loads, type Wanted } from "./load.ts";
import { count, type Meter, newMeter, readStalled } from "./meter.ts";
import { addToCourse, type Course, findStep, newCourse, type Steps } from "./series.ts";

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

/** One resource of it: the size in force, and the account of how that fares. */
export interface Tracked extends Account {
  request: number;
  limit: number;
}

/** How one resource fares; pods of a workload share it. */
export interface Account {
  readonly sums: Sums;
  readonly course: Course | null;
}

/** How a container fares, in all pods of its workload. */
export interface Accounts {
  readonly cpu: Account;
  readonly memory: Account;
  /** Epoch ms. */
  readonly oomKills: number[];
}

/** Of a run that begins. */
export function newAccounts(steps: Steps | null): Accounts {
  const open = (): Account => ({
    sums: newSums(),
    course: steps === null ? null : newCourse(steps.seconds, steps.stepSeconds),
  });
  return { cpu: open(), memory: open(), oomKills: [] };
}

/** What a container begins with. */
export interface SimContainerOptions {
  readonly facts: ContainerFacts;
  readonly loads: Loads;
  readonly startedAt: number;
  readonly key: Key;
  readonly accounts: Accounts;
}

/** A container that has just started. */
export function newSimContainer({ facts, loads, startedAt, key, accounts }: SimContainerOptions): SimContainer {
  const track = ({ sums, course }: Account): Tracked => ({ request: 0, limit: Infinity, sums, course });
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
  setSize(container, readActual(facts));
  return container;
}

/** The size in force from now on. */
export function setSize({ cpu, memory }: SimContainer, size: Resources): void {
  cpu.request = size["cpu.requests"] ?? 0;
  cpu.limit = size["cpu.limits"] ?? Infinity;
  memory.request = size["memory.requests"] ?? 0;
  memory.limit = size["memory.limits"] ?? Infinity;
}

/** The least bytes of a process. */
const PROCESS_BYTES = 90_112;

/** Lets `ms` pass, in which it wants the same. Gives the millicores that it got. */
export function use(container: SimContainer, ms: number): number {
  if (!container.isRunning) return 0;
  const { meter, wanted, cpu, memory } = container;
  const wantedMillicores = Math.max(0, wanted.cpuMillicores);
  const got = Math.min(wantedMillicores, cpu.limit);
  container.stalled = readStalled(wantedMillicores, cpu.limit);
  meter.workingSetBytes = Math.max(PROCESS_BYTES, Math.round(wanted.workingSetBytes));
  // The kernel drops the cache before it kills.
  const room = Math.max(0, memory.limit - meter.workingSetBytes);
  meter.cacheBytes = Math.min(Math.round(wanted.pageCacheBytes ?? 0), room);
  count(meter, got, container.stalled, ms);
  return got;
}

/** Whether the kernel kills it. */
export function isOverLimit({ isRunning, meter, memory }: SimContainer): boolean {
  return isRunning && meter.workingSetBytes > memory.limit;
}

/** Notes how one second fared, by the size at its start. */
export function noteSecond(container: SimContainer, second: number, steps: Steps | null): void {
  const { cpu, memory, wanted, isRunning } = container;
  note(cpu, Math.max(0, wanted.cpuMillicores), second, steps);
  note(memory, isRunning ? Math.max(PROCESS_BYTES, wanted.workingSetBytes) : 0, second, steps);
}

function note({ request, limit, sums, course }: Tracked, wanted: number, second: number, steps: Steps | null): void {
  addSecond(sums, wanted, request, limit);
  if (course !== null && steps !== null) addToCourse(course, findStep(second, steps), { wanted, request, limit });
}

const FIRST_MS = 10_000;
const MAX_MS = 300_000;
/** A container that ran for so long begins its back-off anew. */
const RESET_MS = 600_000;
/** Past the back-off until the kubelet comes by. */
const LATE_MS = [0, 5000] as const;
/** The kubelet lists its containers once a second, and starts one again so long after that. */
const AGAIN_MS = [60, 1110] as const;

/** Ends it; it starts again at once, or after its back-off. Gives how long it waits for that. */
export function stop(container: SimContainer, now: number): number {
  const { startedAt, backOffMs, key, instances } = container;
  const waitMs = now - startedAt > RESET_MS ? 0 : backOffMs;
  container.isRunning = false;
  container.stalled = 0;
  container.backOffMs = waitMs === 0 ? FIRST_MS : Math.min(2 * waitMs, MAX_MS);
  container.restartAt = now +
    (waitMs === 0
      ? drawBetween(AGAIN_MS, [...key, instances, "again"])
      : waitMs + drawBetween(LATE_MS, [...key, instances, "late"]));
  return waitMs;
}

/** An admitted resize clears the back-off: it starts soon. */
export function clearBackOff(container: SimContainer, now: number): void {
  container.backOffMs = container.isRunning && container.backOffMs === 0 ? 0 : FIRST_MS;
  if (!container.isRunning) container.restartAt = Math.min(container.restartAt, now + SHOWN_MS);
}

/** CrashLoopBackOff shows so long before a restart. */
const SHOWN_MS = 110;

/** Another instance runs from now on. */
export function start(container: SimContainer, now: number): void {
  container.instances++;
  container.isRunning = true;
  container.startedAt = now;
  container.restartAt = Infinity;
  container.meter = newMeter(now, [...container.key, container.instances], TAKEOVER_MS);
}
