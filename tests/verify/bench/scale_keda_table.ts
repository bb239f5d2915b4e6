/**
 * What the bench of podfit next to KEDA prints: what each process used in each phase, and how much podfit used for each second
 * of those that did the same work before. Pure, so that a test has seen what is committed as a result.
 */

/** In the order of the table. */
export const PROCESSES = [
  "podfit",
  "KEDA's operator",
  "KEDA's adapter",
  "kube-controller-manager",
  "kube-apiserver",
] as const;

export type ProcessName = typeof PROCESSES[number];

/** Who sets the replicas, and who measures. */
export const PHASES = ["HPA", "podfit, KEDA measures", "podfit alone"] as const;

export type PhaseName = typeof PHASES[number];

export interface ProcessCost {
  readonly cpuSeconds: number;
  /** At the end of the window. */
  readonly rssMiB: number;
}

export interface Phase {
  readonly windowSeconds: number;
  /** That KEDA's operator answered in the window. */
  readonly questions: number;
  /** A process that does not run has none. */
  readonly costs: Readonly<Partial<Record<ProcessName, ProcessCost>>>;
}

const NONE: ProcessCost = { cpuSeconds: 0, rssMiB: 0 };

/** Returns the report as Markdown. */
export function writeKedaReport(objects: number, phases: Readonly<Record<PhaseName, Phase>>): string {
  const [hpa, next] = [phases["HPA"], phases["podfit, KEDA measures"]];
  const perMinute = (phase: Phase, name: ProcessName) =>
    ((phase.costs[name] ?? NONE).cpuSeconds / phase.windowSeconds) * 60;
  const toRow = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const rows = PROCESSES.map((name) =>
    toRow([
      name,
      ...PHASES.map((phase) => perMinute(phases[phase], name).toFixed(2)),
      ...PHASES.map((phase) => (phases[phase].costs[name] ?? NONE).rssMiB.toFixed(0)),
    ])
  );
  const sum = (phase: Phase, names: readonly ProcessName[]) =>
    names.reduce((total, name) => total + perMinute(phase, name), 0);
  const manager = "kube-controller-manager";
  const hpaPart = perMinute(hpa, manager) - perMinute(next, manager);
  const kedas = ["KEDA's operator", "KEDA's adapter"] as const;
  const before = sum(hpa, kedas) + hpaPart;
  const ratio = (part: number) => (part / before).toFixed(2);
  return [
    `${objects} ScaledObjects with two triggers each. CPU in seconds per minute, memory in MiB:`,
    "",
    toRow(["process", ...PHASES.map((phase) => `CPU, ${phase}`), ...PHASES.map((phase) => `memory, ${phase}`)]),
    `|${"---|".repeat(1 + 2 * PHASES.length)}`,
    ...rows,
    "",
    ...PHASES.map((phase) =>
      `${phase}: KEDA's operator answered ${(phases[phase].questions / phases[phase].windowSeconds * 15).toFixed(0)} ` +
      "questions for metrics in 15 s"
    ),
    `The HPA controller's part of kube-controller-manager: ${hpaPart.toFixed(2)} (with HPAs, minus without)`,
    `podfit to the HPA controller's part: ${(perMinute(next, "podfit") / hpaPart).toFixed(2)}`,
    `podfit to KEDA with HPA (operator, adapter, HPA controller's part): ${ratio(perMinute(next, "podfit"))}`,
    `podfit and KEDA to KEDA with HPA: ${ratio(sum(next, ["podfit", ...kedas]))}`,
    `podfit, which measures by itself, and KEDA to KEDA with HPA: ${
      ratio(sum(phases["podfit alone"], ["podfit", ...kedas]))
    }`,
  ].join("\n");
}
