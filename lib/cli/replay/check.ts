/** A recorded line through the fold again: does the same come of it? */
import { decide } from "../../core/decide.ts";
import { decideReplicas } from "../../core/replicas/decide.ts";
import type { RecordLine } from "../../record/line.ts";
import { type Difference, findDifferences } from "./differences.ts";

/** Where what the fold gives now differs from what it gave; paths begin at the outcome. Never throws. */
export function checkLine(line: RecordLine): readonly Difference[] {
  try {
    return findDifferences(line.record.outcome, foldAgain(line));
  } catch (error) {
    // Nothing that was really decided leads here: the file has been edited.
    return [{ path: "", was: "an outcome", is: `an error: ${(error as Error).message}` }];
  }
}

function foldAgain(line: RecordLine): unknown {
  return line.kind === "pod"
    ? decide(line.record.before, line.record.input)
    : decideReplicas(line.record.before, line.record.input);
}
