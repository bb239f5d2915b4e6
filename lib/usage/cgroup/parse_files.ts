/**
 * What the text of a cgroup's files says. A container can write to none of them, but a mount may hold anything: what is
 * no number of the expected kind is `null`, and nothing throws.
 * https://docs.kernel.org/admin-guide/cgroup-v2.html, https://docs.kernel.org/admin-guide/cgroup-v1/index.html,
 * https://docs.kernel.org/accounting/psi.html
 */

import type { Pressure } from "../../api/usage.ts";

/** The text of a container's files; `null` for one that its cgroup does not have. */
export interface ContainerTexts {
  /** `cpu.stat`; in version 1 `cpuacct.usage_percpu`. */
  readonly usage: string;
  /** `memory.current`, `memory.usage_in_bytes`. */
  readonly memory: string;
  readonly memoryStat: string;
  /** `cpu.stat` of either version. */
  readonly throttling: string | null;
  /** `cpu.pressure`, which version 1 has not, and a kernel without PSI neither. */
  readonly pressure: string | null;
  /** `memory.events`, `memory.oom_control`. */
  readonly events: string | null;
}

/** A container's numbers since its cgroup was made; ns and bytes, `null` where they are not measured. */
export interface ContainerNumbers {
  readonly counterNs: number;
  readonly workingSetBytes: number;
  readonly usageBytes: number;
  readonly pressure: Pressure | null;
  readonly oomKills: number | null;
}

/** `null` when usage is not what the files of this version have. */
export function parseContainer(texts: ContainerTexts, version: 1 | 2): ContainerNumbers | null {
  const cpus = version === 1 ? parseCounters(texts.usage) : null;
  const counterNs = version === 1 ? sum(cpus) : toNs(readField(texts.usage, "usage_usec"), US);
  const usageBytes = parseBytes(texts.memory);
  const inactiveBytes = readField(texts.memoryStat, version === 1 ? "total_inactive_file" : "inactive_file");
  if (counterNs === null || usageBytes === null || inactiveBytes === null) return null;
  return {
    counterNs,
    // As cAdvisor does, and so the kubelet.
    workingSetBytes: Math.max(0, usageBytes - inactiveBytes),
    usageBytes,
    pressure: toPressure({
      fullNs: readFullNs(texts.pressure),
      throttledNs: version === 1
        ? toNs(readField(texts.throttling, "throttled_time"), 1)
        : toNs(readField(texts.throttling, "throttled_usec"), US),
      largestCpuNs: cpus === null ? null : Math.max(...cpus),
    }),
    oomKills: readField(texts.events, "oom_kill"),
  };
}

/** A file that is one number, in bytes. */
export function parseBytes(text: string): number | null {
  return parseNumber(text.trim(), MAX_BYTES);
}

/** A microsecond in ns. */
const US = 1000;
/** The counters' own type ends here (uint64): 584 core-years. */
const MAX_COUNTER = 2 ** 64;
const MAX_BYTES = 2 ** 50;
const MAX_CPUS = 8192;

/** `NAME NUMBER` on a line of its own. */
function readField(text: string | null, name: string): number | null {
  if (text === null) return null;
  const start = text.startsWith(`${name} `) ? 0 : text.indexOf(`\n${name} `) + 1;
  if (start === 0 && !text.startsWith(`${name} `)) return null;
  const end = text.indexOf("\n", start);
  return parseNumber(text.slice(start + name.length + 1, end === -1 ? undefined : end), MAX_COUNTER);
}

/** `full avg10=0.00 avg60=0.00 avg300=0.00 total=0`, in µs; kernels before 5.13 have no `full` for cpu. */
function readFullNs(text: string | null): number | null {
  const total = /^full .{0,200}\btotal=(\d{1,20})$/m.exec(text ?? "")?.[1];
  return total === undefined ? null : toNs(parseNumber(total, MAX_COUNTER), US);
}

function toPressure(pressure: Pressure): Pressure | null {
  const { fullNs, throttledNs, largestCpuNs } = pressure;
  return fullNs === null && throttledNs === null && largestCpuNs === null ? null : pressure;
}

/** One number for each CPU, with spaces between and behind them. */
function parseCounters(text: string): readonly number[] | null {
  const counters: number[] = [];
  for (const word of text.trim().split(" ", MAX_CPUS + 1)) {
    const counter = parseNumber(word, MAX_COUNTER);
    if (counter === null) return null;
    counters.push(counter);
  }
  return counters.length <= MAX_CPUS ? counters : null;
}

function sum(counters: readonly number[] | null): number | null {
  return counters === null ? null : toNs(counters.reduce((one, other) => one + other, 0), 1);
}

function toNs(amount: number | null, unitNs: number): number | null {
  return amount === null || amount * unitNs > MAX_COUNTER ? null : amount * unitNs;
}

/** Not isSafeInteger: an honest counter passes 2^53. */
function parseNumber(text: string, max: number): number | null {
  if (!/^\d{1,20}$/.test(text)) return null;
  const number = Number(text);
  return number <= max ? number : null;
}
