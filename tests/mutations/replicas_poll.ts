/** Slips in the fold of ScaledObjects around its tick half: activation, pauses, formulas, fallback, status and events. */
import type { Mutations } from "../../tools/mutation.ts";

const WHOLE_ACTIVE = "chooseActivationStep() does as KEDA in every case of an active object (R52)";
const WHOLE_INACTIVE =
  "chooseActivationStep() does as KEDA in every case of an inactive object, but that no error scales to zero (R53)";
const COOLDOWN = "decideReplicas() deactivates a cooldown after it was active last, on the very second (R53)";
const RESTS = "decideReplicas() rests its tick half at idle replicas while it is inactive, and there alone (R54)";
const PAUSED = "decideReplicas() runs neither half of a paused object, and forgets needs and events (R45, R55)";
const AT_NUMBER =
  "decideReplicas() writes paused-replicas when the object appears or changes, and leaves later changes by hand (R55)";
const RESTRAINED =
  "disablePausedDirections() disables the paused direction, and so fills in a behavior that was absent (R56)";
const REFUSED =
  "decideReplicas() says of a refused write FailedUpdateScale and FailedRescale, once for each cause (R46, R92)";
const SEEDED = "seedReplicasState() takes back what the status of a former podfit says (R6, R53, R70, R90)";
const COUNTED =
  "decideReplicas() counts failures of both halves, each fresh one once, and a success ends them (R8, R19, R70)";
const NO_SCALE_IN = "decideReplicas() takes no scale-in as pending where none can come (R86)";
const ANOTHER_FAILS =
  "decideReplicas() takes the fallback's value in its tick half though another trigger fails, and in its poll half an error (R64)";

