/** Stories whose every evaluation is recorded. */
import { decideSize } from "../../lib/vertical/decide.ts";
import type { Observation, SizeInput } from "../../lib/model/decision.ts";
import type { PodState } from "../../lib/model/state.ts";
import { type EvaluationRecord, toRecord } from "../../lib/record/record.ts";
import { SECOND } from "./builders.ts";
import { Story, type StoryOptions } from "./story.ts";

/** Eight polls, a condition that defers, and some seconds. */
export function recordStory(options: StoryOptions): readonly EvaluationRecord[] {
  const story = new RecordedStory(options);
  for (let poll = 0; poll < 8; poll++) story.poll();
  story.change({ pending: { reason: "Deferred", message: "no room", since: story.now } });
  for (let poll = 0; poll < 4; poll++) story.wait(5 * SECOND).observe({ kind: "tick" } satisfies Observation);
  return story.records;
}

class RecordedStory extends Story {
  readonly records: EvaluationRecord[] = [];

  override decide(before: PodState, input: SizeInput) {
    const outcome = decideSize(before, input);
    this.records.push(toRecord({ before, input, outcome }));
    return outcome;
  }
}
