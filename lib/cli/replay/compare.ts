/** The recorded decisions beside those of another policy: a row where they differ, and the resizes of both. */
import type { Autoscaler } from "../../autoscaler/autoscaler.ts";
import type { ContainerDecision, Decision } from "../../core/decision.ts";
import type { PodLine } from "../../record/line.ts";
import { formatSide } from "../../core/changes.ts";
import { type Resources, SIDE_KEYS } from "../../units/resources.ts";
import { createOtherPolicy, type OtherOutcome, type OtherPolicy } from "./other_policy.ts";
import { describeDecision, formatAt } from "./words.ts";

/** Counts of what was, or would have been, resized. */
interface Resizes {
  up: number;
  down: number;
}

/** Takes lines of pods in the order of the file. */
export interface Comparison {
  /** Gives the rows for it, where the two differ and did not so before. */
  readonly take: (line: PodLine) => readonly string[];
  /** One line for each thing to know at the end. */
  readonly summarize: () => readonly string[];
  /** The policy was asked of some record. */
  readonly isAsked: () => boolean;
}

interface Seen {
  readonly other: OtherPolicy;
  /** By container: the row before. */
  readonly rows: Map<string, string>;
  line: PodLine | null;
  sizes: OtherOutcome["sizes"];
}

export function createComparison(policy: Autoscaler, name: string): Comparison {
  const pods = new Map<string, Seen>();
  const [recorded, others]: readonly Resizes[] = [{ up: 0, down: 0 }, { up: 0, down: 0 }];
  let asked = 0;
  let counted = 0;

  function take(line: PodLine): readonly string[] {
    const seen = pods.get(line.uid) ?? { other: createOtherPolicy(policy), rows: new Map(), line: null, sizes: {} };
    pods.set(line.uid, seen);
    const { scaled } = line.record.outcome;
    if (scaled !== null && recorded !== undefined) count(recorded, scaled.action);
    counted += line.count - 1;
    const outcome = seen.other(line);
    if (outcome === null) return [];
    asked++;
    Object.assign(seen, { line, sizes: outcome.sizes });
    return outcome.decisions.flatMap((decided) => toRow(line, decided, seen));
  }

  function toRow(
    line: PodLine,
    { container, autoscaler, decision }: ContainerDecision,
    { rows }: Seen,
  ): readonly string[] {
    if (isResize(decision) && others !== undefined) count(others, decision.action);
    const was = line.record.outcome.decisions.find((one) =>
      one.container === container && one.autoscaler === autoscaler
    );
    // Where nothing was asked of the one, the other does not differ from it.
    if (was === undefined && !isResize(decision)) return [];
    const [left, right] = [describeDecision(was?.decision ?? null), describeDecision(decision)];
    const row = `${left.padEnd(WIDTH)} | ${right}`;
    const isNews = rows.get(container) !== row;
    rows.set(container, row);
    if (left === right || !isNews) return [];
    return [`${formatAt(line.record.input.now)}  ${line.namespace}/${line.name} ${container}  ${row}`];
  }

  function summarize(): readonly string[] {
    const sizes = [...pods.values()].flatMap(({ line, sizes }) =>
      line === null ? [] : describeSizes(line, sizes, name)
    );
    return [
      `resizes: ${format(recorded)} recorded, ${format(others)} by ${name}`,
      ...sizes,
      ...(counted === 0 ? [] : [
        `${counted} evaluations are counted in the trace and not kept: what ${name} makes of them is not known`,
      ]),
    ];
  }

  return { take, summarize, isAsked: () => asked > 0 };
}

const WIDTH = 40;

function isResize(decision: Decision): decision is Extract<Decision, { readonly kind: "blocked" }> {
  return decision.kind === "blocked" && decision.reason === "DryRun";
}

function count(resizes: Resizes, action: "scaleUp" | "scaleDown"): void {
  if (action === "scaleUp") resizes.up++;
  else resizes.down++;
}

function format(resizes: Resizes | undefined): string {
  const { up = 0, down = 0 } = resizes ?? {};
  return `${up + down} (${up} up, ${down} down)`;
}

function describeSizes(
  { namespace, name, record }: PodLine,
  sizes: OtherOutcome["sizes"],
  by: string,
): readonly string[] {
  return record.input.pod.containers.flatMap(({ name: container, spec }) => {
    const other = Object.hasOwn(sizes, container) ? sizes[container] : undefined;
    if (other === undefined || !record.input.contenders.some((one) => one.containerName === container)) return [];
    return [`at the end ${namespace}/${name} ${container}: ${describe(spec)} recorded, ${describe(other)} by ${by}`];
  });
}

function describe(size: Resources): string {
  return SIDE_KEYS.filter((key) => size[key] !== null).map((key) => `${key} ${formatSide(key, size[key])}`).join(", ");
}
