/** Slips in what replicas know of pods: their usage, their yardsticks, and the way both halves keep out of each other's way (R20 to R24, R80 to R88). */
import type { Mutations } from "../../tools/mutation.ts";

const RATE = "readMetric() is the rate of the last two samples, cut to a nanocore and rounded up to 1m (R20, R21)";
const JOINED = "nextRates() joins samples until 8 s lie between them, and takes no older one (R20)";
const FRESH = "nextRates() counts a new container's first sample from its start, at an age of 10 to 15 s (R20, R23)";
const SUMS =
  "readMetric() sums containers and native sidecars that run, each rounded by itself, at the time of the first (R21, R22)";
const MEMORY = "readMetric() has memory as the newest working set, exact beyond 2^53 (R21)";
const MISSING = "readMetric() misses a pod while a container that runs has no rate yet, whichever is asked for (R23)";
const STALE =
  "readMetric() misses a pod whose newest sample was first seen 60 s ago, however often it is read (R23, R24)";
const ANEW = "nextRates() begins anew where the counter fell, the instance changed or nobody read for 60 s (R23)";
const UNREAL = "nextRates() leaves out what no node has, and what is no number (R23)";
const COUPLED =
  "a trigger is coupled where an autoscaler that applies resizes the request that its utilization is of (R80)";
const OWNER = "a trigger is coupled by the autoscaler that owns the container, not by one that goes after it (R80)";
const UNCOUPLED = "uncoupled pods are held against what they were born with alone (R80, R82)";
const FLAPPING = "with live requests as the yardstick the same courses flap, or run away to the maximum (R81, R89)";
const REST =
  "under a constant load replicas and sizes turn once at most, and do not pass what sizes at birth ask for (R81, R83, R87)";
const BORN = "born is the spec's request until somebody has resized it in place, whatever else is known (R82)";
const SOURCES =
  "born of a resized pod is podfit's record, its own revision's template, the workload's, then the median of siblings (R82)";
const RECORD =
  "nextInitialResources() keeps what a container asked for before its first resize, and follows what nobody has resized (R82)";
const TEMPLATES = "needsTemplate() asks for templates only where a resized request is in no record (R82)";
const FULL =
  "full is the bound of the request or what the limit can be, whichever is less; born where neither is there (R82)";
const BASELINE = "metadata.baseline overrides both yardsticks: an amount, born or live (R82)";
const UNKNOWN = "a request that nobody knows any more, and one that never was, make the metric an error (R25, R82)";
const STUCK = "a saturated pod's full is the larger of born and its request in force (R82, R84)";
const SATURATED =
  "decideSize() has a request saturated once its scale-up was held for two samples, or for its streak if that is longer (R84)";
const ENDED =
  "decideSize() ends saturation with the wish, an accepted resize, silence, or a restart of podfit or container (R84)";
const PASSING = "decideSize() counts a refused size over its next tries, and nothing that passes by itself (R84)";
const OTHERS = "decideSize() has a side saturated by what holds that side, not by what holds another (R84)";
const COOLDOWN = "a cooldown saturates after as many samples with usage at 95 % of the limit, and not below (R84)";
const NOW_AND_THEN = "a cooldown saturates nothing while usage is at the limit only now and then (R84)";
const CLIPPED = "a coupled pod at its CPU limit whose request can still grow is clipped, unless it is saturated (R85)";
const AT_LIMIT =
  "decideSize() counts samples in a row at 95 % of the CPU limit in force, and those that were held back (R85)";
const THROTTLED =
  "decideSize() counts throttled CPU as clipped below the limit, but not as usage at the limit (R84, R85)";
const PENDING = "decideSize() holds a scale-down while replicas are about to fall, and its streak stands (R86)";
const UPS = "decideSize() holds no scale-up while replicas are about to fall (R86)";
const SIDES = "decideSize() holds the sides that are coupled, and lets the others go down (R86)";
const FALLEN = "decideSize() ends streaks down once when replicas have fallen, and no others (R86)";
const WINDOWS = "decideSize() watches windows anew from a fall on, and keeps cooldowns as they are (L2, R86)";
const FUTURE = "a fall lies never in the future, and is as long ago as before when the clock is set (R86)";
const LISTED = "listHeldFields() gives requests and limits of what a coupled trigger looks at, by container (R86, R88)";
const SET_CLOCK = "a wall clock that is set forward by two hours makes no pod miss its usage (R23)";

const HELD = "a whole podfit holds pods from shrinking until replicas have fallen, says so, and then goes on (R86)";

