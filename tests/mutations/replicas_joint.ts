/** Slips in what replicas know of pods: their usage, their yardsticks, and the way both halves keep out of each other's way (R20 to R24, R80 to R88). */
import type { Mutations } from "../../tools/mutation.ts";

const RATE = "readMetric() is the rate of the last two samples, cut to a nanocore and rounded up to 1m (R20, R21)";
const JOINED = "nextRates() joins samples until 8 s lie between them, and takes no older one (R20)";
const SUMS =
  "readMetric() sums containers and native sidecars that run, each rounded by itself, at the time of the first (R21, R22)";
const MEMORY = "readMetric() has memory as the newest working set, exact beyond 2^53 (R21)";
const MISSING = "readMetric() misses a pod while a container that runs has no rate yet, whichever is asked for (R23)";
const STALE =
  "readMetric() misses a pod whose newest sample was first seen 60 s ago, however often it is read (R23, R24)";
const COUPLED =
  "a trigger is coupled where an autoscaler that applies resizes the request that its utilization is of (R80)";
const REST =
  "under a constant load replicas and sizes turn once at most, and do not pass what sizes at birth ask for (R81, R83, R87)";
const BORN = "born is the spec's request until somebody has resized it in place, whatever else is known (R82)";
const SOURCES =
  "born of a resized pod is podfit's record, its own revision's template, the workload's, then the median of siblings (R82)";
const RECORD =
  "nextInitialResources() keeps what a container asked for before its first resize, and follows what nobody has resized (R82)";
const STUCK = "a saturated pod's full is the larger of born and its request in force (R82, R84)";
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
const FALLEN = "decideSize() ends streaks down once when replicas have fallen, and no others (R86)";
const LISTED = "listHeldFields() gives requests and limits of what a coupled trigger looks at, by container (R86, R88)";

const HELD = "a whole podfit holds pods from shrinking until replicas have fallen, says so, and then goes on (R86)";

const EXAMPLE =
  "4 pods of 500m that can grow to 2000m stay 4 at 900m, become 5 at 1700m, and 6 become 4 at 200m (R80, R82, R89, E15)";

export const REPLICAS_JOINT: Mutations = {
  R20: [
    {
      breaks: "takes an older sample",
      in: "nextContainerRates",
      find: "at - before.at",
      replace: "Math.abs(at - before.at)",
      test: JOINED,
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
      find: "rest > 0 ? 1 : 0",
      replace: "rest > 0 ? 0 : 0",
      test: RATE,
    },
    {
      breaks: "computes memory in doubles",
      in: "toMilliAmount",
      find: "BigInt(amount) * 1000n",
      replace: "BigInt(Math.fround(amount * 1000))",
      test: MEMORY,
    },
    {
      breaks: "sums all containers though one is asked for",
      in: "findPodMetric",
      find: "container !== null && container !== name",
      replace: "container === name && container !== name",
      test: SUMS,
    },
  ],
  R22: [
    {
      breaks: "has the time of the container alone",
      in: "findPodMetric",
      find: "if (own.at < at)",
      replace: "if (container === name || own.at < at)",
      test: SUMS,
    },
  ],
  R23: [
    {
      breaks: "takes a pod without one container's rate",
      in: "findPodMetric",
      find: "return null;",
      replace: "continue;",
      test: MISSING,
    },
    {
      breaks: "goes by when it was read last",
      in: "nextContainerRates",
      find: "return before;",
      replace: "return { ...before, seenAt: context.readAt };",
      test: STALE,
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
      breaks: "couples by an autoscaler of limits",
      in: "findRequestOwner",
      find: "`${resource}.requests`",
      replace: "`${resource}.limits`",
      test: COUPLED,
    },
    {
      breaks: "looks at other containers too",
      in: "listOwnedContainers",
      find: "container !== null && container !== name",
      replace: "container === name && container !== name",
      test: COUPLED,
    },
  ],
  R81: [
    {
      breaks: "takes live requests for the yardstick",
      in: "compareRequests",
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
      breaks: "records what a resize made",
      in: "nextInitialResources",
      find: "if (isFieldResized(pod, name, key))",
      replace: "if (known !== null && isFieldResized(pod, `${name}?`, key))",
      test: RECORD,
    },
  ],
  R84: [
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
      find: "isSaturated(owner.rule, view)",
      replace: "!isSaturated(owner.rule, view) && born < 0",
      test: STUCK,
    },
  ],
  R85: [
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
      breaks: "keeps the count over another limit",
      in: "nextView",
      find: "return { ...known, ...NOTHING_WANTED, streaks };",
      replace: "return { ...known, streaks, wantedSince: null };",
      test: AT_LIMIT,
    },
  ],
  R86: [
    {
      breaks: "holds requests and not limits",
      in: "listHeldFields",
      find: "resource === trigger.type &&",
      replace: "key === `${trigger.type}.requests` &&",
      test: LISTED,
    },
    {
      breaks: "ends streaks up as well",
      in: "keepScaleUpStreaks",
      find: '.filter(([, { direction }]) => direction === "up")',
      replace: '.filter(([, { direction }]) => direction === "down" && direction !== direction)',
      test: FALLEN,
    },
    {
      breaks: "holds pods for good once a scale-in was to come",
      in: "createReplicasManager",
      find: "...(isScaleInPending && ",
      replace: "...((isScaleInPending || scaledInAt !== null) && ",
      test: HELD,
    },
  ],
  R87: [
    {
      breaks: "holds both runs against what pods can grow to",
      in: "computeGrowth",
      find: "{ born: min, full: max,",
      replace: "{ born: max, full: max,",
      test: REST,
    },
  ],
  R88: [
    {
      breaks: "has the tick half write what it read",
      in: "computeGrowth",
      find: "const min = Math.min(born, max);",
      replace: "Object.assign(facts, { spec: {} }); const min = Math.min(born, max);",
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
      find: "{ born: min, full: max,",
      replace: "{ born: Math.max(min, max), full: max,",
      test: EXAMPLE,
    },
    {
      breaks: "goes by what pods were born with alone",
      in: "computeGrowth",
      find: "{ born: min, full: max,",
      replace: "{ born: min, full: min,",
      test: EXAMPLE,
    },
  ],
};
