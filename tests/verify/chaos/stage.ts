/**
 * What a run of chaos is judged by: each fault, how soon podfit had recovered from it, and each rule that was broken. A
 * scenario writes it down on a stage; the last line of a run adds up the stages.
 */
import { draw } from "../../../lib/simulate/model/random.ts";

/** A fault that came and went. */
export interface FaultRecord {
  readonly scenario: string;
  readonly name: string;
  /** From the end of the fault until podfit worked as before, ms; `null` = it did not within `withinMs`. */
  readonly recoveredMs: number | null;
  readonly withinMs: number;
  /** Why it does not count as recovered; empty where it does. */
  readonly why: string;
}

/** What podfit must never do, whatever goes wrong around it. */
export type Rule = "wrong size" | "stale resize" | "double resize";

/** A rule that was broken. */
export interface Breach {
  readonly scenario: string;
  readonly rule: Rule;
  readonly what: string;
}

/** One scenario: faults, and what podfit makes of them. */
export interface Scenario {
  readonly name: string;
  readonly about: string;
  /** Part of the short form, which is a normal test; the others start processes or last. */
  readonly isShort: boolean;
  readonly run: (stage: Stage) => Promise<void>;
}

/** Where a scenario plays, and what is written down of it. */
export class Stage {
  readonly scenario: string;
  readonly seed: string;
  /** Fewer repetitions. */
  readonly isShort: boolean;
  readonly faults: FaultRecord[] = [];
  readonly breaches: Breach[] = [];
  /** How the memory and CPU of podfit's own process are bounded; `null` = it has no process of its own. */
  limits: string | null = null;
  #drawn = 0;

  constructor(scenario: string, { seed, isShort = false }: { readonly seed: string; readonly isShort?: boolean }) {
    this.scenario = scenario;
    this.seed = seed;
    this.isShort = isShort;
  }

  /** The next number in [0, 1) of this scenario under its seed. */
  readonly random = (): number => draw([this.seed, this.scenario, this.#drawn++]);

  /** `why`: what is still wrong; without it podfit has recovered. */
  note(fault: Pick<FaultRecord, "name" | "recoveredMs" | "withinMs"> & { readonly why?: string }): void {
    const { name, recoveredMs, withinMs, why = "" } = fault;
    this.faults.push({ scenario: this.scenario, name, recoveredMs: why === "" ? recoveredMs : null, withinMs, why });
  }

  broke(rule: Rule, what: string): void {
    this.breaches.push({ scenario: this.scenario, rule, what });
  }
}

/** Plays one scenario. A throw is a fault that nobody recovered from. */
export async function play(scenario: Scenario, options: { readonly seed: string; readonly isShort?: boolean }) {
  const stage = new Stage(scenario.name, options);
  try {
    await scenario.run(stage);
  } catch (error) {
    const why = error instanceof Error ? error.stack ?? error.message : String(error);
    stage.note({ name: "the scenario itself", recoveredMs: null, withinMs: 0, why });
  }
  return stage;
}

/** What is wrong, a line each; none where all is well. */
export function describeFailures(stages: readonly Stage[]): readonly string[] {
  return stages.flatMap(({ scenario, faults, breaches }) => [
    ...shorten(
      scenario,
      faults.filter(({ recoveredMs }) => recoveredMs === null).map(({ name, withinMs, why }) =>
        `NOT RECOVERED ${scenario}: ${name}, within ${withinMs / 1000} s: ${why || "no reason was noted"}`
      ),
    ),
    ...shorten(scenario, breaches.map(({ rule, what }) => `${rule.toUpperCase()} ${scenario}: ${what}`)),
  ]);
}

function shorten(scenario: string, lines: readonly string[]): readonly string[] {
  if (lines.length <= MOST_TOLD) return lines;
  return [...lines.slice(0, MOST_TOLD), `and ${lines.length - MOST_TOLD} more of ${scenario}`];
}

/** Of one scenario; the rest is of the same kind. */
const MOST_TOLD = 5;

/** The last line of a run. A size that was decided on stale data counts as a wrong one. */
export function summarize(stages: readonly Stage[]): string {
  const faults = stages.flatMap((stage) => stage.faults);
  const recovered = faults.flatMap(({ recoveredMs }) => recoveredMs === null ? [] : [recoveredMs]);
  const breaches = stages.flatMap((stage) => stage.breaches);
  const doubles = breaches.filter(({ rule }) => rule === "double resize").length;
  const slowest = Math.round(Math.max(0, ...recovered) / 100) / 10;
  return `faults: ${faults.length}, recovered: ${recovered.length}, slowest: ${slowest} s, ` +
    `wrong sizes: ${breaches.length - doubles}, double resizes: ${doubles}`;
}
