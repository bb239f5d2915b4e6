/**
 * The flags of `podfit replay`. A wrong flag ends with code 2, because 1 means that a decision differs.
 */
import { Argument } from "commander";
import { createFlag, defineCommand, type Typed } from "../command/command.ts";

/** What is replayed. */
export interface ReplayOptions {
  /** `-` = stdin. */
  readonly path: string;
  /** A manifest of the policy to compare with; `null` = none. */
  readonly policyPath: string | null;
}

const NOTES = `
Needs no cluster. FILE is what "podfit record" writes, or what /debug/records answers, of pods and of ScaledObjects; - is stdin.
Each record goes through the decisions of this podfit again.

With --policy nothing is checked: beside what was decided of pods stands what that PodResourceAutoscaler would have decided, on the
recorded usage and on sizes of its own, in which each of its resizes is in force at once.

Exit codes: 0 the same was decided (always with --policy), 1 something else, 2 a file or flag that is no good.
`;

type Given = Readonly<{ policy?: string | null }>;

export const createReplayCommand = defineCommand({
  name: "replay",
  description: "take recorded evaluations through the decisions again, or through another policy's",
  argument: new Argument("<file>", "a trace: one record in each line, or - for stdin"),
  flags: [createFlag("--policy <file>", "manifest of a PodResourceAutoscaler to compare with")],
  notes: NOTES,
  examples: [
    ["is the same decided?", "podfit replay trace.jsonl"],
    ["what would another policy have decided?", "podfit replay trace.jsonl --policy other.yaml"],
  ],
  codes: "check",
  parse: ({ argument, given: { policy = null } }: Typed<Given>): ReplayOptions => ({
    path: argument ?? "",
    policyPath: policy,
  }),
});
