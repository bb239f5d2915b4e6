/** What a look without a daemon has to have seen, and its lines as a source like any other. */
import type { PodLine, RecordLine } from "../../record/line.ts";
import { DebugError, type DebugSource } from "./debug_source.ts";
import type { Subject } from "../subject.ts";
import { isNameOf, nameTarget } from "./targets.ts";

/** Two samples of a pod; two ticks of a ScaledObject, or where there is none, two samples of some pod of the workload. */
export function hasSeenEnough(lines: readonly RecordLine[], { kind, name }: Subject): boolean {
  const pods = lines.filter((line) => line.kind === "pod");
  if (kind === "pod") return pods.some((line) => line.name === name && hasTwoSamples(line));
  const target = `${kind}/${name}`;
  const objects = lines.filter((line) => line.kind === "scaledObject").filter((line) =>
    kind === "scaledobject" ? line.name === name : nameTarget(line) === target
  );
  if (objects.length > 0) return objects.filter(({ record }) => record.outcome.report?.half === "tick").length > 1;
  return pods.some((line) => isNameOf(line.name, target) && hasTwoSamples(line));
}

function hasTwoSamples({ record: { outcome: { state } } }: PodLine): boolean {
  const views = [...Object.values(state.views), ...Object.values(state.shadow?.state.views ?? {})];
  return views.length > 0 && views.every(({ evidence: { since, until } }) => since !== null && until > since);
}

export function toSource(lines: readonly RecordLine[]): DebugSource {
  return {
    name: "this look",
    async *read({ namespace, pod, scaledObject, latest }) {
      await Promise.resolve();
      const named = lines.filter((line) =>
        (namespace === undefined || line.namespace === namespace) &&
        (pod === undefined || (line.kind === "pod" && line.name === pod)) &&
        (scaledObject === undefined || (line.kind === "scaledObject" && line.name === scaledObject))
      );
      const name = pod ?? scaledObject;
      if (named.length === 0 && name !== undefined) {
        const why = "no PodResourceAutoscaler or ScaledObject is about it, or no usage of it came";
        throw new DebugError("NothingKnown", `Cannot explain "${name}": ${why}`);
      }
      yield* latest === true ? listLatest(named) : named;
    },
  };
}

function listLatest(lines: readonly RecordLine[]): readonly RecordLine[] {
  return [...new Map(lines.map((line) => [`${line.kind} ${line.uid}`, line])).values()];
}
