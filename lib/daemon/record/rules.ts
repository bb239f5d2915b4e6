/** What is remembered of a pod and of a ScaledObject: about an hour of each. */
import { formatLine } from "../../record/format.ts";
import type { PodLine, ScaledObjectLine } from "../../record/line.ts";
import type { EvaluationRecord } from "../../record/record.ts";
import { comparePods, compareReplicas, isBlocked, readLane } from "../../record/repeats.ts";
import type { ReplicasRecord } from "../../record/replicas_record.ts";
import type { RingRules, Run } from "../../record/ring.ts";
import { ZSTANDARD } from "./packing.ts";

const KEPT = { maxAgeMs: 3_600_000, maxLines: 256, maxBytes: 13 * 1024, packing: ZSTANDARD };

export const POD_RULES: RingRules<EvaluationRecord> = {
  ...KEPT,
  readAt: ({ input }) => input.now,
  compare: comparePods,
  keepsFirst: isBlocked,
  readLane: () => "",
  format: (run) => formatLine(toPodLine(run)),
};

export const REPLICAS_RULES: RingRules<ReplicasRecord> = {
  ...KEPT,
  readAt: ({ input }) => input.now,
  compare: compareReplicas,
  keepsFirst: () => false,
  readLane,
  format: (run) => formatLine(toScaledObjectLine(run)),
};

export function toPodLine({ record, count, since }: Run<EvaluationRecord>): PodLine {
  const { namespace, name, uid } = record.input.pod;
  return { kind: "pod", namespace, name, uid, count, since, record };
}

export function toScaledObjectLine({ record, count, since }: Run<ReplicasRecord>): ScaledObjectLine {
  const { namespace, name, uid } = record.input.object;
  return { kind: "scaledObject", namespace, name, uid, count, since, record };
}
