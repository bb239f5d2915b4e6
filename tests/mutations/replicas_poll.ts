/** Slips in the fold of ScaledObjects around its tick half: activation, pauses, formulas, fallback, status and events. */
import type { Mutations } from "../../tools/mutation.ts";

const WHOLE_ACTIVE = "chooseActivationStep() does as KEDA in every case of an active object (R52)";
const WHOLE_INACTIVE =
  "chooseActivationStep() does as KEDA in every case of an inactive object, but that no error scales to zero (R53)";
const PAUSED = "decideReplicas() runs neither half of a paused object, and forgets needs and events (R45, R55)";
const AT_NUMBER =
  "decideReplicas() writes paused-replicas when the object appears or changes, and leaves later changes by hand (R55)";
const RESTRAINED =
  "disablePausedDirections() disables the paused direction, and so fills in a behavior that was absent (R56)";
const REFUSED =
  "decideReplicas() says of a refused write FailedUpdateScale and FailedRescale, once for each cause (R46, R92)";
const COUNTED =
  "decideReplicas() counts failures of both halves, each fresh one once, and a success ends them (R8, R19, R70)";

export const REPLICAS_POLL: Mutations = {
  R30: [
    {
      breaks: "says nothing of a scale that cannot be read",
      in: "CONDITION_NOTICES",
      find: 'isNews: hasReason("FailedGetScale")',
      replace: 'isNews: hasReason("FailedUpdateScale")',
      test: "decideReplicas() reports a scale that cannot be read, once (R30, R92)",
    },
  ],
  R44: [
    {
      breaks: "stamps an event by the answer, so that the next tick sees its own last write",
      in: "nextScalingHistory",
      find: "now: write.at",
      replace: "now: input.now",
      test:
        "decideReplicas() notes an accepted write of the tick half at the tick's due time, however late the answer (R7, R44)",
    },
  ],
  R45: [
    {
      breaks: "remembers needs over a pause",
      in: "setPausedCondition",
      find: "object.isPaused ?",
      replace: "object.scaledObject === null && object.isPaused ?",
      test: PAUSED,
    },
  ],
  R46: [
    {
      breaks: "takes a refused write for an accepted one",
      in: "applyAnswer",
      find: 'case "dropped":',
      replace:
        'case "refused": return applyAccepted(before, { write, replicas: write.replicas, input }); case "dropped":',
      test: REFUSED,
    },
  ],
  R50: [
    {
      breaks: "is inactive where one of several triggers fails",
      in: "computeTriggerActivity",
      find: "isActive: active.length > 0",
      replace: 'isActive: active.length > 0 && metrics.every(({ result }) => result.kind !== "failed")',
      test: "decideReplicas() is active where any one trigger is, though another one fails (R50, R51)",
    },
    {
      breaks: "does not count what failed",
      in: "computeTriggerActivity",
      find: 'result.kind === "failed"',
      replace: 'result.kind === "nil"',
      test:
        "decideReplicas() keeps when it was active last in whole seconds, and with a failed trigger does not move it (R50, R52, R53)",
    },
  ],
  R52: [
    {
      breaks: "is ready while its start is refused",
      in: "applyFailed",
      find: "...(Ready && { Ready }), ",
      replace: "",
      test: "decideReplicas() reports a start that is refused in Ready, until it is accepted (R52, R53)",
    },
    {
      breaks: "is ready between two tries",
      in: "runActivationLoop",
      find: "const ready = isHeld ? conditions.Ready : toReadyNow(input);",
      replace: "const ready = toReadyNow(input);",
      test: "decideReplicas() reports a start that is refused in Ready, until it is accepted (R52, R53)",
    },
    {
      breaks: "does not activate while another trigger fails",
      in: "chooseActive",
      find: "replicas === 0 ||",
      replace: "(replicas === 0 && !isError) ||",
      test: WHOLE_ACTIVE,
    },
    {
      breaks: "stamps an activation by its answer",
      in: "applyAccepted",
      find: "toWholeSeconds(write.at)",
      replace: "toWholeSeconds(input.now)",
      test:
        "decideReplicas() takes an activation as activity once it is accepted, at the time when the poll was due (R52)",
    },
  ],
  R53: [
    {
      breaks: "scales to zero for an error where fallback is set",
      in: "chooseInactive",
      find: 'if (isError) return hasFallback ? "awaitFallback" : "fail";',
      replace: 'if (isError && !hasFallback) return "fail";',
      test: WHOLE_INACTIVE,
    },
    {
      breaks: "does not go to idle",
      in: "chooseInactive",
      find: "replicas > idleReplicas",
      replace: "replicas > minReplicas",
      test: WHOLE_INACTIVE,
    },
  ],
  R55: [
    {
      breaks: "runs paused objects",
      in: "applyObservation",
      find: "input.object.isPaused",
      replace: "object.annotations.isScaleInPaused",
      test: PAUSED,
    },
    {
      breaks: "undoes what was changed by hand at each poll",
      in: "skipWhilePaused",
      find: "applyPause(state, null, input)",
      replace: "applyPause(state, scale, input)",
      test: AT_NUMBER,
    },
  ],
  R56: [
    {
      breaks: "disables the other direction",
      in: "disablePausedDirections",
      find: 'isScaleInPaused ? { ...scaleDown, select: "Disabled" }',
      replace: 'isScaleOutPaused ? { ...scaleDown, select: "Disabled" }',
      test: RESTRAINED,
    },
    {
      breaks: "pauses no direction where the manifest has no behavior",
      in: "disablePausedDirections",
      find: "if (!isScaleInPaused && !isScaleOutPaused)",
      replace: "if (behavior === null || (!isScaleInPaused && !isScaleOutPaused))",
      test: RESTRAINED,
    },
    {
      breaks: "goes to zero with scale-in paused",
      in: "deactivate",
      find: "object.annotations.isScaleInPaused",
      replace: "object.annotations.isScaleOutPaused",
      test: "decideReplicas() does not go to zero with scale-in paused, and neither does its tick half scale in (R56)",
    },
    {
      breaks: "activates with scale-out paused",
      in: "activate",
      find: "if (isScaleOutPaused) return",
      replace: "if (isScaleOutPaused && isForcedActive) return",
      test: "decideReplicas() does not activate with scale-out paused, and neither does its tick half scale out (R56)",
    },
  ],
  R57: [
    {
      breaks: "tells of a deletion again and again",
      in: "applyDeletion",
      find: "isNews ?",
      replace: "isNews || scale === null ?",
      test: "decideReplicas() notifies of the deletion once, and forgets needs and events (R45, R57, R92)",
    },
    {
      breaks: "goes on scaling what is being deleted",
      in: "applyObservation",
      find: "input.object.isDeleting",
      replace: "input.dryRun",
      test: "decideReplicas() runs no half of an object that is being deleted (R57)",
    },
  ],
  R58: [
    {
      breaks: "goes to zero at once where no time of activity is known",
      in: "deactivate",
      find: "isUnknown ? null : toWholeSeconds(input.now)",
      replace: "null",
      test:
        "an object that was never active counts as active when it is first found inactive, for a whole cooldown (R58)",
    },
    {
      breaks: "goes to zero at the first check after a start",
      in: "describeUnproven",
      find: "before.answeredChecks + 1 <",
      replace: "before.answeredChecks + 2 <",
      test: "a podfit that has started goes to zero at its second check in which every trigger answers (R58)",
    },
    {
      breaks: "takes a failed check for one that answered",
      in: "runActivationLoop",
      find: "answeredChecks: isError ? before.answeredChecks :",
      replace: "answeredChecks: isError && before.answeredChecks > 9 ? before.answeredChecks :",
      test: "a podfit that has started goes to zero at its second check in which every trigger answers (R58)",
    },
    {
      breaks: "doubts an empty answer by checks alone",
      in: "isDoubted",
      find: "Math.max(EMPTY_MS, ",
      replace: "Math.min(EMPTY_MS, ",
      test: "an empty answer of a trigger that gave values is a failure for 5 minutes, with its own reason (R58)",
    },
    {
      breaks: "doubts an empty answer of an object at its minimum",
      in: "evaluateTriggers",
      find: "replicas > (object",
      replace: "replicas >= (object",
      test: "an empty answer is neither a failure nor a reason for fallback where replicas cannot fall (R58)",
    },
    {
      breaks: "doubts what the manifest has decided",
      in: "doubtsEmptyAnswers",
      find: "!source.hasNullRule",
      replace: "source.ignoresNullValues",
      test: "what ignoreNullValues says in the manifest is done at once (R14, R58)",
    },
    {
      breaks: "scales in for a formula that has an empty answer as 0",
      in: "proposeForFormula",
      find: "proposal.replicas < facts.observation.scale.replicas",
      replace: "proposal.replicas < 0",
      test: "a formula has an empty answer as 0: it may scale out for it, and neither scale in nor go to zero (R58)",
    },
    {
      breaks: "ends the cooldown before the initial one",
      in: "computeCooldownEnd",
      find: "kedaDeactivation ? end : Math.max(end, initialEnd)",
      replace: "end",
      test: "no object goes to zero before its initial cooldown is over, though it was active after its creation (R58)",
    },
  ],
  R59: [
    {
      breaks: "counts no turn",
      in: "DeactivationLimit.take",
      find: "max !== Infinity",
      replace: "max === Infinity",
      test: "at most so many targets have a turn within any minute, and the others wait (R59)",
    },
    {
      breaks: "takes the turns that other namespaces wait for",
      in: "DeactivationLimit.#hasTurn",
      find: "free > claimed",
      replace: "free > 0",
      test: "a namespace that wants many turns leaves the others theirs (R59)",
    },
    {
      breaks: "says it each time",
      in: "reportHeld",
      find: "findTopic(before, HELD_TOPIC) === null",
      replace: "before !== null",
      test:
        "a deactivation that waits for its turn is said once for each wait, and leaves what is known as it was (R59)",
    },
  ],
  R60: [
    {
      breaks: "takes every formula's value as an average",
      in: "proposeForFormula",
      find: "{ ...formula, name: COMPOSITE_METRIC_NAME, facts }",
      replace: '{ ...formula, metricType: "AverageValue", name: COMPOSITE_METRIC_NAME, facts }',
      test: "decideReplicas() holds a formula's value against the formula's own target and by its own type (R60, R61)",
    },
  ],
  R61: [
    {
      breaks: "lets the external triggers count beside the formula",
      in: "listScalingMetrics",
      find: "...listResourceTriggers(object)",
      replace: "...triggers",
      test: "decideReplicas() asks the formula instead of the external triggers, beside cpu and memory (R61)",
    },
    {
      breaks: "drops metrics of single containers, as KEDA does",
      in: "listScalingMetrics",
      find: "listResourceTriggers(object)",
      replace: "listResourceTriggers(object).filter(({ container }) => container === null)",
      test: "decideReplicas() lets cpu outweigh the formula (R61)",
    },
  ],
  R63: [
    {
      breaks: "rounds the result",
      in: "toCompositeMetric",
      find: "truncMilli(value)",
      replace: "truncMilli(Math.round(value * 1000) / 1000)",
      test: "computeComposite() cuts the result to thousandths, also below zero (R63)",
    },
    {
      breaks: "shows the formula thousandths divided by 1000",
      in: "listFormulaValues",
      find: "milliToDouble(result.milli)",
      replace: "Number(result.milli) / 1000",
      test: "computeComposite() lets the formula see rounded values, of named triggers alone (R17, R63)",
    },
  ],
  R70: [
    {
      breaks: "never forgets a failure",
      in: "countFailure",
      find: ": 0;",
      replace: ": before;",
      test: COUNTED,
    },
  ],
  R71: [
    {
      breaks: "multiplies in another order than KEDA",
      in: "toFallbackValue",
      find: "target * 1000 * k",
      replace: "target * (1000 * k)",
      test: "toFallbackValue() takes a target as n * 0.001, and a formula's as it is written (R63, R71)",
    },
    {
      breaks: "lets an error stand although fallback has a value",
      in: "findExternalValue",
      find: "{ milli: result.milli }",
      replace: "{ ...result }",
      test:
        "decideReplicas() falls back at the fourth failure with a threshold of three, and then to 4 and 6 replicas (R70, R71)",
    },
  ],
  R72: [
    {
      breaks: "tells of fallback at the first failure",
      in: "hasTriggerInFallback",
      find: "isInFallback(failures, metricName, object.fallback)",
      replace: "(findFailureCount(failures, metricName) ?? 0) > 0",
      test:
        "decideReplicas() tells of fallback while any trigger is above its threshold, fractional targets included (R72)",
    },
  ],
  R76: [
    {
      breaks: "takes the maximum for what was wanted",
      in: "toTransferredNotice",
      find: "wanted ${hpa.desired} last",
      replace: "wanted ${hpa.max} last",
      test: "toTransferredNotice() names the HPA with its bounds and what it wanted last (R76)",
    },
  ],
  R91: [
    {
      breaks: "says an HPA's reason for HPAActive",
      in: "mirrorHpaActive",
      find: '"HPA is actively scaling"',
      replace: "HPAActive.message",
      test: "toScaledObjectStatus() has conditions of KEDA's and HPA's words alone (R91)",
    },
    {
      breaks: "says that an HPA at zero replicas fails",
      in: "mirrorHpaActive",
      find: 'HPAActive.reason === "ScalingDisabled"',
      replace: 'HPAActive.reason === "HPAActive"',
      test: "decideReplicas() mirrors a tick without a metric as KEDA mirrors an HPA's (R91)",
    },
    {
      breaks: "says that an HPA scales while the object is blocked",
      in: "stopLoops",
      find: "Active: unknown, HPAActive: unknown,",
      replace: "Active: unknown,",
      test: "decideReplicas() has true conditions with an invalid object, and when that has ended (R91)",
    },
    {
      breaks: "keeps what the last scaling check found",
      in: "dropScaling",
      find: "ScalingLimited: _limited, ",
      replace: "",
      test: "decideReplicas() has true conditions while its trigger fails (R91)",
    },
    {
      breaks: "says that the scale of a missing target was read",
      in: "toAbleToGetScale",
      find: 'reason !== "TargetNotFound" && ',
      replace: "",
      test: "decideReplicas() has true conditions with a target that is missing, and when that has ended (R91)",
    },
  ],
  R92: [
    {
      breaks: "tells of each type of trigger at each change",
      in: "reportScalersStarted",
      find: "built.filter(isNew)",
      replace: "built",
      test:
        "decideReplicas() notifies of each type of trigger that is built, and of a new one when the object changes (R92)",
    },
    {
      breaks: "tells of a missing target at each check",
      in: "applyBlocker",
      find: 'obstacle.kind === "check" && isNews',
      replace: 'obstacle.kind === "check"',
      test: "decideReplicas() has KEDA's texts for a target that is missing or cannot be scaled, once each (R6, R92)",
    },
    {
      breaks: "tells of a failing trigger at each poll",
      in: "reportFailedTriggers",
      find: "findTopic(before, topic) !== error",
      replace: "findTopic(before, topic) !== topic",
      test:
        "decideReplicas() notifies of a failing trigger when it begins, when the cause changes, and after a recovery (R92)",
    },
  ],
  R94: [
    {
      breaks: "reports usage in thousandths",
      in: "reportResource",
      find: "milliToDouble(sum)",
      replace: "Number(sum)",
      test:
        "decideReplicas() reports of a tick usage, pods, ratio and proposal of each trigger, then need and result (R94)",
    },
  ],
};
