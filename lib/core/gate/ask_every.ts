/** What each gate by itself says of a candidate, for people who ask why: the decision goes by the first objection alone. */
import type { Candidate } from "./candidate.ts";
import { type Gate, GATES } from "./gates.ts";
import type { Objection } from "./objection.ts";

export type GateName = keyof typeof GATES;

/** One gate's answer; `null` = it lets the candidate pass. */
export interface GateAnswer {
  readonly gate: GateName;
  readonly objection: Objection | null;
}

/** One per gate, in their order. */
export function askEvery(candidate: Candidate): readonly GateAnswer[] {
  return Object.entries<Gate>(GATES).map(([name, ask]) => {
    const gate = name as GateName;
    // What sizing leaves where it is has not been commanded.
    const isIdle = gate === "notCommanded" && candidate.moving.length === 0;
    return { gate, objection: isIdle ? null : ask(candidate) };
  });
}
