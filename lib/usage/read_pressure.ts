/**
 * The CPU pressure (PSI) that a kubelet's summary has of a container, since 1.34. Its total is documented in ns and is
 * so only while the runtime's own numbers are served, which is in a container's first 13 to 22 s, or for ever on nodes
 * without cAdvisor; cAdvisor passes on the kernel's microseconds: https://docs.kernel.org/accounting/psi.html
 */
import type { Pressure } from "../api/usage.ts";
import { isRecord } from "../units/untrusted.ts";

/**
 * `psi` is untrusted; `ageMs`: how long the instance has run. `null` where nothing is measured: some = full = 0 is what
 * a kernel without PSI gives for ever, and one with PSI never, as each process has waited a little (L20).
 */
export function readPressure(psi: unknown, ageMs: number): Pressure | null {
  if (!isRecord(psi) || !isRecord(psi.full)) return null;
  const { total, avg10, avg60 } = psi.full;
  const someTotal = isRecord(psi.some) ? psi.some.total : 0;
  if (!isTotal(total) || !isTotal(someTotal) || !isPercent(avg10) || !isPercent(avg60)) return null;
  const largest = Math.max(total, someTotal);
  if (largest === 0) return null;
  // Nothing waits longer than it lives: what would have in microseconds is in nanoseconds.
  const unit = largest * NS.us <= toLongestNs(ageMs) ? "us" : "ns";
  if (largest * NS[unit] > toLongestNs(ageMs)) return null;
  const fullHint = { unit, percent: Math.max(avg10, avg60) } as const;
  return { fullNs: total * NS[unit], fullHint, throttledNs: null, largestCpuNs: null };
}

const NS = { us: 1000, ns: 1 } as const;
/** The start and the time of a sample are whole seconds, and the kernel starts to count with the cgroup. */
const SLACK_MS = 2000;
/** uint64. */
const MAX_TOTAL = 2 ** 64;

function toLongestNs(ageMs: number): number {
  return (ageMs + SLACK_MS) * 1e6;
}

function isTotal(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= MAX_TOTAL;
}

function isPercent(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value <= 100;
}
