/**
 * Can the model give these summaries? The rules hold for recorded summaries and for the model.
 */
import type { ContainerStats, PodStats, Summary } from "../../../lib/api/summary.ts";
import type { Problem } from "../../../lib/embedded/model/load.ts";

/** A summary and the time when it was read. */
export interface SeenSummary {
  /** When it was asked for, by the node's clock. */
  readonly at: number;
  readonly summary: Summary;
}

/** What summaries are checked by. */
interface CheckOptions {
  /** False for a kubelet whose containers are always read fresh. */
  readonly hasCadvisor: boolean;
}

/** The problems of one node's summaries, in the order they were read. A path is `[number] pod/container`. */
export function checkSummaries(stream: readonly SeenSummary[], options: CheckOptions): readonly Problem[] {
  const problems: Problem[] = [];
  const series = new Map<string, Seen>();
  const pods = new Map<string, SeenPod>();
  for (const [index, { at, summary }] of stream.entries()) {
    for (const pod of summary.pods ?? []) {
      const path = `[${index}] ${toName(pod)}`;
      const report = (message: string) => problems.push({ path, message });
      if ((pod.containers ?? []).length === 0) report("is listed without containers");
      pods.set(toName(pod), checkPod(pod, { at, before: pods.get(toName(pod)) ?? null, report }));
      for (const container of pod.containers ?? []) {
        const key = `${toName(pod)}/${container.name}/${container.startTime}`;
        const tell = (message: string) => problems.push({ path: `${path}/${container.name}`, message });
        const next = checkContainer(container, { at, before: series.get(key) ?? null, report: tell, options });
        if (next !== null) series.set(key, next);
      }
    }
  }
  return problems;
}

interface Seen {
  /** When it was first listed with zeros. */
  readonly zeroAt: number;
  readonly time: number;
  readonly cpuNs: number;
  readonly isZero: boolean;
  /** cAdvisor has it: its time does not follow the reader's. */
  readonly isTaken: boolean;
}

interface Checked<T> {
  readonly at: number;
  readonly before: T | null;
  readonly report: (message: string) => void;
}

const SECOND = 1000;

/** Recorded: 11 to 24 s; a fresh sample is read at the request, and the request takes its time. */
const FRESH_MS = 10 * SECOND;

const TAKEN_MS = 27 * SECOND;

const LAG_MS = 1700;

/** How long an answer may be under way. */
const ANSWER_MS = 300;

/** 10 to 19 s, of whole seconds. */
const SPACING_MS = [9 * SECOND, 20 * SECOND] as const;

const ZERO_MS = 1500;

const WHOLE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

function checkContainer(
  container: ContainerStats,
  { at, before, report, options }: Checked<Seen> & { readonly options: CheckOptions },
): Seen | null {
  const { cpu = {}, memory = {}, startTime = "" } = container;
  for (const text of [startTime, cpu.time, memory.time]) {
    if (!WHOLE.test(text ?? "")) report(`time "${text}" is not of whole seconds`);
  }
  if (cpu.time !== memory.time) report(`cpu is of ${cpu.time}, memory of ${memory.time}`);
  const { usageCoreNanoSeconds: cpuNs, usageNanoCores } = cpu;
  const { workingSetBytes, usageBytes, availableBytes } = memory;
  const amounts = {
    cpuNs,
    workingSetBytes,
    usageBytes,
    usageNanoCores: usageNanoCores ?? 0,
    availableBytes: availableBytes ?? 0,
  };
  for (const [name, amount] of Object.entries(amounts)) {
    if (amount === undefined || !Number.isInteger(amount) || amount < 0) report(`${name} is ${amount}`);
  }
  if (cpuNs === undefined || workingSetBytes === undefined || usageBytes === undefined) return null;
  if (workingSetBytes > usageBytes) report(`working set ${workingSetBytes} is more than usage ${usageBytes}`);

  const time = Date.parse(cpu.time ?? "");
  const age = at - Date.parse(startTime);
  const isZero = cpuNs === 0 && workingSetBytes === 0 && usageBytes === 0;
  const lag = at - time;
  if (lag < -ANSWER_MS) report(`is of ${-lag} ms ahead`);
  if (lag > SPACING_MS[1] + LAG_MS) report(`is ${lag} ms old`);
  const isFresh = lag <= LAG_MS;
  if (!isFresh && (age < FRESH_MS || !options.hasCadvisor)) report(`is ${lag} ms old, ${age} ms after its start`);
  if (isZero && !isFresh) report(`is of zeros and ${lag} ms old`);
  if (usageNanoCores === undefined && age > FRESH_MS) report("has no usageNanoCores");
  if (availableBytes === undefined && age < FRESH_MS && !isZero) report("has no availableBytes");

  const isTaken = options.hasCadvisor && (before?.isTaken === true || !isFresh);
  if (before !== null) {
    const passed = time - before.time;
    if (before.isZero && !isZero) report("is back after its zeros");
    if (isZero && before.isZero && at - before.zeroAt > ZERO_MS) report("shows zeros for long");
    if (!isZero && cpuNs < before.cpuNs) report(`counter falls from ${before.cpuNs} to ${cpuNs}`);
    if (passed < 0 && (before.isTaken || passed < -SECOND)) report(`time steps back by ${-passed} ms`);
    if (before.isTaken && !isZero) {
      if (passed === 0 && cpuNs !== before.cpuNs) report("changes without a newer time");
      if (passed > 0 && (passed < SPACING_MS[0] || passed > SPACING_MS[1])) report(`is of ${passed} ms after the last`);
    }
  }
  // Polled at least each few seconds, a sample that stays fresh this long was not cAdvisor's.
  if (options.hasCadvisor && !isTaken && isFresh && age > TAKEN_MS + SPACING_MS[1]) {
    report(`is fresh ${age} ms after its start`);
  }
  return { zeroAt: before?.isZero === true ? before.zeroAt : at, time, cpuNs, isZero, isTaken };
}

interface SeenPod {
  readonly time: number;
  readonly cpuNs: number;
}

function checkPod(pod: PodStats, { at, before, report }: Checked<SeenPod>): SeenPod {
  const time = Date.parse(pod.cpu?.time ?? "");
  const cpuNs = pod.cpu?.usageCoreNanoSeconds ?? 0;
  const age = at - Date.parse(pod.startTime ?? "");
  if (!WHOLE.test(pod.cpu?.time ?? "")) report(`time "${pod.cpu?.time}" is not of whole seconds`);
  if (cpuNs === 0 && (pod.memory?.usageBytes ?? 0) === 0 && age > TAKEN_MS) {
    report(`has no numbers ${age} ms after its start`);
  }
  if (before === null) return { time, cpuNs };
  if (cpuNs < before.cpuNs) report(`counter falls from ${before.cpuNs} to ${cpuNs}`);
  if (time === before.time && cpuNs !== before.cpuNs) report("changes without a newer time");
  if (time < before.time) report(`time steps back by ${before.time - time} ms`);
  return { time, cpuNs };
}

function toName({ podRef }: PodStats): string {
  return podRef?.name ?? "";
}