const WHOLE =
  "a whole podfit lets replicas and sizes turn once at most over 2 h of one load, after a step up, with a cooldown of 30 s (R87)";

const EXAMPLE =
  "4 pods of 500m that can grow to 2000m stay 4 at 900m, become 5 at 1700m, and 6 become 4 at 200m (R80, R82, R89, E15)";

export const REPLICAS_JOINT: Mutations = {
  R20: [
    {
      breaks: "takes each sample of a fast source",
      in: "MIN_RATE_WINDOW_MS",
      find: "8_000",
      replace: "1",
      test: JOINED,
    },
    {
      breaks: "takes an older sample",
      in: "nextContainerRates",
      find: "at - before.at",
      replace: "Math.abs(at - before.at)",
      test: JOINED,
    },
    {
      breaks: "waits for a second sample of a new container",
      in: "MAX_FRESH_AGE_MS",
      find: "15_000",
      replace: "10_001",
      test: FRESH,
    },
    {
      breaks: "believes a rate over a few seconds",
      in: "MIN_FRESH_AGE_MS",
      find: "10_000",
      replace: "1_000",
      test: FRESH,
    },
  ],
  R21: [
    {
      breaks: "rounds up what is to be cut",
      in: "toRate",
      find: "Math.trunc",
      replace: "Math.ceil",
      test: RATE,
    },
    {
      breaks: "cuts millicores",
      in: "toMillicores",
      find: "999_999n",
      replace: "0n",
      test: RATE,
    },
    {
      breaks: "computes memory in doubles",
      in: "toMilliBytes",
      find: "BigInt(Math.trunc(bytes)) * 1000n",
      replace: "BigInt(Math.fround(bytes * 1000))",
      test: MEMORY,
    },
    {
      breaks: "sums all containers though one is asked for",
      in: "findPodMetric",
      find: "container !== null && container !== name",
      replace: "container === name && container !== name",
      test: SUMS,
    },
    {
      breaks: "counts containers that have ended",
      in: "findPodMetric",
      find: "|| runningAt === null",
      replace: "",
      test: SUMS,
    },
  ],
  R22: [
    {
      breaks: "has the time of the last sample",
      in: "findPodMetric",
      find: "at < first.at",
      replace: "at > first.at",
      test: SUMS,
    },
    {
      breaks: "has the time of the container alone",
      in: "findPodMetric",
      find: "if (first === null",
      replace: "if (container === name || first === null",
      test: SUMS,
    },
  ],
  R23: [
    {
      breaks: "leaves the memory of samples by the clock of before",
      in: "shiftPodRates",
      find: "one.seenAt + stepMs",
      replace: "one.seenAt + 0 * stepMs",
      test: SET_CLOCK,
    },
    {
      breaks: "takes a clock that was set for a silence, until the next poll",
      in: "MeteredPods.get",
      find: "this.#followClockStep();",
      replace: "",
      test: SET_CLOCK,
    },
    {
      breaks: "takes a clock that was set for a silence, at the next poll",
      in: "MeteredPods.recordReading",
      find: "this.#followClockStep();",
      replace: "",
      test: SET_CLOCK,
    },
    {
      breaks: "takes a pod without one container's rate",
      in: "findPodMetric",
      find: "return null;",
      replace: "continue;",
      test: MISSING,
    },
    {
      breaks: "believes old usage",
      in: "findPodMetric",
      find: "|| Math.abs(now - own.seenAt) >= SILENCE_MS",
      replace: "",
      test: STALE,
    },
    {
      breaks: "goes by when it was read last",
      in: "nextContainerRates",
      find: "return before;",
      replace: "return { ...before, seenAt: context.readAt };",
      test: STALE,
    },
    {
      breaks: "takes a counter that fell",
      in: "computeRate",
      find: "|| counterNs < before.counterNs",
      replace: "",
      test: ANEW,
    },
    {
      breaks: "mixes two runs of a container",
      in: "nextContainerRates",
      find: "last.instance === instance &&",
      replace: "",
      test: ANEW,
    },
    {
      breaks: "has a rate over a silence",
      in: "nextContainerRates",
      find: "&& !isOld(last, context)",
      replace: "",
      test: ANEW,
    },
    {
      breaks: "believes zeros",
      in: "nextContainerRates",
      find: 'if (workingSetBytes === 0 || (cpu.kind === "counter" && cpu.counterNs === 0)) return null;',
      replace: "",
      test: ANEW,
    },
    {
      breaks: "believes more CPU than the node has",
      in: "nextContainerRates",
      find: "rate !== null && exceeds",
      replace: "rate === null && exceeds",
      test: UNREAL,
    },
  ],
  R24: [
    {
      breaks: "goes on with what an unreadable node gave last",
      in: "findPodMetric",
      find: "Math.abs(now - own.seenAt)",
      replace: "(now - now)",
      test: STALE,
    },
  ],
  R80: [
    {
      breaks: "couples averages",
      in: "hasResizedPods",
      find: 'if (trigger.target.kind !== "Utilization") return false;',
      replace: "",
      test: COUPLED,
    },
    {
      breaks: "couples what only recommends",
      in: "findApplyingAutoscaler",
      find: '&& mode === "apply"',
      replace: "",
      test: OWNER,
    },
    {
      breaks: "couples by an autoscaler of limits",
      in: "findRequestOwner",
      find: "`${resource}.requests`",
      replace: "`${resource}.limits`",
      test: COUPLED,
    },
    {
      breaks: "asks for an owner on every pod",
      in: "hasResizedPods",
      find: "pods.some",
      replace: "pods.every",
      test: COUPLED,
    },
    {
      breaks: "looks at other containers too",
      in: "listOwnedContainers",
      find: "container !== null && container !== name",
      replace: "container === name && container !== name",
      test: COUPLED,
    },
    {
      breaks: "lets pods grow that nobody resizes",
      in: "computeGrowth",
      under: "lib/horizontal/joint/pod_readings.ts",
      find: "if (owner === null) return { born, full: born, isClipped: false };",
      replace: "if (owner === null) return { born, full: born * 4, isClipped: false };",
      test: UNCOUPLED,
    },
  ],
  R81: [
    {
      breaks: "takes live for born: the control flaps no more",
      in: "computeRequestsByContainer",
      find: 'baseline === "live" ? live :',
      replace: "",
      test: FLAPPING,
    },
    {
      breaks: "takes live requests for the yardstick",
      in: "computeRequestsByContainer",
      find: "{ facts, born, context }",
      replace: "{ facts, born: live, context }",
      test: REST,
    },
  ],
  R82: [
    {
      breaks: "takes any resize for one of this side",
      in: "isFieldResized",
      find: "listOwnedFields(owned, container).includes(key)",
      replace: "owned.length > 0 && key !== container",
      test: BORN,
    },
    {
      breaks: "asks the template before the pod's revision",
      in: "createFindInitialRequest",
      find: "[recorded, revision, template]",
      replace: "[recorded, template, revision]",
      test: SOURCES,
    },
    {
      breaks: "asks templates before the record",
      in: "createFindInitialRequest",
      find: "[recorded, revision, template]",
      replace: "[revision, template, recorded]",
      test: SOURCES,
    },
    {
      breaks: "takes resized siblings",
      in: "findUnresizedRequest",
      find: "isFieldResized(pod, container, key) ? null :",
      replace: "",
      test: SOURCES,
    },
    {
      breaks: "takes the upper median",
      in: "findMedian",
      find: "(amounts.length - 1) / 2",
      replace: "amounts.length / 2",
      test: SOURCES,
    },
    {
      breaks: "records what a resize made",
      in: "nextInitialResources",
      find: "if (isFieldResized(pod, name, key))",
      replace: "if (known !== null && isFieldResized(pod, `${name}?`, key))",
      test: RECORD,
    },
    {
      breaks: "forgets the record",
      in: "nextInitialResources",
      find: "known?.[key] ?? null",
      replace: "null",
      test: RECORD,
    },
    {
      breaks: "reads templates of all resized pods",
      in: "needsTemplate",
      find: "&& !findContainerResources(recorded, name)?.[key]",
      replace: "",
      test: TEMPLATES,
    },
    {
      breaks: "leaves the limit out",
      in: "findMaxRequest",
      under: "lib/horizontal/joint/pod_readings.ts",
      find: "Math.min(rule.bounds.max ?? Infinity, ceiling ?? Infinity)",
      replace: "rule.bounds.max ?? Infinity",
      test: FULL,
    },
    {
      breaks: "takes a managed limit for what it is now",
      in: "findMaxRequest",
      under: "lib/horizontal/joint/pod_readings.ts",
      find: "limitRule === undefined ? limit : limitRule.bounds.max",
      replace: "limit",
      test: FULL,
    },
    {
      breaks: "has born above full",
      in: "computeGrowth",
      under: "lib/horizontal/joint/pod_readings.ts",
      find: "Math.min(born, most)",
      replace: "born",
      test: FULL,
    },
    {
      breaks: "holds a pod that can grow against its birth alone",
      in: "computeRequestsByContainer",
      find: "one.full !== one.born",
      replace: "false",
      test: FULL,
    },
    {
      breaks: "ignores baseline: born",
      in: "computeRequestsByContainer",
      find: "baseline !== null ||",
      replace: "",
      test: BASELINE,
    },
    {
      breaks: "makes up a birth",
      in: "computeRequestsByContainer",
      find: "if (born === null) unknown ??= name;",
      replace: "",
      test: UNKNOWN,
    },
    {
      breaks: "lets a saturated pod's full fall below born",
      in: "computeGrowth",
      under: "lib/horizontal/joint/pod_readings.ts",
      find: "Math.max(least, inForce)",
      replace: "inForce",
      test: STUCK,
    },
  ],
  R84: [
    {
      breaks: "has two samples enough for a long streak",
      in: "computeShortSamples",
      find: "Math.max(MIN_SHORT_SAMPLES, up.consecutiveSamples)",
      replace: "MIN_SHORT_SAMPLES",
      test: SATURATED,
    },
    {
      breaks: "has one sample enough",
      in: "MIN_SHORT_SAMPLES",
      find: "2",
      replace: "1",
      test: SATURATED,
    },
    {
      breaks: "stays saturated without a wish",
      in: "isSaturated",
      find: "isScaleUpWanted(rule, streaks) &&",
      replace: "streaks !== undefined &&",
      test: STUCK,
    },
    {
      breaks: "stays saturated over a resize",
      in: "nextAfterAccepted",
      find: "...NOTHING_WANTED,",
      replace: "wantedSince: null,",
      test: ENDED,
    },
    {
      breaks: "counts what passes by itself",
      in: "toScaleUpAnswer",
      find: '"other"',
      replace: '"limit"',
      test: PASSING,
    },
    {
      breaks: "forgets the count in between",
      in: "computeHeldCount",
      find: 'case "other": return before;',
      replace: 'case "other": return 0;',
      test: PASSING,
    },
    {
      breaks: "takes what holds any side",
      in: "toScaleUpAnswer",
      find: "sides.includes(key)",
      replace: "sides.length > 0",
      test: OTHERS,
    },
    {
      breaks: "has a cooldown saturate whatever is used",
      in: "computeHeldCount",
      find: "atLimit[rule.resource] >= needed",
      replace: "needed > 0",
      test: COOLDOWN,
    },
    {
      breaks: "has no cooldown saturate",
      in: "toScaleUpAnswer",
      find: 'reason === "Cooldown" ? "cooldown" :',
      replace: "",
      test: COOLDOWN,
    },
    {
      breaks: "adds samples at the limit up over others",
      in: "nextAtLimitCounts",
      find: "isCpuFull ? atLimit.cpu + 1 : 0",
      replace: "isCpuFull ? atLimit.cpu + 1 : atLimit.cpu",
      test: NOW_AND_THEN,
    },
    {
      breaks: "takes throttled CPU for usage at the limit",
      in: "nextAtLimitCounts",
      find: 'const isCpuFull = actual !== null && fillsLimit(sample.cpuMillicores, actual["cpu.limits"]);',
      replace:
        'const isCpuFull = actual !== null && (sample.isSaturated || fillsLimit(sample.cpuMillicores, actual["cpu.limits"]));',
      test: THROTTLED,
    },
    {
      breaks: "does not look at saturation",
      in: "computeGrowth",
      under: "lib/horizontal/joint/pod_readings.ts",
      find: "isSaturated(owner.rule, view)",
      replace: "!isSaturated(owner.rule, view) && born < 0",
      test: STUCK,
    },
  ],
  R85: [
    {
      breaks: "clips a pod that has all that it can get",
      in: "computeGrowth",
      under: "lib/horizontal/joint/pod_readings.ts",
      find: "inForce < most && view",
      replace: "view",
      test: CLIPPED,
    },
    {
      breaks: "clips by memory",
      in: "computeRequestsByContainer",
      find: 'resource === "cpu" && sticks',
      replace: "sticks",
      test: CLIPPED,
    },
    {
      breaks: "clips by one sample",
      in: "isClippedByLimit",
      find: "computeShortSamples(rule)",
      replace: "1",
      test: CLIPPED,
    },
    {
      breaks: "counts on over a sample below the limit",
      in: "nextAtLimitCounts",
      find: "isClipped ? before.clipped + 1 : 0",
      replace: "before.clipped + (isClipped ? 1 : 0)",
      test: AT_LIMIT,
    },
    {
      breaks: "counts usage at the limit alone",
      in: "nextAtLimitCounts",
      find: "(isCpuFull || sample.isSaturated)",
      replace: "isCpuFull",
      test: THROTTLED,
    },
    {
      breaks: "keeps the count over another limit",
      in: "nextViewOfContainer",
      find: "return { ...view, ...NOTHING_WANTED, streaks };",
      replace: "return { ...view, streaks, wantedSince: null };",
      test: AT_LIMIT,
    },
  ],
  R86: [
    {
      breaks: "lets pods shrink before a scale-in",
      in: "GATES",
      find: "scaledInFirst,",
      replace: "",
      test: PENDING,
    },
    {
      breaks: "holds scale-ups too",
      in: "scaledInFirst",
      find: 'direction === "up" ||',
      replace: "",
      test: UPS,
    },
    {
      breaks: "holds all sides",
      in: "scaledInFirst",
      find: ".filter((side) => held.includes(side))",
      replace: "",
      test: SIDES,
    },
    {
      breaks: "holds requests and not limits",
      in: "listHeldFields",
      find: "resource === trigger.type &&",
      replace: "key === `${trigger.type}.requests` &&",
      test: LISTED,
    },
    {
      breaks: "ends streaks at each evaluation",
      in: "endScaleDownStreaks",
      find: "|| scaledInAt === state.scaledIn?.at",
      replace: "",
      test: FALLEN,
    },
    {
      breaks: "ends streaks up as well",
      in: "keepScaleUpStreaks",
      find: '.filter(([, { direction }]) => direction === "up")',
      replace: '.filter(([, { direction }]) => direction === "down" && direction !== direction)',
      test: FALLEN,
    },
    {
      breaks: "keeps streaks down",
      in: "endScaleDownStreaks",
      find: "keepScaleUpStreaks(view.streaks)",
      replace: "view.streaks",
      test: FALLEN,
    },
    {
      breaks: "lets windows run on",
      in: "waitForWatching",
      find: "Math.max(evidence.since ?? now, scaledIn?.since ?? -Infinity)",
      replace: "evidence.since ?? now",
      test: WINDOWS,
    },
    {
      breaks: "believes a fall in the future",
      in: "endScaleDownStreaks",
      find: "Math.min(scaledInAt, now)",
      replace: "scaledInAt",
      test: FUTURE,
    },
    {
      breaks: "tells vertical of no scale-in that is to come",
      in: "createScaledObjectControllers",
      find: "...(isScaleInPending && { scaleInPending: sides() }), ",
      replace: "",
      test: HELD,
    },
    {
      breaks: "holds pods for good once a scale-in was to come",
      in: "createScaledObjectControllers",
      find: "...(isScaleInPending && ",
      replace: "...((isScaleInPending || scaledInAt !== null) && ",
      test: HELD,
    },
  ],
  R87: [
    {
      breaks: "holds both runs against what pods can grow to",
      in: "computeGrowth",
      under: "lib/horizontal/joint/pod_readings.ts",
      find: "{ born: least, full: most,",
      replace: "{ born: most, full: most,",
      test: REST,
    },
    {
      breaks: "holds both runs against the live size",
      in: "computeRequestsByContainer",
      find: 'baseline === "live" ? live : context.findInitialRequest(of, name)',
      replace: "live",
      test: REST,
    },
    {
      breaks: "does not know what resizes the pods",
      in: "createGetWorkloadPod",
      find: "findVertical(pod, options)",
      replace: "null",
      test: WHOLE,
    },
  ],
  R88: [
    {
      breaks: "has the tick half write what it read",
      in: "computeGrowth",
      under: "lib/horizontal/joint/pod_readings.ts",
      find: "const least = Math.min(born, most);",
      replace: "Object.assign(facts, { spec: {} }); const least = Math.min(born, most);",
      test: "computePodReadings() reads what the vertical half came to last, and asks for and changes nothing (R88)",
    },
    {
      breaks: "tells a pod of its replicas what it needs not know",
      in: "listHeldFields",
      find: "const held: Record<string, ResourceField[]> = {};",
      replace: "const held: Record<string, ResourceField[]> = { replicas: [] };",
      test: LISTED,
    },
  ],
  R89: [
    {
      breaks: "goes by what pods can grow to alone",
      in: "computeGrowth",
      under: "lib/horizontal/joint/pod_readings.ts",
      find: "{ born: least, full: most,",
      replace: "{ born: Math.max(least, most), full: most,",
      test: EXAMPLE,
    },
    {
      breaks: "goes by what pods were born with alone",
      in: "computeGrowth",
      under: "lib/horizontal/joint/pod_readings.ts",
      find: "{ born: least, full: most,",
      replace: "{ born: least, full: least,",
      test: EXAMPLE,
    },
  ],
};
