/** The flags of `podfit replay`. */
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
Needs no cluster. FILE is what "podfit record" writes, or what /debug/records returns, of pods and of ScaledObjects; - is
stdin. This podfit decides each record again.

With --policy nothing is checked. Each decision about a pod is printed next to the decision of that PodResourceAutoscaler.
It uses the recorded usage and its own sizes, and each of its resizes is in force at once.
`;

type Given = Readonly<{ policy?: string | null }>;

export const createReplayCommand = defineCommand({
  name: "replay",
  description: "decide recorded evaluations again, also with another policy",
  argument: new Argument("<file>", "a trace: one record in each line, or - for stdin"),
  flags: [createFlag("--policy <file>", "manifest of a PodResourceAutoscaler to compare with")],
  notes: NOTES,
  examples: [
    ["is the same decided?", "podfit replay trace.jsonl"],
    ["what would another policy have decided?", "podfit replay trace.jsonl --policy other.yaml"],
  ],
  found: "a decision differs (never with --policy)",
  parse: ({ args: [path = ""], given: { policy = null } }: Typed<Given>): ReplayOptions => ({
    path,
    policyPath: policy,
  }),
});
