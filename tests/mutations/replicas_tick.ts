/** Slips in the tick half of replicas (R25, R31 to R45, R83 with what R85 adds to it). */
import type { Mutations } from "../../tools/mutation.ts";

export const REPLICAS_TICK: Mutations = {
  R25: [
    {
      breaks: "does not count native sidecars",
      in: "isRunning",
      find: 'kind !== "init"',
      replace: 'kind === "container"',
      test:
        "computePodRequest() is the sum over containers and native sidecars, without init containers that end (R25)",
    },
    {
      breaks: "takes a missing request for none",
      in: "sumContainers",
      find: "return toMissing(pod, name, resource)",
      replace: "continue",
      test: "computePodRequest() names the first container without a request, in the sum and alone (R25)",
    },
    {
      breaks: "takes the pod's request for a container's",
      in: "computePodRequest",
      find: "if (container !== null) return",
      replace: "if (container !== null && !hasPodLevelRequests(pod)) return",
      test:
        "computePodRequest() takes the pod's own request, with its overhead, but not where a container is named (R25)",
    },
    {
      breaks: "asks for a request where usage is compared with an amount",
      in: "findLack",
      find: 'baseline?.kind !== "amount"',
      replace: 'baseline?.kind !== "live"',
      test: "findLack() finds none where usage is compared with no request of the pod (R25, R82)",
    },
    {
      breaks: "is ready although a pod lacks a request",
      in: "toReadyNow",
      find: "toCheckFailed(lack)",
      replace: "toReady(READY_MESSAGE, warnings)",
      test:
        "decideReplicas() is not ready while a pod lacks a request, in both loops, and scales by its other triggers (R25)",
    },
    {
      breaks: "looks at the requests of pods that count alone",
      in: "proposeByPods",
      find: "findProblem(pods)",
      replace: "findProblem(groups.ready)",
      test:
        "proposeByPods() fails by one pod without a request, of any that the selector lists, but not for an average (R25)",
    },
  ],
  R32: [
    {
      breaks: "asks for metrics at zero replicas",
      in: "needsMetrics",
      find: "replicas >= Math.max(1, object.minReplicas)",
      replace: "replicas >= object.minReplicas",
      test: "at zero replicas triggers are asked at pollingInterval, and failures count at it too (R32, R70)",
    },
    {
      breaks: "lifts 0 to the minimum",
      in: "computeDesiredReplicas",
      find: "if (replicas === 0) {",
      replace: "if (replicas === 0 && minReplicas === 1) {",
      test: "tick() leaves 0 alone also where the minimum is more (R32)",
    },
    {
      breaks: "asks the triggers above the maximum",
      in: "computeDesiredReplicas",
      find: "if (replicas > maxReplicas) {",
      replace: "if (replicas > maxReplicas && input.behavior === null) {",
      test: "tick() comes back within the bounds at once, whatever rules and metrics are (R32, E14)",
    },
    {
      breaks: "asks the triggers below the minimum",
      in: "computeDesiredReplicas",
      find: "if (replicas < minReplicas) {",
      replace: "if (replicas < minReplicas && input.behavior === null) {",
      test: "tick() comes back within the bounds at once, whatever rules and metrics are (R32, E14)",
    },
  ],
  R33: [
    {
      breaks: "takes pending pods for missing",
      in: "groupPods",
      find: 'if (pod.phase === "Pending") unready.push(pod);',
      replace: 'if (pod.phase === "Pending") missing.push(pod);',
      test: "groupPods(): a pending one is unready for every resource (R33)",
    },
    {
      breaks: "takes a pod without start for old",
      in: "isUnready",
      find: "if (startAt === null || ready === null) return true;",
      replace: "if (ready === null) return true; if (startAt === null) return false;",
      test: "groupPods(): one without a start is unready for cpu (R33)",
    },
    {
      breaks: "takes Unknown for False",
      in: "isUnready",
      find: 'return ready.status === "False" && ready.at',
      replace: 'return ready.status !== "True" && ready.at',
      test: "groupPods(): one whose readiness is unknown counts as ready (R33)",
    },
  ],
  R34: [
    {
      breaks: "does not cut utilization to a whole percent",
      in: "toUsageRatio",
      find: "Number(100n * usage / requests)",
      replace: "100 * Number(usage) / Number(requests)",
      test: "proposeByPods() cuts utilization to a whole percent before it is held against the target (R34)",
    },
    {
      breaks: "sums usage as doubles",
      in: "toUsageRatio",
      find: "Number(100n * usage / requests)",
      replace: "Math.trunc(100 * Number(usage) / Number(requests))",
      test: "proposeByPods() is exact where sums are beyond doubles (R21, R34)",
    },
  ],
  R35: [
    {
      breaks: "does not cut the average",
      in: "toUsageRatio",
      find: "Number(usage / BigInt(pods.length))",
      replace: "Number(usage) / pods.length",
      test: "proposeByPods() cuts an average to a thousandth before it is held against the target (R35)",
    },
  ],
  R36: [
    {
      breaks: "takes one tolerance for both directions",
      in: "isWithin",
      find: "1 - down <= ratio",
      replace: "1 - up <= ratio",
      test: "proposeByPods() tells the tolerance up from that down (R36)",
    },
    {
      breaks: "takes the tolerance up from the rules down",
      in: "toTolerance",
      find: "behavior?.scaleUp.tolerance",
      replace: "behavior?.scaleDown.tolerance",
      test: "toTolerance() is a tenth where the behavior says nothing, in each direction its own (R36)",
    },
  ],
  R37: [
    {
      breaks: "counts unready pods on the way down",
      in: "proposeByGroups",
      find: "toReplicas(ratio * ready.length)",
      replace: "toReplicas(ratio * (ready.length + groups.unready.length))",
      test:
        "proposeByPods() rounds up, from the pods that are ready: unready ones count for nothing on the way down (R37)",
    },
    {
      breaks: "takes missing pods to use no more than their request on the way down",
      in: "toAssumedUsage",
      find: "BigInt(Math.max(100, target.percent))",
      replace: "100n",
      test:
        "proposeByPods() takes missing pods to use all of their request on the way down, or the target above 100 % (R37)",
    },
    {
      breaks: "fills unready pods in on the way down",
      in: "fillIn",
      find: "return missing.map((pod)",
      replace: "return [...missing, ...unready].map((pod)",
      test: "proposeByPods() leaves unready pods out where missing ones are filled in on the way down (R37)",
    },
  ],
  R38: [
    {
      breaks: "compares with the replicas that shall be",
      in: "proposeByAverage",
      find: "target * statusReplicas",
      replace: "target * 10",
      test: "proposeByValue() compares with the pods that there are, and within tolerance proposes these (R38, E12)",
    },
  ],
  R39: [
    {
      breaks: "multiplies the replicas that shall be",
      in: "proposeByWhole",
      find: "toReplicas(ratio * readyPods)",
      replace: "toReplicas(ratio * replicas)",
      test: "proposeByValue() of a whole value multiplies the pods that are ready, not those that shall be (R39, E13)",
    },
    {
      breaks: "proposes the ready pods within tolerance",
      in: "proposeByWhole",
      find: "return toValueProposal(replicas, ratio, readyPods ?? 0);",
      replace: "return toValueProposal(readyPods ?? 0, ratio, readyPods ?? 0);",
      test: "proposeByValue() of a whole value within tolerance proposes what shall be, whatever is ready (R39)",
    },
  ],
  R40: [
    {
      breaks: "has the last failure's reason",
      in: "chooseNeed",
      find: "const [first] = failed;",
      replace: "const first = failed.at(-1);",
      test: "chooseNeed() finds no need where all failed, and has the first one's reason (R40)",
    },
  ],
  R41: [
    {
      breaks: "records what it made of the need",
      in: "stabilizeWithoutBehavior",
      find: "{ replicas: need, at: now }",
      replace: "{ replicas: Math.max(need, ...counted), at: now }",
      test: "stabilize() records the need itself, not what it makes of it (R41, R42)",
    },
    {
      breaks: "takes the absence of behavior for its defaults",
      in: "limitRate",
      find: "if (behavior === null) return limitWithoutBehavior(input);",
      replace: "if (behavior === null) return { desired: stabilized, limit: null };",
      test: "limitRate() without behavior lets replicas double, or become 4 (R41, E7)",
    },
  ],
  R42: [
    {
      breaks: "takes the down window for both directions",
      in: "stabilizeWithBehavior",
      find: "now - scaleUp.windowMs",
      replace: "now - scaleDown.windowMs",
      test: "stabilize() raises replicas to the smallest need of the up window (R42)",
    },
    {
      breaks: "goes by the need instead of by replicas",
      in: "stabilizeWithBehavior",
      find: "Math.max(replicas, min)",
      replace: "Math.max(need, min)",
      test: "stabilize() looks at both windows whatever the direction (R42)",
    },
  ],
  R43: [
    {
      breaks: "multiplies before it divides",
      in: "computeUpLimit",
      find: "start * (1 + policy.value / 100)",
      replace: "start * (100 + policy.value) / 100",
      test: "limitRate() rounds percents up on the way up and cuts them on the way down, in doubles (R43, E8, E9)",
    },
    {
      breaks: "rounds percents up on the way down",
      in: "computeDownLimit",
      find: "Math.trunc(start",
      replace: "Math.ceil(start",
      test: "limitRate() rounds percents up on the way up and cuts them on the way down, in doubles (R43, E8, E9)",
    },
  ],
  R44: [
    {
      breaks: "keeps events without behavior",
      in: "recordRescale",
      find: "if (behavior === null) return history;",
      replace:
        "if (behavior === null) return { ...history, ups: [...history.ups, { change: to - from, at: now, isOutdated: false }] };",
      test: "recordRescale() keeps nothing without behavior (R44)",
    },
    {
      breaks: "overwrites the first outdated event",
      in: "storeEvent",
      find: "marked.findLastIndex(",
      replace: "marked.findIndex(",
      test: "recordRescale() overwrites the last one that is older than the longest period of its direction (R44)",
    },
    {
      breaks: "forgets marks",
      in: "storeEvent",
      find: ": one)",
      replace: ": { ...one, isOutdated: false })",
      test: "recordRescale() marks for good: a longer period later does not bring one back (R44)",
    },
    {
      breaks: "goes by the shortest period",
      in: "storeEvent",
      find: "Math.max(0, ...policies",
      replace: "Math.min(Infinity, ...policies",
      test: "recordRescale() adds where none is that old, though other policies no longer see it (R44)",
    },
    {
      breaks: "overwrites the first old need",
      in: "recordNeed",
      find: "findLastIndex",
      replace: "findIndex",
      test: "stabilize() without behavior reuses the last slot older than 300 s (R41, R44)",
    },
  ],
  R45: [
    {
      breaks: "drops its events where there is no behavior",
      in: "stabilizeWithoutBehavior",
      find: "recordNeed(history, ",
      replace: "recordNeed({ ...history, ups: [], downs: [] }, ",
      test: "tick() keeps its events through a spell without behavior (R44, R45)",
    },
  ],
  R83: [
    {
      breaks: "scales in by what pods can grow to",
      in: "combineRuns",
      find: "raised === null ? born.replicas :",
      replace: "raised === null ? full.replicas :",
      test: "proposeByPods() scales in to hi only when even pods of birth size would fall short of it (R83, E15)",
    },
    {
      breaks: "lets pods at their limit count on the way up",
      in: "proposeByPods",
      find: 'run("full") ??',
      replace: 'run("full", true) ??',
      test: "proposeByPods() lets pods at their limit count in nothing but scale-in (R83, R85)",
    },
  ],
};
