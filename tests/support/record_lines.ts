/** A daemon beside an embedded cluster whose evaluations are kept as record lines, as `/debug/records` gives them. */
import type { ReplicasEvaluation } from "../../lib/daemon/replicas/reports.ts";
import type { Evaluation } from "../../lib/daemon/pods/controller.ts";
import {
  type PodLine,
  type RecordLine,
  REPLICAS_RECORD_VERSION,
  type ScaledObjectLine,
  toRecord,
} from "../../lib/record/record.ts";

export interface LineKeeper {
  readonly onEvaluation: (evaluation: Evaluation) => void;
  readonly onPass: (pass: ReplicasEvaluation) => void;
  /** Oldest first. */
  readonly pod: (name: string) => readonly PodLine[];
  readonly scaledObject: (name: string) => readonly ScaledObjectLine[];
  readonly all: () => readonly RecordLine[];
}

/** Keeps every evaluation, and merges none. */
export function keepLines(): LineKeeper {
  const lines: RecordLine[] = [];
  return {
    onEvaluation({ before, input, outcome }) {
      const { namespace, name, uid } = input.pod;
      const record = toRecord({ before, input, outcome });
      lines.push({ kind: "pod", namespace, name, uid, count: 1, since: input.now, record });
    },
    onPass({ before, input, outcome }) {
      const { namespace, name, uid } = input.object;
      const record = { version: REPLICAS_RECORD_VERSION, before, input, outcome } as const;
      lines.push({ kind: "scaledObject", namespace, name, uid, count: 1, since: input.now, record });
    },
    pod: (name) => lines.filter((line) => line.kind === "pod" && line.name === name) as PodLine[],
    scaledObject: (name) =>
      lines.filter((line) => line.kind === "scaledObject" && line.name === name) as ScaledObjectLine[],
    all: () => lines,
  };
}
