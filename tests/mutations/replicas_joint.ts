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
  "nextRecord() keeps what a container asked for before its first resize, and follows what nobody has resized (R82)";
const TEMPLATES = "needsTemplate() asks for templates only where a resized request is in no record (R82)";
const FULL =
  "full is the bound of the request or what the limit can be, whichever is less; born where neither is there (R82)";
const BASELINE = "metadata.baseline overrides both yardsticks: an amount, born or live (R82)";
const UNKNOWN = "a request that nobody knows any more, and one that never was, make the metric an error (R25, R82)";
const STUCK = "a saturated pod's full is the larger of born and its request in force (R82, R84)";
const SATURATED =
  "decide() has a request saturated once its scale-up was held for two samples, or for its streak if that is longer (R84)";
const ENDED =
  "decide() ends saturation with the wish, an accepted resize, silence, or a restart of podfit or container (R84)";
const PASSING = "decide() counts a refused size over its next tries, and nothing that passes by itself (R84)";
const OTHERS = "decide() has a side saturated by what holds that side, not by what holds another (R84)";
const COOLDOWN = "a cooldown saturates after as many samples with usage at 95 % of the limit, and not below (R84)";
const NOW_AND_THEN = "a cooldown saturates nothing while usage is at the limit only now and then (R84)";
const CLIPPED = "a coupled pod at its CPU limit whose request can still grow is clipped, unless it is saturated (R85)";
const AT_LIMIT =
  "decide() counts samples in a row at 95 % of the CPU limit in force, and those that were held back (R85)";
