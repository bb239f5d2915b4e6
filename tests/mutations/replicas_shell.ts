/** Slips in the shell of replicas: clocks, scales, who else writes, and the end (R6 to R8, R20, R30, R46, R57, R75 to R78). */
import type { Mutations } from "../../tools/mutation.ts";

export const REPLICAS_SHELL: Mutations = {
  R6: [
    {
      breaks: "writes replicas before the status has those from before",
      in: "ScaledObjectController.#mayWrite",
      find: "if (this.#awaitsRecord(object)) return false;",
      replace: "if (this.#awaitsRecord(object)) return true;",
      test: "an object whose status cannot be written waits for it for a minute, and is then scaled all the same (R6)",
    },
    {
      breaks: "asks discovery each time",
      in: "AnswerCache.get",
      find: "kept !== undefined && this",
      replace: "kept === null && this",
      test: "read() looks another kind up in discovery, once a minute, and asks its scale by path (R6)",
    },
    {
      breaks: "waits for discovery for ever",
      in: "createFindKinds",
      find: "clock.timeout(timeoutMs)",
      replace: "clock.timeout(9 * timeoutMs)",
      test: "read() looks a kind up once for all who wait, for 12 s, and again when it is asked next (R6)",
    },
  ],
  R7: [
    {
      breaks: "has a load that grows wait for the grid",
      in: "ScaledObjectController.run",
      find: "this.#schedule.scaleNow(clock.steady())",
      replace: "void 0",
      test: "usage that raises replicas has a tick at once, and the next one comes 15 s after it (R7)",
    },
    {
      breaks: "looks for a tick only once usage is twice the target",
      in: "TargetUsage.constructor",
      find: "now / most",
      replace: "2 * now / most",
      test: "usage that raises replicas has a tick at once, and the next one comes 15 s after it (R7)",
    },
    {
      breaks: "takes a utilization that was cut for exact",
      in: "toLargestRatio",
      find: "ratio + 1 / target.percent",
      replace: "ratio",
      test:
        "TargetUsage of a utilization looks at a scale-out from idle, though its percent is cut to a whole one (R7)",
    },
    {
      breaks: "counts what a pod used before beside what it uses now",
      in: "TargetUsage.replace",
      find: "sumUsage(one.trigger, after) - sumUsage(one.trigger, before)",
      replace: "sumUsage(one.trigger, after)",
      test: "TargetUsage replaces a pod's usage, and a pod whose usage falls makes up for another (R7)",
    },
    {
      breaks: "ticks with every reading above the target",
      in: "EarlyScalingCheck.wouldRaise",
      find: "write !== null && write.replicas > scale.replicas",
      replace: "write?.replicas !== 0",
      test: "usage above its target is looked at 5 s after a tick at the soonest, then at once (R7)",
    },
    {
      breaks: "leaves the grid where it was after a tick before its time",
      in: "restartBy",
      find: "next > at ? newLoop(at, loop.interval.periodMs)",
      replace: "next > at ? { ...loop, servedAt: -Infinity }",
      test: "tickNow() begins the ticks anew, unless one is due already (R7)",
    },
  ],
  R8: [
    {
      breaks: "asks in each poll, although polling has no effect",
      in: "mayKeep",
      find: "!isPolled(object)",
      replace: "false",
      test: "where polling has no effect each source is asked once in 15 s, and the status is as fresh as it was (R8)",
    },
    {
      breaks: "keeps the value of a cron trigger over the end of the minute",
      in: "mayKeep",
      find: "toMinute(kept.at) === toMinute(now)",
      replace: "true",
      test: "read() searches a cron schedule in its turn, and within a minute at most once in 15 s (R8, R50)",
    },
    {
      breaks: "asks triggers by when a half begins, so that no two share a question",
      in: "ScaledObjectController.#fetchReadings",
      find: "{ now: at + computeWallAheadMs(this.#parts.clock), signal }",
      replace: '{ now: loop === "tick" ? at + 1000 : at, signal }',
      test:
        "halves that are due in the same second ask each trigger once, and each half is dated by its due time (R7, R8)",
    },
    {
      breaks: "ticks before it polls",
      in: "ReconcileSchedule.takeDue",
      find: "due.toSorted((a, b) => a.at - b.at)",
      replace: "due.reverse()",
      test: "take() dates a late half by its due time, and makes up none that were missed (R7, R8)",
    },
  ],
  R20: [
    {
      breaks: "reads urgent pods as rarely as other ones",
      in: "PollSchedule.#getMeteredMs",
      find: "isUrgent ? URGENT_INTERVAL_MS : METERED_INTERVAL_MS",
      replace: "METERED_INTERVAL_MS",
      test:
        "a node is read as often as the most impatient of its tracked pods asks for, each 15 s for metered ones, and each 5 s for urgent ones (C20, R20)",
    },
    {
      breaks: "reads the many nodes of a target every 5 s",
      in: "isOnFewNodes",
      find: "nodes.size >= MANY_NODES",
      replace: "nodes.size > 100",
      test: "the pods of a target are urgent while it may grow, unless they are on many nodes (R20)",
    },
    {
      breaks: "does not see that usage grows",
      in: "TargetUsage.compare",
      find: "now > growth",
      replace: "now > raise",
      test: "usage grows from half of the way on between that of the last tick and what raises replicas (R20)",
    },
    {
      breaks: "has a shorter interval wait for the end of the longer one",
      in: "NodePoller.meter",
      find: "if (isSooner) entry.readSooner();",
      replace: "void isSooner;",
      test: "a node whose pods become urgent is read as soon as that asks for (R20)",
    },
    {
      breaks: "reads pods that are urgent for one of two targets as those of the other",
      in: "MeteredPods.#meter",
      find: "entry.sets.some(",
      replace: "entry.sets.every(",
      test: "a pod is urgent as long as it is for one of its targets (R20)",
    },
  ],
  R30: [
    {
      breaks: "goes on with a selector of nothing, which lists every pod",
      in: "toReading",
      find: 'text === ""',
      replace: 'text === "?"',
      test: "read() refuses a scale with a selector that is missing or does not parse as InvalidSelector (R30)",
    },
    {
      breaks: "waits for an answer for ever",
      in: "getScale",
      find: "clock.timeout(REQUEST_TIMEOUT_MS)",
      replace: "clock.timeout(9 * REQUEST_TIMEOUT_MS)",
      test: "read() gives an API server that does not answer 12 s (R30)",
    },
  ],
  R46: [
    {
      breaks: "takes its own end for a failure of the write",
      in: "ScaledObjectController.#write",
      find: "if (signal.aborted && ",
      replace: "if (false && ",
      test: "podfit's end while a write is under way is no failure of the write (R46)",
    },
    {
      breaks: "has fewer replicas go before others",
      in: "writeScale",
      find: "write.replicas > write.from.replicas",
      replace: "write.replicas < write.from.replicas",
      test:
        "write() asks for the next permit of its namespace for more replicas, and for fewer in order of arrival (R46)",
    },
    {
      breaks: "leaves an activation that was refused for the next poll",
      in: "ScaledObjectController.#runLoop",
      find: "this.#schedule.activateBy(clock.steady() + RETRY_MS, clock.steady());",
      replace: "void clock;",
      test:
        "an activation that is refused as the API server is busy is tried again 15 s later, one that is forbidden at the next poll (R46)",
    },
  ],
  R50: [
    {
      breaks: "lets one namespace take every place",
      in: "createQueryLimits",
      find: "new Semaphore(MAX_CONCURRENT, { isShared: true })",
      replace: "new Semaphore(MAX_CONCURRENT)",
      test: "the query of one namespace is sent at once beside 40 objects of another whose servers never answer (R50)",
    },
    {
      breaks: "keeps the places of slow queries",
      in: "createQueryLimits",
      find: "if (slow !== null) place[Symbol.dispose]();",
      replace: "",
      test: "a query that is slow gives its place to the next of its namespace (R50)",
    },
    {
      breaks: "asks a server that does not answer each time",
      in: "ServerBreakers.#fail",
      find: "server.slowInRow >= MAX_SLOW_IN_ROW",
      replace: "server.slowInRow < 0",
      test: "after three queries in a row without an answer, one at a time probes the server, with growing waits (R50)",
    },
    {
      breaks: "lets one namespace stop a server for all",
      in: "ServerBreakers.tryAcquire",
      find: "`${namespace} ${toServer(trigger)}`",
      replace: "toServer(trigger)",
      test: "a server that does not answer one namespace is still asked for another, and for other ports (R50)",
    },
    {
      breaks: "counts the time of no answer",
      in: "createRunPaid",
      find: "{ ms: clock.monotonic() - startedMs }",
      replace: "{ ms: 0 * startedMs }",
      test: "a namespace whose answers take more time than its budget is asked later, and no other (R50)",
    },
    {
      breaks: "does not say why triggers are asked late",
      in: "ScaledObjectController.#decide",
      find: "budget.isDelayed(namespace)",
      replace: 'budget.isDelayed("")',
      test: "an object whose namespace is over its budget is asked late, and its Ready says so (R50)",
    },
    {
      breaks: "lets one object's questions take every place",
      in: "createQueryLimits",
      find: "new Semaphore(MAX_PER_OBJECT)",
      replace: "new Semaphore(MAX_CONCURRENT)",
      test: "of one object's triggers eight are asked at once, and of all of a namespace 32 (R50)",
    },
    {
      breaks: "lets triggers that do not answer hold up all other objects",
      in: "ScaledObjectController.#fetchReadings",
      find: "const external = await this.#reader.read(",
      replace: "using _held = await this.#parts.fetches.acquire(signal); const external = await this.#reader.read(",
      test: "triggers that do not answer hold up no other object (R50)",
    },
  ],
  R57: [
    {
      breaks: "hides that it may not read the replicas to restore",
      in: "findRefusal",
      find: 'blocker.reason === "Rights"',
      replace: 'blocker.reason === "NoRecord"',
      test:
        "replicas that are not put back as podfit may not read them are said, and those of another autoscaler are not (R57)",
    },
    {
      breaks: "waits for a target of which nothing is restored",
      in: "findRestored",
      find: "object?.restoresReplicas === true ? object : null",
      replace: "object",
      test: "an object that restores nothing does not wait for its target at its end (R57)",
    },
    {
      breaks: "restores what nobody has asked for",
      in: "parseRestoring",
      find: "!== true",
      replace: "=== false",
      test:
        "parseScaledObject() knows what to restore at the end of an object that is invalid, where both can be read (R57)",
    },
    {
      breaks: "leaves KEDA's finalizer",
      in: "needsFinalizerChange",
      find: "finalizers.includes(FINALIZER) !== scaledObject.restoresReplicas",
      replace: "!finalizers.includes(FINALIZER) && scaledObject.restoresReplicas",
      test: "KEDA's finalizer goes from an object that podfit controls and that restores nothing (R57)",
    },
    {
      breaks: "waits for ever where a write may pass, or does not at all",
      in: "ScaledObjectController.#restore",
      find: ">= MAX_RESTORE_MS",
      replace: ">= 9 * MAX_RESTORE_MS",
      test: "an object whose replicas may not be restored is let go at once, and where that may pass after 5 min (R57)",
    },
    {
      breaks: "keeps a deleted object for as long as a list is stale",
      in: "ScaledObjectController.run",
      find: "isDeleting || canScale(namespace)",
      replace: "canScale(namespace)",
      test:
        "an object that is deleted while the list of horizontalpodautoscalers is stale waits 5 min for it, and is let go (R57)",
    },
    {
      breaks: "gives up a deleted object before the first lists have come",
      in: "ScaledObjectController.#restore",
      find: "unread !== null && !isTimedOut()",
      replace: "unread !== null && !isUnknown && !isTimedOut()",
      test: "a podfit whose first lists have not come yet keeps a deleted object, for 5 min (R57)",
    },
    {
      breaks: "lets an object go without a word",
      in: "ScaledObjectController.#restore",
      find:
        'onUnrestored(facts, answer.kind === "dropped" ? "another writer sets them, or podfit may not" : answer.message);',
      replace: "",
      test: "an object whose replicas may not be restored is let go at once, and where that may pass after 5 min (R57)",
    },
  ],
  R75: [
    {
      breaks: "sends what a pause has forbidden while it waited",
      in: "writeScale",
      find: "isUrgent });\n    // The wait for the slot can be long.\n    if (!mayWrite())",
      replace: "isUrgent });\n    if (false)",
      test: "write() sends nothing that is not wanted any more, nor once more after a conflict (R46, R75)",
    },
    {
      breaks: "writes beside an HPA",
      in: "findConflict",
      find: "const rival = rivals.find((hpa) => hpa !== transfer);",
      replace: "const rival = rivals.find((hpa) => hpa.name === transfer?.name);",
      test: "findConflict() names an HPA of the same target (R75)",
    },
  ],
  R76: [
    {
      breaks: "takes an HPA over that comes back",
      in: "isTransferred",
      find: "transferredUid === null",
      replace: "transferredUid !== hpa.uid",
      test:
        "findConflict() finds an HPA that comes back after it was taken over, and not the one that still shows (R76)",
    },
    {
      breaks: "deletes in a dry run",
      in: "transferHpa",
      find: "if (dryRun) return",
      replace: 'if (hpa.name === "") return',
      test: "in a dry run nothing is written, no HPA is deleted, and no finalizer is added (R46, R57, R76)",
    },
  ],
  R77: [
    {
      breaks: "skips the check for any word on the HPA",
      in: "parseHpa",
      find: '=== "false"',
      replace: "!== undefined",
      test: "findConflict() does not skip the check for an HPA annotated true, nor an object annotated false (R77)",
    },
  ],
  R78: [
    {
      breaks: "lets an object whose formula fails keep a target",
      in: "findCurrentConflict",
      find: "one.uid !== uid && !isInvalid(one.uid)",
      replace: "one.uid !== uid",
      test: "an object whose formula fails keeps no other object from the target (R72, R78)",
    },
    {
      breaks: "does not see pods in common",
      in: "findCurrentConflict",
      find: "for (const holder of other.holders) holders.add(holder);",
      replace: "holders.delete(other.namespace);",
      test: "an HPA of another target with pods in common makes the object AmbiguousSelector (R78)",
    },
    {
      breaks: "leaves the younger out once the older is gone",
      in: "ScaledObjectCache.#moveTarget",
      find: "this.#notify(one)",
      replace: "void one",
      test: "of two ScaledObjects of one target the older acts alone, and the younger goes on once it is gone (R78)",
    },
  ],
  R90: [
    {
      breaks: "takes the resourceVersion of another object for its own",
      in: "toPatched",
      find: "ofAnswer === uid && ",
      replace: "",
      test: "the resourceVersion of another object with the name of a ScaledObject is not taken for its own (C51, R90)",
    },
    {
      breaks: "writes the conditions of an object into another one that has its name now",
      in: "findNewestVersion",
      find: "written.seenVersion === resourceVersion",
      replace: "true",
      test:
        "StatusWriter names the newest resourceVersion that it knows while a watch is stale, and none otherwise (R90)",
    },
    {
      breaks: "writes the status of an object into another one that has its name now",
      in: "StatusWriter.#send",
      find: "isStale ? findNewestVersion(object, memory.written) : null",
      replace: "null",
      test:
        "StatusWriter names the newest resourceVersion that it knows while a watch is stale, and none otherwise (R90)",
    },
    {
      breaks: "writes no status while one namespace is not known",
      in: "ReplicasSweep.#findReported",
      find: "this.#options.isKnown(facts.namespace)",
      replace: "[...this.#options.list()].every((one) => this.#options.isKnown(one.facts.namespace))",
      test: "a namespace that is not known stops the statuses of its own objects alone (R90)",
    },
  ],
  R91: [
    {
      breaks: "stays green while a list of ScaledObjects alone is stale",
      in: "createObserver",
      find: "REPLICA_LISTS.find((one) => isListed(one, namespace) && !isKnown(one, namespace)) ?? findStale(namespace)",
      replace: "findStale(namespace)",
      test:
        "conditions say that the list of horizontalpodautoscalers is stale, and are as before once it is fresh (R91)",
    },
    {
      breaks: "stays green where it has decided nothing before the list was stale",
      in: "ReplicasSweep.#findReported",
      find: "if (stale === null)",
      replace: "if (stale === null || state === null)",
      test:
        "a status says which list is stale, also where this podfit has decided nothing yet, until it is fresh (R91)",
    },
    {
      breaks: "does not look at a status again when a list becomes stale",
      in: "ReplicasSweep.#isSettled",
      find: " || known.stale !== stale",
      replace: "",
      test: "conditions say that the list of podresourceautoscalers is stale, and are as before once it is fresh (R91)",
    },
    {
      breaks: "says Ready=True while a list is stale",
      in: "toStaleState",
      find: ", Ready }",
      replace: " }",
      test: "podfit's own conditions say that a list is stale, and KEDA's stay as they are (M7, R91)",
    },
  ],
};
