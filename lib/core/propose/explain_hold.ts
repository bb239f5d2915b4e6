/** Why nothing is wanted of a container, in few words: the numbers are in the state, for those who ask. */
import type { Case } from "../case.ts";
import type { Decision } from "../decision.ts";
import { isCounted, readBaseline } from "../observe/streaks.ts";
import { readActual } from "../pod/pod_facts.ts";
import { heldBackWords } from "./held_back_words.ts";
import type { HoldReason } from "../reasons.ts";
import { NO_STREAKS } from "../state.ts";
import { explainPair } from "./pairs.ts";

/** The first that applies; every case without a proposal has one. */
export function explainHold(it: Case): Decision {
  const { input, view, container, containerState, autoscaler } = it;
  const { sample } = view.sampling;
  if (container.runningAt === null) return NOT_RUNNING;
  if (view.silentSince !== null) return UNREAD;
  if (sample === null) return WARMUP;
  const offsetMs = input.observation.kind === "usage" ? input.observation.clockOffsetMs : 0;
  if (!isCounted(sample, containerState.countsFrom + offsetMs)) return NEW_SIZE;
  const actual = readActual(container);
  if (autoscaler.sides.every((rule) => readBaseline(rule, actual) === null)) return NO_BASELINE;
  const isInBand = view.streaks === NO_STREAKS || Object.keys(view.streaks).length === 0;
  const paired = view.wantedSince === null ? null : explainPair(it);
  const held = isInBand ? IN_BAND : paired ?? STREAK_SHORT;
  const words = heldBackWords("cpu", sample);
  return words === ""
    ? held
    : hold(held.reason, `${held.message}; cpu at ${Math.round(sample.cpuMillicores)}m${words}`);
}

const NOT_RUNNING = hold("NotRunning", "the container is not running");
const UNREAD = hold("MetricsUnavailable", "no new usage is read");
const WARMUP = hold("Warmup", "waiting for the first samples");
const NEW_SIZE = hold("Warmup", "waiting for a sample of the new size");
const NO_BASELINE = hold("BaselineUnavailable", "no configured side has a request or limit to compare with");
const STREAK_SHORT = hold("StreakShort", "outside the thresholds, but not for enough samples yet");
const IN_BAND = hold("InBand", "inside the thresholds");

function hold(reason: HoldReason, message: string): Extract<Decision, { kind: "hold" }> {
  return { kind: "hold", reason, message };
}
