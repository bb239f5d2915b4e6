/** CPU pressure as a summary writes it: the runtime's total in nanoseconds, cAdvisor's in the kernel's microseconds. */
import type { PsiStats } from "../../api/summary.ts";
import type { CpuPressure } from "./state.ts";

/** `null` = cgroup v1, of which cAdvisor makes zeros (recorded). */
export function toPsi(pressure: CpuPressure | null, unit: "us" | "ns"): PsiStats {
  if (pressure === null) return { full: ZEROS, some: ZEROS };
  const { fullNs } = pressure;
  const toTotal = (ns: number) => unit === "us" ? Math.floor(ns / 1000) : ns;
  const data = {
    avg10: toHundredths(pressure.avg10),
    avg60: toHundredths(pressure.avg60),
    avg300: toHundredths(pressure.avg300),
  };
  return { full: { total: toTotal(fullNs), ...data }, some: { total: toTotal(fullNs + START_NS), ...data } };
}

const ZEROS = { total: 0, avg10: 0, avg60: 0, avg300: 0 };
/** Every process has waited a little while it started. */
const START_NS = 500_000;

function toHundredths(percent: number): number {
  return Math.round(percent * 100) / 100;
}