export const REPLICAS_POLL: Mutations = {
  R3: [
    {
      breaks: "has no word for an invalid object",
      in: "findBlockerReason",
      find: 'return "InvalidSpec";',
      replace: "return null;",
      test: "an obstacle counts as held by its one word, once while it stands (R3, R94)",
    },
    {
      breaks: "logs an obstacle each time that it is met",
      in: "logBlocker",
      find: "|| before.conditions.Ready?.message === why",
      replace: "",
      test: "an obstacle counts as held by its one word, once while it stands (R3, R94)",
    },
    {
      breaks: "has no word that says the manifest is wrong",
      in: "toBlockedConditions",
      find: "InvalidSpec: ${",
      replace: "${",
      test: "decideReplicas() tells every problem of an invalid object at once, in one event, and writes nothing (R3)",
    },
    {
      breaks: "is silent on other problems than before",
      in: "hasReason",
      find: "|| before.message !== now.message",
      replace: "",
      test: "decideReplicas() tells of other problems of an invalid object as news (R3, R92)",
    },
    {
      breaks: "claims to know whether an invalid object is active",
      in: "toBlockedConditions",
      find: "formatProblems(object.problems)}`), Active: UNKNOWN_STATE }",
      replace: "formatProblems(object.problems)}`) }",
      test: "decideReplicas() tells every problem of an invalid object at once, in one event, and writes nothing (R3)",
    },
  ],
  R6: [
    {
      breaks: "takes the replicas of now for those of before podfit",
      in: "recordTarget",
      find: "before.originalReplicas ?? replicas",
      replace: "replicas",
      test: "toScaledObjectStatus() has the target and its replicas from first sight on, and keeps these (R6, R90)",
    },
    {
      breaks: "names resources by guess though discovery has told",
      in: "recordTarget",
      find: "resource ?? guessResource(object.target)",
      replace: "guessResource(object.target)",
      test: "toScaledObjectStatus() names a resource as discovery does, and the core group as KEDA does (R6, R90)",
    },
  ],
  R30: [
    {
      breaks: "says nothing of a scale that cannot be read",
      in: "CONDITION_NOTICES",
      find: 'isNews: hasReason("FailedGetScale")',
      replace: 'isNews: hasReason("FailedUpdateScale")',
      test: "decideReplicas() reports a scale that cannot be read, once (R30, R92)",
    },
    {
      breaks: "leaves HPAActive where the selector does not parse",
      in: "toBlockedConditions",
      find: '{ ...failed, ...mirrorHpaActive({ HPAActive: { status: "False", reason, message } }) }',
      replace: "failed",
      test: "decideReplicas() names selectors that do not parse or overlap in Ready and HPAActive (R30, R78)",
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
    {
      breaks: "takes every write for an event of the rate policies",
      in: "nextScalingHistory",
      find: 'write.half !== "tick" ||',
      replace: "",
      test:
        "decideReplicas() notes no write of another half, none that was dropped or refused, and none after a pause (R44, R46)",
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
    {
      breaks: "remembers needs of a deleted object",
      in: "applyDeletion",
      find: "history: null, ",
      replace: "",
      test: "decideReplicas() notifies of the deletion once, and forgets needs and events (R45, R57, R92)",
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
    {
      breaks: "tells every 15 s that a write is refused",
      in: "applyFailed",
      find: "isNews ? [toFailedWriteNotice(write, cause, input.object)] : []",
      replace: "[toFailedWriteNotice(write, cause, input.object)]",
      test: REFUSED,
    },
    {
      breaks: "writes in a dry run",
      in: "applyDryRun",
      find: "!dryRun || write === null",
      replace: "dryRun || write === null",
      test: "decideReplicas() writes nothing in a dry run, says so, and records the need alone (R46, R94)",
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
  R51: [
    {
      breaks: "is active at the activation value",
      in: "computeExternalMetric",
      find: "value > trigger.activation",
      replace: "value >= trigger.activation",
      test: "decideReplicas() is active strictly above the activation value, and by the value as it came (R51)",
    },
    {
      breaks: "never lifts an object of cpu and memory alone",
      in: "computeActivity",
      find: "{ ...activity, isActive: true }",
      replace: "activity",
      test: "decideReplicas() takes an object of cpu and memory alone as always active (R51)",
    },
    {
      breaks: "ignores the annotation that forces activation",
      in: "runActivationLoop",
      find: "|| object.annotations.isForcedActive",
      replace: "",
      test: "decideReplicas() takes an object with force-activation as active whatever its triggers say (R51)",
    },
    {
      breaks: "is inactive in fallback",
      in: "computeTriggerActivity",
      find: 'result.kind === "fallback" ||',
      replace: "",
      test: "decideReplicas() takes a trigger in fallback as active (R51, R71)",
    },
  ],
  R52: [
    {
      breaks: "does not lift from idle",
      in: "chooseActive",
      find: "|| (idleReplicas !== null && replicas < minReplicas)",
      replace: "",
      test: WHOLE_ACTIVE,
    },
    {
      breaks: "does not activate while another trigger fails",
      in: "chooseActive",
      find: "replicas === 0 ||",
      replace: "(replicas === 0 && !isError) ||",
      test: WHOLE_ACTIVE,
    },
    {
      breaks: "activates to zero",
      in: "activate",
      find: "Math.max(1, object.minReplicas)",
      replace: "object.minReplicas",
      test: "decideReplicas() activates from zero to one where the minimum is zero (R52)",
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
      breaks: "forgets with each new leader when it was active last",
      in: "seedReplicasState",
      find: "lastActiveAt === null ? null : toWholeSeconds(lastActiveAt)",
      replace: "null",
      test:
        "the time of last activity outlives a leader: replicas go to zero once that time has cooled (R53, R90, C55)",
    },
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
    {
      breaks: "lifts idle replicas to the minimum",
      in: "chooseInactive",
      find: "idleReplicas === null && replicas < minReplicas",
      replace: "replicas < minReplicas",
      test: WHOLE_INACTIVE,
    },
    {
      breaks: "deactivates a poll too late",
      in: "deactivate",
      find: "cooledAt > input.now",
      replace: "cooledAt >= input.now",
      test: COOLDOWN,
    },
    {
      breaks: "goes by the initial cooldown for ever",
      in: "computeCooldownEnd",
      under: "lib/horizontal/activation_loop.ts",
      find: "before.lastActiveAt === null",
      replace: "before.lastActiveAt !== null",
      test: COOLDOWN,
    },
    {
      breaks: "keeps fractions of a second, which the status cannot",
      in: "toWholeSeconds",
      find: "Math.floor(at / 1000) * 1000",
      replace: "at",
      test:
        "decideReplicas() keeps when it was active last in whole seconds, and with a failed trigger does not move it (R50, R52, R53)",
    },
  ],
  R54: [
    {
      breaks: "rests above idle replicas too",
      in: "isAtIdleReplicas",
      find: "replicas <= idleReplicas",
      replace: "replicas >= idleReplicas",
      test: RESTS,
    },
    {
      breaks: "never rests",
      in: "isAtIdleReplicas",
      find: "isActive === false",
      replace: "isActive === null",
      test: RESTS,
    },
    {
      breaks: "rests though it is active again",
      in: "isAtIdleReplicas",
      find: "isActive === false &&",
      replace: "",
      test: "decideReplicas() runs its tick half at idle replicas once it is active again (R54)",
    },
  ],
  R55: [
    {
      breaks: "runs paused objects",
      in: "reconcileValid",
      find: "valid.input.object.isPaused",
      replace: "valid.object.annotations.isScaleInPaused",
      test: PAUSED,
    },
    {
      breaks: "undoes what was changed by hand at each poll",
      in: "skipWhilePaused",
      find: "applyPause(state, null, input)",
      replace: "applyPause(state, scale, input)",
      test: AT_NUMBER,
    },
    {
      breaks: "keeps the paused count when the pause is over",
      in: "applyChange",
      find: "pausedReplicas: null, ",
      replace: "",
      test: "decideReplicas() forgets the paused count with the pause (R55)",
    },
    {
      breaks: "does not say that a pause is over",
      in: "nextPaused",
      find: 'before.status === "True" ? UNPAUSED : before',
      replace: "before",
      test: "decideReplicas() notifies of a pause once, and of its end (R55, R92)",
    },
    {
      breaks: "forgets nothing where an invalid object is paused",
      in: "setPausedCondition",
      find: "{ ...state, history: null }",
      replace: "state",
      test: "decideReplicas() takes an invalid object with a pause as paused (R3, R55)",
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
      breaks: "restores where nobody asked for it",
      in: "toRestoringWrite",
      find: "(scaledObject ?? restoring)?.restoresReplicas !== true ||",
      replace: "",
      test: "decideReplicas() writes nothing else for a deleted object (R57)",
    },
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
  R60: [
    {
      breaks: "takes every formula's value as an average",
      in: "proposeFor",
      find: "{ ...subject.formula, name: COMPOSITE_METRIC_NAME, facts }",
      replace: '{ ...subject.formula, metricType: "AverageValue", name: COMPOSITE_METRIC_NAME, facts }',
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
      breaks: "goes to max for a negative value",
      in: "findCompositeValue",
      find: "composite.milli < 0n ",
      replace: "composite.milli > 0n ",
      test: "decideReplicas() takes a formula below zero as zero, and not as an overflow (R38, R63)",
    },
    {
      breaks: "rounds the result",
      in: "toCompositeMetric",
      find: "truncMilli(value)",
      replace: "truncMilli(Math.round(value * 1000) / 1000)",
      test: "computeComposite() cuts the result to thousandths, also below zero (R63)",
    },
    {
      breaks: "is active at the activation target",
      in: "computeFormulaActivity",
      find: "milliToDouble(composite.milli) > activationTarget",
      replace: "milliToDouble(composite.milli) >= activationTarget",
      test: "decideReplicas() is active where the cut value is above activationTarget (R63)",
    },
    {
      breaks: "shows the formula thousandths divided by 1000",
      in: "listFormulaValues",
      find: "milliToDouble(result.milli)",
      replace: "Number(result.milli) / 1000",
      test: "computeComposite() lets the formula see rounded values, of named triggers alone (R17, R63)",
    },
  ],
  R64: [
    {
      breaks: "computes the formula without the trigger that failed",
      in: "computeComposite",
      find: 'fallen === undefined || half === "poll"',
      replace: 'half === "poll"',
      test:
        "decideReplicas() takes any failed external trigger as an error of the formula, unnamed ones included (R64)",
    },
    {
      breaks: "is active by fallback though another trigger fails",
      in: "computeComposite",
      find: 'fallen === undefined || half === "poll"',
      replace: "fallen === undefined",
      test: ANOTHER_FAILS,
    },
    {
      breaks: "takes a formula that fails at run time as inactive",
      in: "computeFormulaActivity",
      find: "isError: true",
      replace: "isError: false",
      test: "decideReplicas() takes a formula that fails at run time as an error in both halves (R64)",
    },
  ],
  R70: [
    {
      breaks: "counts failures anew with each new leader",
      in: "seedReplicasState",
      find: 'toInt32(health["numberOfFailures"])',
      replace: "null",
      test: "failures that have led to fallback go on from the status with a new leader (R70, R90, C55)",
    },
    {
      breaks: "falls back at the threshold",
      in: "isInFallback",
      find: "> fallback.failureThreshold",
      replace: ">= fallback.failureThreshold",
      test:
        "decideReplicas() falls back at the fourth failure with a threshold of three, and then to 4 and 6 replicas (R70, R71)",
    },
    {
      breaks: "counts repetitions and cached values",
      in: "countFailure",
      find: "|| !reading.isCounted",
      replace: "",
      test: COUNTED,
    },
    {
      breaks: "never forgets a failure",
      in: "countFailure",
      find: ": 0;",
      replace: ": before;",
      test: COUNTED,
    },
    {
      breaks: "counts where there is no fallback",
      in: "countFailures",
      find: "if (object.fallback === null) return {};",
      replace: "",
      test: "countFailures() keeps to the triggers that there are, and counts nothing without fallback (R70)",
    },
  ],
  R71: [
    {
      breaks: "takes the smaller count for IfHigher",
      in: "REPLICAS_BY_BEHAVIOR",
      find: "currentReplicasIfHigher: Math.max",
      replace: "currentReplicasIfHigher: Math.min",
      test: "toFallbackValue() multiplies the target by the replicas of each behavior (R71)",
    },
    {
      breaks: "does not divide a Value by the ready pods",
      in: "toFallbackValue",
      find: "asked / (readyPods ?? 0)",
      replace: "asked",
      test: "toFallbackValue() divides by the ready pods for a Value, and has none without them (R71)",
    },
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
    {
      breaks: "does not tell that fallback is over",
      in: "ends",
      find: 'now.status !== "True"',
      replace: 'now.status === "True"',
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
  R77: [
    {
      breaks: "drops the warning at the next poll",
      in: "runActivationLoop",
      find: "toReady(READY_MESSAGE, input.warnings)",
      replace: "toReady(READY_MESSAGE)",
      test: "decideReplicas() warns in Ready of checks that were skipped, while they are (R77)",
    },
  ],
  R78: [
    {
      breaks: "does not name what is ambiguous",
      in: "toBlockedConditions",
      find: "toCheckFailed(`${reason}: ${message}`)",
      replace: "toCheckFailed(message)",
      test: "decideReplicas() names selectors that do not parse or overlap in Ready and HPAActive (R30, R78)",
    },
  ],
  R82: [
    {
      breaks: "warns at each tick of pods that may grow far",
      in: "reportWideGrowth",
      find: "isWide && findTopic(notified, topic) === null",
      replace: "isWide",
      test:
        "decideReplicas() notifies where pods may grow beyond four times their birth, with both counts of replicas (R82)",
    },
    {
      breaks: "warns of what a baseline has settled",
      in: "hasWideGrowth",
      find: "baseline !== null ||",
      replace: "",
      test: "decideReplicas() says nothing of wide spans where a baseline was set (R82)",
    },
  ],
  R86: [
    {
      breaks: "holds downs though another trigger keeps the replicas",
      in: "hasScaleInPending",
      find: "proposals.every(",
      replace: "proposals.some(",
      test: NO_SCALE_IN,
    },
    {
      breaks: "holds downs at the minimum",
      in: "hasScaleInPending",
      find: "replicas <= Math.max(1, object.minReplicas)",
      replace: "replicas < Math.max(1, object.minReplicas)",
      test: NO_SCALE_IN,
    },
    {
      breaks: "holds downs for good where scale-in is paused",
      in: "hasScaleInPending",
      find: '|| behavior?.scaleDown.select === "Disabled"',
      replace: "",
      test: NO_SCALE_IN,
    },
    {
      breaks: "does not tell when replicas were taken away",
      in: "applyAccepted",
      find: "isIn ? input.now : before.scaledInAt",
      replace: "before.scaledInAt",
      test: "decideReplicas() takes a scale-in as pending while all triggers ask for fewer, until it is done (R86)",
    },
  ],
  R90: [
    {
      breaks: "lists metrics of single containers",
      in: "toTriggersStatus",
      find: "container === null",
      replace: "true",
      test: "toScaledObjectStatus() lists metrics, types and authentications as KEDA does (R90)",
    },
    {
      breaks: "names a type once for each trigger",
      in: "joinDistinct",
      find: "[...new Set(names)].join",
      replace: "names.joinDistinct",
      test: "toScaledObjectStatus() lists metrics, types and authentications as KEDA does (R90)",
    },
    {
      breaks: "forgets when it was active over a restart",
      in: "seedReplicasState",
      find: "lastActiveAt === null ? null : toWholeSeconds(lastActiveAt)",
      replace: "null",
      test: SEEDED,
    },
    {
      breaks: "takes any number for a count",
      in: "toInt32",
      find: "Number.isInteger(value) && value >= 0",
      replace: "value >= 0",
      test: "seedReplicasState() takes a status of any shape without throwing, and the fold goes on from it (R90)",
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
  ],
  R92: [
    {
      breaks: "tells of a failing trigger at each poll",
      in: "reportFailedTriggers",
      find: "findTopic(before, topic) !== error",
      replace: "findTopic(before, topic) !== topic",
      test:
        "decideReplicas() notifies of a failing trigger when it begins, when the cause changes, and after a recovery (R92)",
    },
    {
      breaks: "takes a trigger that nobody asked for a failed one",
      in: "evaluateTriggers",
      find: "metrics.filter(({ trigger }) => facts.readings.has(trigger.index))",
      replace: "metrics",
      test: "decideReplicas() takes triggers that a tick did not need as no failures (R32, R92)",
    },
    {
      breaks: "tells at each pass that an object is ready",
      in: "becomes",
      find: "&& before?.status !== status",
      replace: "",
      test: "decideReplicas() notifies of a new object that it is ready and looked after, once (R92)",
    },
    {
      breaks: "tells at each tick that there is no need",
      in: "reportInvalidMetrics",
      find: "if (findTopic(notified, NEED_TOPIC) === kind) return { notified, notices: [] };",
      replace: "",
      test: "decideReplicas() notifies of a tick without a need when it begins, and of each kind of metric (R92)",
    },
    {
      breaks: "warns of each object at each start",
      in: "reportInvalidMetrics",
      find: "if (isFirst) ",
      replace: "if (!isFirst) ",
      test: "decideReplicas() makes no event of a first tick that has seen no usage yet, but of a second one (R92)",
    },
  ],
  R94: [
    {
      breaks: "has no reason for a cooldown",
      in: "deactivate",
      find: 'reason: "ScalerCooldown", ',
      replace: "",
      test: "decideReplicas() reports of a poll what it found, and the reason of what it did (R94)",
    },
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
