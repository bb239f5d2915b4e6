/** A daemon beside an embedded cluster whose evaluations are kept as record lines, as `/debug/records` gives them. */
import type { ReplicasPass } from "../../lib/daemon/replicas/sink.ts";
import type { Evaluation } from "../../lib/daemon/report/sink.ts";
import type { PodLine, RecordLine, ScaledObjectLine } from "../../lib/record/line.ts";
import { toRecord } from "../../lib/record/record.ts";
import { REPLICAS_RECORD_VERSION } from "../../lib/record/replicas_record.ts";

export interface LineKeeper {
  readonly onEvaluation: (evaluation: Evaluation) => void;
  readonly onPass: (pass: ReplicasPass) => void;
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
