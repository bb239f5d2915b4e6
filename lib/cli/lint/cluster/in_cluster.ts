/** What is found in the autoscalers and ScaledObjects that are in the cluster: in each by itself, and in several together. */
import { advise } from "../../../autoscaler/advice.ts";
import type { AutoscalerFacts } from "../../../daemon/inventory/facts.ts";
import type { Problem, Remark } from "../../../units/problem.ts";
import type { ScaledObjectFacts } from "../../../scaled_object/scaled_object.ts";
import type { Level, Relation, Shown, Statement, Subject } from "../finding.ts";
import type { Noun } from "../kinds.ts";
import type { Known } from "../known.ts";
import type { LintResult } from "../manifests.ts";

/** As of files; by kind, namespace and name. */
export function toClusterResult(
  known: Known,
  relations: readonly Relation[],
): Pick<LintResult, "checked" | "others"> & { readonly findings: readonly Shown[] } {
  const { podresourceautoscalers, scaledobjects } = known;
  const alone = [
    ...podresourceautoscalers.flatMap((facts) =>
      toShown(checkAutoscaler(facts), toSubject("PodResourceAutoscaler", facts))
    ),
    ...scaledobjects.flatMap((facts) => toShown(checkScaledObject(facts), toSubject("ScaledObject", facts))),
  ];
  const together = relations.flatMap(({ of, ...statement }) => toShown([statement], of));
  const counts = [["autoscaler", podresourceautoscalers.length], ["scaled object", scaledobjects.length]] as const;
  return {
    findings: [...alone, ...together].toSorted(bySubject),
    checked: new Map<Noun, number>(counts.filter(([, count]) => count > 0)),
    others: 0,
  };
}

function checkAutoscaler({ problems, warnings, autoscaler }: AutoscalerFacts): readonly Statement[] {
  return [
    ...toStatements("error", problems),
    ...toStatements("warning", warnings),
    ...toStatements("advice", autoscaler === null ? [] : advise(autoscaler)),
  ];
}

function checkScaledObject({ problems, warnings }: ScaledObjectFacts): readonly Statement[] {
  return [...toStatements("error", problems), ...toStatements("warning", warnings)];
}

function toStatements(level: Level, problems: readonly (Problem & Partial<Remark>)[]): readonly Statement[] {
  const fallback = level === "error" ? "invalid" : "no-effect";
  return problems.map(({ rule = fallback, path, message }) => ({ level, rule, path, message }));
}

function toSubject(kind: string, { namespace, name }: Omit<Subject, "kind">): Subject {
  return { kind, namespace, name };
}

function toShown(statements: readonly Statement[], { kind, namespace, name }: Subject): readonly Shown[] {
  return statements.map((one) => ({ ...one, file: null, place: null, kind, object: `${namespace}/${name}` }));
}

function bySubject(a: Shown, b: Shown): number {
  const [one, other] = [a, b].map(({ kind, object }) => `${kind} ${object}`);
  return one === other ? 0 : (one ?? "") < (other ?? "") ? -1 : 1;
}