const THROTTLED = "decide() counts throttled CPU as clipped below the limit, but not as usage at the limit (R84, R85)";
const PENDING = "decide() holds a scale-down while replicas are about to fall, and its streak stands (R86)";
const UPS = "decide() holds no scale-up while replicas are about to fall (R86)";
const SIDES = "decide() holds the sides that are coupled, and lets the others go down (R86)";
const FALLEN = "decide() ends streaks down once when replicas have fallen, and no others (R86)";
const WINDOWS = "decide() watches windows anew from a fall on, and keeps cooldowns as they are (L2, R86)";
const FUTURE = "a fall lies never in the future, and is as long ago as before when the clock is set (R86)";
const LISTED =
  "listCoupledSides() gives requests and limits of what a coupled trigger looks at, by container (R86, R88)";
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
      in: "SHORTEST_MS",
      under: "lib/core/replicas",
      find: "8_000",
      replace: "1",
      test: JOINED,
    },
    {
      breaks: "takes an older sample",
      in: "nextContainerRates",
      under: "lib/core/replicas",
      find: "at - before.at",
      replace: "Math.abs(at - before.at)",
      test: JOINED,
    },
    {
      breaks: "waits for a second sample of a new container",
      in: "FRESH_UNTIL_MS",
      under: "lib/core/replicas",
      find: "15_000",
      replace: "10_001",
      test: FRESH,
    },
    {
      breaks: "believes a rate over a few seconds",
      in: "FRESH_FROM_MS",
      under: "lib/core/replicas",
      find: "10_000",
      replace: "1_000",
      test: FRESH,
    },
  ],
  R21: [
    {
      breaks: "rounds up what is to be cut",
      in: "toRate",
      under: "lib/core/replicas",
      find: "Math.trunc",
      replace: "Math.ceil",
      test: RATE,
    },
    {
      breaks: "cuts millicores",
      in: "toMillicores",
      under: "lib/core/replicas",
      find: "999_999n",
      replace: "0n",
      test: RATE,
    },
    {
      breaks: "computes memory in doubles",
      in: "toMilliBytes",
      under: "lib/core/replicas",
      find: "BigInt(Math.trunc(bytes)) * 1000n",
      replace: "BigInt(Math.fround(bytes * 1000))",
      test: MEMORY,
    },
    {
      breaks: "sums all containers though one is asked for",
      in: "readMetric",
      under: "lib/core/replicas/meter.ts",
      find: "container !== null && container !== name",
      replace: "container === name && container !== name",
      test: SUMS,
    },
    {
      breaks: "counts containers that have ended",
      in: "readMetric",
      under: "lib/core/replicas/meter.ts",
      find: "|| runningAt === null",
      replace: "",
      test: SUMS,
    },
  ],
  R22: [
    {
      breaks: "has the time of the last sample",
      in: "readMetric",
      under: "lib/core/replicas/meter.ts",
      find: "at < first.at",
      replace: "at > first.at",
      test: SUMS,
    },
    {
      breaks: "has the time of the container alone",
      in: "readMetric",
      under: "lib/core/replicas/meter.ts",
      find: "if (first === null",
      replace: "if (container === name || first === null",
      test: SUMS,
    },
  ],
  R23: [
    {
      breaks: "leaves the memory of samples by the clock of before",
      in: "stepPodRates",
      find: "one.seenAt + stepMs",
      replace: "one.seenAt + 0 * stepMs",
      test: SET_CLOCK,
    },
    {
      breaks: "takes a clock that was set for a silence, until the next poll",
      in: "MeteredPods.read",
      find: "this.#followClock();",
      replace: "",
      test: SET_CLOCK,
    },
    {
      breaks: "takes a clock that was set for a silence, at the next poll",
      in: "MeteredPods.note",
      find: "this.#followClock();",
      replace: "",
      test: SET_CLOCK,
    },
    {
      breaks: "takes a pod without one container's rate",
      in: "readMetric",
      under: "lib/core/replicas/meter.ts",
      find: "return null;",
      replace: "continue;",
      test: MISSING,
    },
    {
      breaks: "believes old usage",
      in: "readMetric",
      under: "lib/core/replicas/meter.ts",
      find: "|| Math.abs(now - own.seenAt) >= SILENCE_MS",
      replace: "",
      test: STALE,
    },
    {
      breaks: "goes by when it was read last",
      in: "nextContainerRates",
      under: "lib/core/replicas",
      find: "return before;",
      replace: "return { ...before, seenAt: context.readAt };",
      test: STALE,
    },
    {
      breaks: "takes a counter that fell",
      in: "readRate",
      under: "lib/core/replicas",
      find: "|| counterNs < before.counterNs",
      replace: "",
      test: ANEW,
    },
    {
      breaks: "mixes two runs of a container",
      in: "nextContainerRates",
      under: "lib/core/replicas",
      find: "last.instance === instance &&",
      replace: "",
      test: ANEW,
    },
    {
      breaks: "has a rate over a silence",
      in: "nextContainerRates",
      under: "lib/core/replicas",
      find: "&& !isOld(last, context)",
      replace: "",
      test: ANEW,
    },
    {
      breaks: "believes zeros",
      in: "nextContainerRates",
      under: "lib/core/replicas",
      find: 'if (workingSetBytes === 0 || (cpu.kind === "counter" && cpu.counterNs === 0)) return null;',
      replace: "",
      test: ANEW,
    },
    {
      breaks: "believes more CPU than the node has",
      in: "nextContainerRates",
      under: "lib/core/replicas",
      find: "rate !== null && exceeds",
      replace: "rate === null && exceeds",
      test: UNREAL,
    },
  ],
  R24: [
    {
      breaks: "goes on with what an unreadable node gave last",
      in: "readMetric",
      under: "lib/core/replicas/meter.ts",
      find: "Math.abs(now - own.seenAt)",
      replace: "(now - now)",
      test: STALE,
    },
  ],
  R80: [
    {
      breaks: "couples averages",
      in: "isCoupled",
      under: "lib/core/replicas",
      find: 'if (trigger.target.kind !== "Utilization") return false;',
      replace: "",
      test: COUPLED,
    },
    {
      breaks: "couples what only recommends",
      in: "chooseApplying",
      under: "lib/core/replicas",
      find: '&& mode === "apply"',
      replace: "",
      test: OWNER,
    },
    {
      breaks: "couples by an autoscaler of limits",
      in: "findRequestOwner",
      under: "lib/core/replicas",
      find: "`${resource}.requests`",
      replace: "`${resource}.limits`",
      test: COUPLED,
    },
    {
      breaks: "asks for an owner on every pod",
      in: "isCoupled",
      under: "lib/core/replicas",
      find: "pods.some",
      replace: "pods.every",
      test: COUPLED,
    },
    {
      breaks: "looks at other containers too",
      in: "listOwned",
      under: "lib/core/replicas",
      find: "container !== null && container !== name",
      replace: "container === name && container !== name",
      test: COUPLED,
    },
    {
      breaks: "lets pods grow that nobody resizes",
      in: "grow",
      under: "lib/core/replicas",
      find: "if (owner === null) return { born, full: born, isClipped: false };",
      replace: "if (owner === null) return { born, full: born * 4, isClipped: false };",
      test: UNCOUPLED,
    },
  ],
  R81: [
    {
      breaks: "takes live for born: the control flaps no more",
      in: "readByContainer",
      under: "lib/core/replicas",
      find: 'baseline === "live" ? live :',
      replace: "",
      test: FLAPPING,
    },
    {
      breaks: "takes live requests for the yardstick",
      in: "readByContainer",
      under: "lib/core/replicas",
      find: "{ facts, born, context }",
      replace: "{ facts, born: live, context }",
      test: REST,
    },
  ],
  R82: [
    {
      breaks: "takes any resize for one of this side",
      in: "isSideResized",
      under: "lib/core/replicas",
      find: "readOwnedSides(owned, container).includes(key)",
      replace: "owned.length > 0 && key !== container",
      test: BORN,
    },
    {
      breaks: "asks the template before the pod's revision",
      in: "createReadBorn",
      under: "lib/core/replicas",
      find: "[recorded, revision, template]",
      replace: "[recorded, template, revision]",
      test: SOURCES,
    },
    {
      breaks: "asks templates before the record",
      in: "createReadBorn",
      under: "lib/core/replicas",
      find: "[recorded, revision, template]",
      replace: "[revision, template, recorded]",
      test: SOURCES,
    },
    {
      breaks: "takes resized siblings",
      in: "readUnresized",
      under: "lib/core/replicas",
      find: "isSideResized(pod, container, key) ? null :",
      replace: "",
      test: SOURCES,
    },
    {
      breaks: "takes the upper median",
      in: "findMedian",
      under: "lib/core/replicas",
      find: "(amounts.length - 1) / 2",
      replace: "amounts.length / 2",
      test: SOURCES,
    },
    {
      breaks: "records what a resize made",
      in: "nextRecord",
      under: "lib/core/replicas",
      find: "if (isSideResized(pod, name, key))",
      replace: "if (known !== null && isSideResized(pod, `${name}?`, key))",
      test: RECORD,
    },
    {
      breaks: "forgets the record",
      in: "nextRecord",
      under: "lib/core/replicas",
      find: "known?.[key] ?? null",
      replace: "null",
      test: RECORD,
    },
    {
      breaks: "reads templates of all resized pods",
      in: "needsTemplate",
      under: "lib/core/replicas",
      find: "&& !findSize(recorded, name)?.[key]",
      replace: "",
      test: TEMPLATES,
    },
    {
      breaks: "leaves the limit out",
      in: "readMost",
      under: "lib/core/replicas",
      find: "Math.min(rule.bounds.max ?? Infinity, ceiling ?? Infinity)",
      replace: "rule.bounds.max ?? Infinity",
      test: FULL,
    },
    {
      breaks: "takes a managed limit for what it is now",
      in: "readMost",
      under: "lib/core/replicas",
      find: "limitRule === undefined ? limit : limitRule.bounds.max",
      replace: "limit",
      test: FULL,
    },
    {
      breaks: "has born above full",
      in: "grow",
      under: "lib/core/replicas",
      find: "Math.min(born, most)",
      replace: "born",
      test: FULL,
    },
    {
      breaks: "holds a pod that can grow against its birth alone",
      in: "readByContainer",
      under: "lib/core/replicas",
      find: "one.full !== one.born",
      replace: "false",
      test: FULL,
    },
    {
      breaks: "ignores baseline: born",
      in: "readByContainer",
      under: "lib/core/replicas",
      find: "baseline !== null ||",
      replace: "",
      test: BASELINE,
    },
    {
      breaks: "makes up a birth",
      in: "readByContainer",
      under: "lib/core/replicas",
      find: "if (born === null) unknown ??= name;",
      replace: "",
      test: UNKNOWN,
    },
    {
      breaks: "lets a saturated pod's full fall below born",
      in: "grow",
      under: "lib/core/replicas",
      find: "Math.max(least, inForce)",
      replace: "inForce",
      test: STUCK,
    },
  ],
  R84: [
    {
      breaks: "has two samples enough for a long streak",
      in: "readShortSamples",
      under: "lib/core/observe",
      find: "Math.max(LEAST_SAMPLES, up.consecutiveSamples)",
      replace: "LEAST_SAMPLES",
      test: SATURATED,
    },
    {
      breaks: "has one sample enough",
      in: "LEAST_SAMPLES",
      under: "lib/core/observe",
      find: "2",
      replace: "1",
      test: SATURATED,
    },
    {
      breaks: "stays saturated without a wish",
      in: "isSaturated",
      under: "lib/core/observe",
      find: "isWantedUp(rule, streaks) &&",
      replace: "streaks !== undefined &&",
      test: STUCK,
    },
    {
      breaks: "stays saturated over a resize",
      in: "settleAccepted",
      under: "lib/core/settle",
      find: "...NOTHING_WANTED,",
      replace: "wantedSince: null,",
      test: ENDED,
    },
    {
      breaks: "counts what passes by itself",
      in: "toUpAnswer",
      under: "lib/core/settle",
      find: '"other"',
      replace: '"limit"',
      test: PASSING,
    },
    {
      breaks: "forgets the count in between",
      in: "nextHeld",
      under: "lib/core/observe",
      find: 'case "other": return before;',
      replace: 'case "other": return 0;',
      test: PASSING,
    },
    {
      breaks: "takes what holds any side",
      in: "toUpAnswer",
      under: "lib/core/settle",
      find: "sides.includes(key)",
      replace: "sides.length > 0",
      test: OTHERS,
    },
    {
      breaks: "has a cooldown saturate whatever is used",
      in: "nextHeld",
      under: "lib/core/observe",
      find: "atLimit[rule.resource] >= needed",
      replace: "needed > 0",
      test: COOLDOWN,
    },
    {
      breaks: "has no cooldown saturate",
      in: "toUpAnswer",
      under: "lib/core/settle",
      find: 'reason === "Cooldown" ? "cooldown" :',
      replace: "",
      test: COOLDOWN,
    },
    {
      breaks: "adds samples at the limit up over others",
      in: "countAtLimit",
      under: "lib/core/observe",
      find: "isCpuFull ? atLimit.cpu + 1 : 0",
      replace: "isCpuFull ? atLimit.cpu + 1 : atLimit.cpu",
      test: NOW_AND_THEN,
    },
    {
      breaks: "takes throttled CPU for usage at the limit",
      in: "countAtLimit",
      under: "lib/core/observe",
      find: 'const isCpuFull = actual !== null && fillsLimit(sample.cpuMillicores, actual["cpu.limits"]);',
      replace:
        'const isCpuFull = actual !== null && (sample.isSaturated || fillsLimit(sample.cpuMillicores, actual["cpu.limits"]));',
      test: THROTTLED,
    },
    {
      breaks: "does not look at saturation",
      in: "grow",
      under: "lib/core/replicas",
      find: "isSaturated(owner.rule, view)",
      replace: "!isSaturated(owner.rule, view) && born < 0",
      test: STUCK,
    },
  ],
  R85: [
    {
      breaks: "clips a pod that has all that it can get",
      in: "grow",
      under: "lib/core/replicas",
      find: "inForce < most && view",
      replace: "view",
      test: CLIPPED,
    },
    {
      breaks: "clips by memory",
      in: "readByContainer",
      under: "lib/core/replicas",
      find: 'resource === "cpu" && sticks',
      replace: "sticks",
      test: CLIPPED,
    },
    {
      breaks: "clips by one sample",
      in: "isAtLimit",
      under: "lib/core/replicas",
      find: "readShortSamples(rule)",
      replace: "1",
      test: CLIPPED,
    },
    {
      breaks: "counts on over a sample below the limit",
      in: "countAtLimit",
      under: "lib/core/observe",
      find: "isClipped ? before.clipped + 1 : 0",
      replace: "before.clipped + (isClipped ? 1 : 0)",
      test: AT_LIMIT,
    },
    {
      breaks: "counts usage at the limit alone",
      in: "countAtLimit",
      under: "lib/core/observe",
      find: "(isCpuFull || sample.isSaturated)",
      replace: "isCpuFull",
      test: THROTTLED,
    },
    {
      breaks: "keeps the count over another limit",
      in: "nextViewOfContainer",
      under: "lib/core/observe",
      find: "return { ...view, ...NOTHING_WANTED, streaks };",
      replace: "return { ...view, streaks, wantedSince: null };",
      test: AT_LIMIT,
    },
  ],
  R86: [
    {
      breaks: "lets pods shrink before a scale-in",
      in: "GATES",
      under: "lib/core/gate",
      find: "scaledInFirst,",
      replace: "",
      test: PENDING,
    },
    {
      breaks: "holds scale-ups too",
      in: "scaledInFirst",
      under: "lib/core/gate",
      find: 'direction === "up" ||',
      replace: "",
      test: UPS,
    },
    {
      breaks: "holds all sides",
      in: "scaledInFirst",
      under: "lib/core/gate",
      find: ".filter((side) => held.includes(side))",
      replace: "",
      test: SIDES,
    },
    {
      breaks: "holds requests and not limits",
      in: "listCoupledSides",
      under: "lib/core/replicas",
      find: "resource === trigger.type &&",
      replace: "key === `${trigger.type}.requests` &&",
      test: LISTED,
    },
    {
      breaks: "ends streaks at each evaluation",
      in: "endDowns",
      under: "lib/core/observe",
      find: "|| scaledInAt === state.scaledIn?.at",
      replace: "",
      test: FALLEN,
    },
    {
      breaks: "ends streaks up as well",
      in: "keepUps",
      under: "lib/core/observe",
      find: '.filter(([, { direction }]) => direction === "up")',
      replace: '.filter(([, { direction }]) => direction === "down" && direction !== direction)',
      test: FALLEN,
    },
    {
      breaks: "keeps streaks down",
      in: "endDowns",
      under: "lib/core/observe",
      find: "keepUps(view.streaks)",
      replace: "view.streaks",
      test: FALLEN,
    },
    {
      breaks: "lets windows run on",
      in: "waitForWatching",
      under: "lib/core/gate",
      find: "Math.max(evidence.since ?? now, scaledIn?.since ?? -Infinity)",
      replace: "evidence.since ?? now",
      test: WINDOWS,
    },
    {
      breaks: "believes a fall in the future",
      in: "endDowns",
      under: "lib/core/observe",
      find: "Math.min(scaledInAt, now)",
      replace: "scaledInAt",
      test: FUTURE,
    },
    {
      breaks: "tells vertical of no scale-in that is to come",
      in: "createReplicas",
      find: "...(isScaleInPending && { scaleInPending: sides() }), ",
      replace: "",
      test: HELD,
    },
    {
      breaks: "holds pods for good once a scale-in was to come",
      in: "createReplicas",
      find: "...(isScaleInPending && ",
      replace: "...((isScaleInPending || scaledInAt !== null) && ",
      test: HELD,
    },
  ],
  R87: [
    {
      breaks: "holds both runs against what pods can grow to",
      in: "grow",
      under: "lib/core/replicas",
      find: "{ born: least, full: most,",
      replace: "{ born: most, full: most,",
      test: REST,
    },
    {
      breaks: "holds both runs against the live size",
      in: "readByContainer",
      under: "lib/core/replicas",
      find: 'baseline === "live" ? live : context.readBorn(of, name)',
      replace: "live",
      test: REST,
    },
    {
      breaks: "does not know what resizes the pods",
      in: "createReadWorkloadPod",
      find: "readVertical(pod, options)",
      replace: "null",
      test: WHOLE,
    },
  ],
  R88: [
    {
      breaks: "has the tick half write what it read",
      in: "grow",
      under: "lib/core/replicas",
      find: "const least = Math.min(born, most);",
      replace: "Object.assign(facts, { spec: {} }); const least = Math.min(born, most);",
      test: "readPods() reads what the vertical half came to last, and asks for and changes nothing (R88)",
    },
    {
      breaks: "tells a pod of its replicas what it needs not know",
      in: "listCoupledSides",
      under: "lib/core/replicas",
      find: "const held: Record<string, SideKey[]> = {};",
      replace: "const held: Record<string, SideKey[]> = { replicas: [] };",
      test: LISTED,
    },
  ],
  R89: [
    {
      breaks: "goes by what pods can grow to alone",
      in: "grow",
      under: "lib/core/replicas",
      find: "{ born: least, full: most,",
      replace: "{ born: Math.max(least, most), full: most,",
      test: EXAMPLE,
    },
    {
      breaks: "goes by what pods were born with alone",
      in: "grow",
      under: "lib/core/replicas",
      find: "{ born: least, full: most,",
      replace: "{ born: least, full: least,",
      test: EXAMPLE,
    },
  ],
};
