/** Slips in how a ScaledObject and the authentications of its triggers are defined and read (R1 to R18, R55, R56, R60, R76, R77, R96). */
import type { Mutations } from "../../tools/mutation.ts";

const ANNOTATIONS = "parseScaledObject() reads the annotations as KEDA does (R51, R55, R56, R76, R77)";
const DEFAULTS = "parseScaledObject() fills in every default (R2)";
const FIELDS = "parseScaledObject() reads every field of the spec, times in ms (R2)";
const FILLED = "parseScaledObject() fills in nothing where there is no behavior, and all where it is empty (R5)";
const METRICS_API = "parseScaledObject() reads metrics-api with its defaults, and everything it may have (R13, R15)";
const PROMETHEUS = "parseScaledObject() reads prometheus with its defaults, and everything it may have (R14, R15)";
const WARNINGS = "parseScaledObject() warns of what has no effect, and of nothing else (R4)";

export const REPLICAS_RESOURCE: Mutations = {
  R1: [
    {
      breaks: "has another short name",
      file: "crds/scaledobject.yaml",
      find: "shortNames: [so]",
      replace: "shortNames: [sos]",
      test: "ScaledObject has KEDA's names, scope, columns and subresources (R1, R91)",
    },
    {
      breaks: "is stricter than KEDA's",
      file: "crds/scaledobject.yaml",
      find: "                fallback:\n                  description: What stands",
      replace:
        "                fallback:\n                  maxProperties: 3\n                  description: What stands",
      test: "ScaledObject has KEDA's fields with their types and bounds, and no others (R1, R2)",
    },
    {
      breaks: "has no authentication of the cluster",
      file: "crds/clustertriggerauthentication.yaml",
      find: "scope: Cluster",
      replace: "scope: Namespaced",
      test: "ClusterTriggerAuthentication has KEDA's names, scope, columns and subresources (R1, R91)",
    },
    {
      breaks: "takes any version",
      in: "parseScaledObject",
      find: 'root.word("apiVersion", ["keda.sh/v1alpha1"]);',
      replace: "",
      test: "parseScaledObject() names apiVersion when there is R1: another version",
    },
  ],
  R2: [
    {
      breaks: "polls as often as a manifest says",
      in: "objectSource",
      find: "limitPolling(parseScaledObject(object), limits)",
      replace: "limitPolling(parseScaledObject(object), { ...limits, minPollIntervalMs: null })",
      test: "a pollingInterval under the operator's --min-poll-interval is raised to it, and Ready says so (R2)",
    },
    {
      breaks: "raises a longer pollingInterval, too",
      in: "limitPolling",
      find: ">= minPollIntervalMs",
      replace: "> minPollIntervalMs",
      test: "a pollingInterval that is no shorter than the operator's is as it was (R2)",
    },
    { breaks: "polls more often", in: "DEFAULT_REPLICAS", find: "30_000", replace: "15_000", test: DEFAULTS },
    { breaks: "cools down sooner", in: "DEFAULT_REPLICAS", find: "300_000", replace: "30_000", test: DEFAULTS },
    { breaks: "goes further by default", in: "DEFAULT_REPLICAS", find: "100", replace: "1000", test: DEFAULTS },
    {
      breaks: "takes a minimum above the maximum",
      in: "parseReplicas",
      find: "minReplicas > maxReplicas",
      replace: "minReplicas > maxReplicas + 1",
      test: "parseScaledObject() names spec.minReplicaCount when there is R2: min above max",
    },
    {
      breaks: "takes an explicit minimum of 0 for 0",
      in: "parseReplicas",
      find: "Math.max(1, minReplicas)",
      replace: "minReplicas",
      test:
        "parseScaledObject() takes what KEDA's documentation shows for every feature (R2, R4, R10, R11, R12, R13, R14, R60)",
    },
    {
      breaks: "takes idle replicas equal to the minimum",
      in: "parseReplicas",
      find: "idleReplicas >= floor",
      replace: "idleReplicas > floor",
      test: "parseScaledObject() names spec.idleReplicaCount when there is R2: idle equal to min",
    },
    {
      breaks: "reads seconds as milliseconds",
      in: "parseSecondsToMs",
      find: "1000 * seconds",
      replace: "seconds",
      test: FIELDS,
    },
    {
      breaks: "takes another kind by default",
      in: "parseScaleTarget",
      find: '"Deployment"',
      replace: '"StatefulSet"',
      test: DEFAULTS,
    },
    {
      breaks: "takes two triggers of one name",
      in: "reportDuplicateNames",
      find: "other !== undefined",
      replace: "other === fields",
      test: "parseScaledObject() names spec.triggers[2].name when there is R2: two triggers of one name",
    },
    {
      breaks: "takes an empty list of triggers",
      in: "parseTriggers",
      find: "list.length === 0",
      replace: "list.length === -1",
      test: "parseScaledObject() names spec.triggers when there is R2: an empty list of triggers",
    },
  ],
  R3: [
    {
      breaks: "acts on what is invalid",
      in: "parseScaledObject",
      find: "spec !== null && problems.length === 0",
      replace: "spec !== null",
      test: "parseScaledObject() says what it is of an object that is invalid, deleting or paused (R3, R55)",
    },
    {
      breaks: "stops at the first part that is wrong",
      in: "parseScalingSpec",
      find: "const replicas = parseReplicas(spec);",
      replace: "if (target === null) return null; const replicas = parseReplicas(spec);",
      test: "parseScaledObject() reports every problem of an object at once (R3)",
    },
    {
      breaks: "throws on what is no object",
      in: "parseScaledObject",
      find: "!isRecord(object)",
      replace: "object === 0",
      test: "parseScaledObject() and parseAuthentication() take any value at all (R3, R16)",
    },
  ],
  R4: [
    {
      breaks: "takes triggers without end",
      in: "parseTriggers",
      find: "list.length > MAX_TRIGGERS",
      replace: "list.length < 0",
      test: "parseScaledObject() takes 50 triggers and no more (R2, R4)",
    },
    {
      breaks: "lets cpu and memory go to 0",
      in: "checkResourceTriggers",
      find: "replicas.minReplicas > 0",
      replace: "replicas.minReplicas >= 0",
      test: "parseScaledObject() refuses cpu and memory alone with min 0, and takes them beside another trigger (R4)",
    },
    {
      breaks: "refuses min 0 beside a trigger that can go to 0",
      in: "checkResourceTriggers",
      find: "!types.every(isResourceType)",
      replace: "!types.some(isResourceType)",
      test: "parseScaledObject() refuses cpu and memory alone with min 0, and takes them beside another trigger (R4)",
    },
    {
      breaks: "refuses other kinds too",
      in: "checkResourceTriggers",
      find: 'target.apiVersion === "apps/v1" && ["Deployment", "StatefulSet"].includes(target.kind)',
      replace: "target.kind !== null",
      test: WARNINGS,
    },
    {
      breaks: "takes a cached cron",
      in: "parseTrigger",
      find: 'isResourceType(type) || type === "cron"',
      replace: "isResourceType(type)",
      test: "parseScaledObject() names spec.triggers[0].useCachedMetrics when there is R4: useCachedMetrics with cron",
    },
    {
      breaks: "takes a utilization of anything",
      in: "parseMetricType",
      find: '"Utilization"',
      replace: '"Share"',
      test:
        "parseScaledObject() names spec.triggers[0].metricType when there is R4: metricType Utilization for prometheus",
    },
    {
      breaks: "takes a type that KEDA removed",
      in: "parseResourceTrigger",
      find: 'metadata.has("type")',
      replace: 'metadata.has("types")',
      test:
        "parseScaledObject() names spec.triggers[0].metadata.type when there is R4: metadata.type of cpu, which KEDA removed",
    },
    {
      breaks: "takes a fallback of cpu",
      in: "parseFallback",
      find: "!hasFormula && types.every(isResourceType)",
      replace: "hasFormula && types.every(isResourceType)",
      test: "parseScaledObject() names spec.fallback when there is R4: a fallback for cpu alone",
    },
    {
      breaks: "does not warn of a key that nobody reads",
      in: "openMetadata",
      find: "!keys.includes(key)",
      replace: "keys.length === 0",
      test: WARNINGS,
    },
    {
      breaks: "takes a fallback of a formula that is not there",
      in: "parseFallback",
      find: 'behavior === "scalingModifiers" && !hasFormula',
      replace: 'behavior === "scalingModifiers" && hasFormula',
      test: "lint names every problem of a ScaledObject on its line (R96, R3, R4)",
    },
  ],
  R5: [
    {
      breaks: "fills in a behavior that is not there",
      in: "parseBehavior",
      find: "if (behavior === null) return null;",
      replace: "if (behavior === null) return DEFAULT_BEHAVIOR;",
      test: FILLED,
    },
    {
      breaks: "takes the defaults of the other direction",
      in: "parseBehavior",
      find: "defaults: DEFAULT_BEHAVIOR.scaleUp",
      replace: "defaults: DEFAULT_BEHAVIOR.scaleDown",
      test: FILLED,
    },
    {
      breaks: "adds the default policies to those that are given",
      in: "parseRules",
      find: "parseScalingPolicies(rules, warnings) ?? defaults.policies",
      replace: "[...(parseScalingPolicies(rules, warnings) ?? []), ...defaults.policies]",
      test: "parseScaledObject() fills in each field of a direction for itself (R5)",
    },
    {
      breaks: "takes a window of 0 for none",
      in: "parseRules",
      find: "seconds === null",
      replace: "!seconds",
      test: "parseScaledObject() fills in each field of a direction for itself (R5)",
    },
    {
      breaks: "takes a longer window",
      in: "parseRules",
      find: "max: 3600",
      replace: "max: 7200",
      test:
        "parseScaledObject() names spec.advanced.horizontalPodAutoscalerConfig.behavior.scaleUp.stabilizationWindowSeconds when there is R5: a window beyond an hour",
    },
    {
      breaks: "takes a longer period",
      in: "parseScalingPolicy",
      find: "max: 1800",
      replace: "max: 3600",
      test:
        "parseScaledObject() names spec.advanced.horizontalPodAutoscalerConfig.behavior.scaleUp.policies[0].periodSeconds when there is R5: a policy of a period beyond half an hour",
    },
    {
      breaks: "takes a negative tolerance",
      in: "parseTolerance",
      find: "parsed.milli < 0n",
      replace: "parsed.milli < -1000n",
      test:
        "parseScaledObject() names spec.advanced.horizontalPodAutoscalerConfig.behavior.scaleUp.tolerance when there is R5: a negative tolerance",
    },
    {
      breaks: "divides where Go multiplies",
      in: "toStoredDouble",
      find: "Number(mantissa) * Number(`1e${exponent}`)",
      replace: "Number(mantissa) / Number(`1e${-exponent}`)",
      test: "parseScaledObject() reads a tolerance as the double that the controller computes with (R5)",
    },
  ],
  R10: [
    {
      breaks: "takes a share for an amount",
      in: "parseResourceTarget",
      find: 'metricType === "Utilization"',
      replace: 'metricType !== "Utilization"',
      test: "parseScaledObject() reads cpu and memory as a share of requests or an amount (R10)",
    },
    {
      breaks: "takes a utilization of 0",
      in: "parseResourceTarget",
      find: "percent >= 1n",
      replace: "percent >= 0n",
      test: "parseScaledObject() names spec.triggers[0].metadata.value when there is R10: a utilization of 0",
    },
    {
      breaks: "does without a metricType",
      in: "parseResourceTarget",
      find: 'fields.report("metricType", \'Missing field "metricType": must be Utilization or AverageValue\');',
      replace: "",
      test: "parseScaledObject() names spec.triggers[0].metricType when there is R10: cpu without metricType",
    },
    {
      breaks: "looks at the whole pod though a container is named",
      in: "parseResourceTrigger",
      find: 'metadata.text("containerName")',
      replace: 'metadata.text("container")',
      test: "parseScaledObject() reads cpu and memory as a share of requests or an amount (R10)",
    },
    {
      breaks: "takes a baseline of less than nothing",
      in: "parsePositive",
      under: "lib/resources/scaled_object/local_triggers.ts",
      find: "parsed.milli <= 0n",
      replace: "parsed.milli === 0n",
      test: "parseScaledObject() names spec.triggers[0].metadata.baseline when there is R10: a negative baseline",
    },
  ],
  R11: [
    {
      breaks: "takes a cron that begins when it ends",
      in: "parseCronSource",
      find: "times.start === times.end",
      replace: "times.start === times.end && metadata.has('never')",
      test:
        "parseScaledObject() names spec.triggers[0].metadata.end when there is R11: cron with an equal start and end",
    },
    {
      breaks: "takes negative replicas",
      in: "parseDesiredReplicas",
      find: "replicas >= 1n",
      replace: "replicas !== 0n",
      test:
        "parseScaledObject() names spec.triggers[0].metadata.desiredReplicas when there is R11: negative desiredReplicas",
    },
    {
      breaks: "takes an unknown time zone",
      in: "parseTimezone",
      find: "timezone === null || isTimezone(timezone)",
      replace: "timezone === null || timezone !== ''",
      test: "parseScaledObject() names spec.triggers[0].metadata.timezone when there is R11: an unknown timezone",
    },
  ],
  R12: [
    {
      breaks: "counts pods where nodes are meant",
      in: "parseWorkloadSource",
      find: 'metadata.boolean("groupByNode") ?? false',
      replace: "false",
      test: "parseScaledObject() reads kubernetes-workload (R12)",
    },
    {
      breaks: "has no activation of its own",
      in: "parseWorkloadSource",
      find: 'metadata.number("activationValue") ?? 0',
      replace: "0",
      test: "parseScaledObject() reads kubernetes-workload (R12)",
    },
    {
      breaks: "does without a value",
      in: "parseWorkloadSource",
      find: '["podSelector", "value"]',
      replace: '["podSelector"]',
      test: "parseScaledObject() names spec.triggers[0].metadata.value when there is R12: no value",
    },
    {
      breaks: "takes a negative value",
      in: "parseTargetMilli",
      find: "if (!hasFormula)",
      replace: "if (!hasFormula && target >= 0)",
      test: "parseScaledObject() names spec.triggers[0].metadata.value when there is R12: a negative value",
    },
  ],
  R13: [
    {
      breaks: "asks the metadata service of a cloud",
      in: "parseAddress",
      find: "purpose === null",
      replace: "purpose !== undefined",
      test: "parseScaledObject() refuses to ask 169.254.169.254, which is a link-local address (R13, R14)",
    },
    {
      breaks: "takes xml",
      in: "parseFormat",
      find: 'metadata.text("format") === "xml"',
      replace: 'metadata.text("format") === "html"',
      test: "parseScaledObject() names spec.triggers[0].metadata.format when there is R13: format xml",
    },
    {
      breaks: "reads yaml where nothing is said",
      in: "parseFormat",
      find: ': "json"',
      replace: ': "yaml"',
      test: METRICS_API,
    },
    {
      breaks: "asks the Service where its endpoints are meant",
      in: "refuseAggregation",
      find: "!== true",
      replace: "!== null",
      test:
        "parseScaledObject() names spec.triggers[0].metadata.aggregateFromKubeServiceEndpoints when there is R13: the endpoints of a Service one by one",
    },
    {
      breaks: "takes any location",
      in: "parseLocation",
      find: "text === null ? null : findLocationFault(text, format)",
      replace: "null",
      test:
        "parseScaledObject() names spec.triggers[0].metadata.valueLocation when there is R13: a query in valueLocation",
    },
    {
      breaks: "takes tls authentication",
      in: "parseAuthModes",
      find: 'given.includes("tls") ||',
      replace: "",
      test: "parseScaledObject() names spec.triggers[0].metadata.authMode when there is R13: tls authentication",
    },
    {
      breaks: "asks without credentials where some are meant",
      in: "parseAuthModes",
      find: "!context.hasAuthentication && !hasOwn",
      replace: "context.hasAuthentication && hasOwn",
      test:
        "parseScaledObject() names spec.triggers[0].metadata.authMode when there is R13: bearer without credentials",
    },
    {
      breaks: "takes authMode before authModes",
      in: "parseAuthModes",
      find: 'metadata.has("authModes") ? "authModes" : "authMode"',
      replace: 'metadata.has("authMode") ? "authMode" : "authModes"',
      test: "parseScaledObject() takes authModes before authMode, and none that has no effect (R13, R14)",
    },
  ],
  R14: [
    {
      breaks: "asks every machine at once",
      in: "NEVER_ASKED",
      find: ", MULTICAST",
      replace: "",
      test: "parseScaledObject() refuses to ask [ff02::1], which is a multicast address (R13, R14)",
    },
    {
      breaks: "reads a mapped address as none",
      in: "findAddressPurpose",
      find: "mapped !== null",
      replace: "mapped === undefined",
      test: "parseScaledObject() refuses to ask [::ffff:169.254.169.254], which is a link-local address (R13, R14)",
    },
    {
      breaks: "fails on no value by default",
      in: "parsePrometheusSource",
      find: '("ignoreNullValues") ?? true',
      replace: '("ignoreNullValues") ?? false',
      test: PROMETHEUS,
    },
    {
      breaks: "forgets the headers",
      in: "parseHeaders",
      under: "lib/resources/scaled_object/http_triggers.ts",
      find: 'metadata.pairs("customHeaders")',
      replace: 'metadata.pairs("headers")',
      test: PROMETHEUS,
    },
    {
      breaks: "does without a threshold",
      in: "parsePrometheusSource",
      find: '["serverAddress", "query", "threshold"]',
      replace: '["serverAddress", "query"]',
      test: "parseScaledObject() names spec.triggers[0].metadata.threshold when there is R14: no threshold",
    },
    {
      breaks: "asks without the identity that is meant",
      in: "CLOUD_KEYS",
      find: '"awsRegion"',
      replace: '"region"',
      test: "parseScaledObject() names spec.triggers[0].metadata.awsRegion when there is R14: the identity of a cloud",
    },
    {
      breaks: "takes a value with = in it",
      in: "parsePairs",
      find: "parts.length !== 2",
      replace: "parts.length < 2",
      test:
        "parseScaledObject() names spec.triggers[0].metadata.customHeaders when there is R14: a header value with =",
    },
  ],
  R15: [
    {
      breaks: "waits as long as a manifest says",
      in: "MAX_TIMEOUT_MS",
      find: "15_000",
      replace: "2 ** 31 - 1",
      test: "parseScaledObject() cuts a timeout to a tick's 15 s, with a warning (R15)",
    },
    {
      breaks: "reads numbers as strconv does",
      in: "openMetadata",
      find: "read(key, parseJsonNumber,",
      replace: "read(key, (text) => Number(text),",
      test:
        "parseScaledObject() names spec.triggers[0].metadata.threshold when there is R15: a number that begins with a point",
    },
    {
      breaks: "reads an integer as seconds",
      in: "parseTimeout",
      find: "Number(ms)",
      replace: "1000 * Number(ms)",
      test: "parseScaledObject() reads durations as Go does, or as milliseconds (R15)",
    },
    {
      breaks: "waits for no time at all",
      in: "parseTimeoutMs",
      find: "timeoutMs === 0 ? DEFAULT_TIMEOUT_MS :",
      replace: "",
      test: "parseScaledObject() reads durations as Go does, or as milliseconds (R15)",
    },
    {
      breaks: "takes blanks for a value",
      in: "findText",
      under: "lib/resources/scaled_object/metadata.ts",
      find: "value.trim()",
      replace: "value",
      test: METRICS_API,
    },
  ],
  R16: [
    {
      breaks: "leaves out a credential that it cannot read",
      in: "parseSources",
      find: "spec.report(key, `Cannot use source ${quote(key)}: ${instead}`);",
      replace: "",
      test: "parseAuthentication() refuses every other source by its name, and takes those that are empty (R16)",
    },
    {
      breaks: "gives a ClusterTriggerAuthentication a namespace",
      in: "parseObjectMetadata",
      under: "lib/resources/trigger_authentication/trigger_authentication.ts",
      find: 'kind === "ClusterTriggerAuthentication" ? null : namespace',
      replace: "namespace",
      test: "parseAuthentication() gives a ClusterTriggerAuthentication no namespace, whatever it has (R16)",
    },
    {
      breaks: "takes a path for a secret's name",
      in: "parseName",
      under: "lib/resources/trigger_authentication/trigger_authentication.ts",
      find: "NAME_RULE",
      replace: "ANY_TEXT",
      test: "parseAuthentication() names every field that is missing or wrong (R16)",
    },
  ],
  R17: [
    {
      breaks: "takes a target that is 0 in thousandths",
      in: "parseTargetMilli",
      find: "if (!hasFormula)",
      replace: "if (!hasFormula && target <= 0)",
      test:
        "parseScaledObject() names spec.triggers[0].metadata.threshold when there is R17: a threshold that is rounded to 0",
    },
    {
      breaks: "cuts a target",
      in: "parseTargetMilli",
      find: "toMilli(target)",
      replace: "BigInt(Math.trunc(Math.min(2 ** 62, 1000 * target)))",
      test: "parseScaledObject() rounds a threshold to three decimals, ties to even, and never to 0 (R17)",
    },
  ],
  R18: [
    {
      breaks: "leaves a mark in a name",
      in: "toMetricName",
      find: "/[/.:%()]/g",
      replace: "/[/.:%]/g",
      test: "parseScaledObject() names metrics as KEDA does (R18)",
    },
    {
      breaks: "counts triggers from 1",
      in: "toMetricName",
      find: "`s${index}-",
      replace: "`s${index + 1}-",
      test: "parseScaledObject() names metrics as KEDA does (R18)",
    },
    {
      breaks: "leaves a comma in the name of a cron",
      in: "toCronName",
      find: '.replaceAll(",", "Cm")',
      replace: "",
      test: "parseScaledObject() names metrics as KEDA does (R18)",
    },
    {
      breaks: "names a workload without its namespace",
      in: "parseWorkloadSource",
      find: "`workload-${namespace}`",
      replace: '"workload"',
      test: "parseScaledObject() names metrics as KEDA does (R18)",
    },
  ],
  R55: [
    {
      breaks: "takes a word that is no boolean for false",
      in: "isSwitchedOn",
      find: "?? true",
      replace: "?? false",
      test: ANNOTATIONS,
    },
    {
      breaks: "is not paused by a number",
      in: "parseAnnotations",
      find: "annotations?.has(PAUSED_REPLICAS) ?? false",
      replace: "false",
      test: ANNOTATIONS,
    },
    {
      breaks: "goes on where the number is none",
      in: "parseScaledObject",
      find: "isPaused: annotations.isPaused",
      replace: "isPaused: annotations.isPaused && problems.length === 0",
      test: ANNOTATIONS,
    },
    {
      breaks: "takes a negative number",
      in: "parsePausedReplicas",
      find: "replicas >= 0n",
      replace: "replicas >= -1n",
      test:
        "parseScaledObject() names metadata.annotations.autoscaling.keda.sh/paused-replicas when there is R55: negative paused-replicas",
    },
  ],
  R56: [
    {
      breaks: "takes one direction for the other",
      in: "parseAnnotations",
      find: "isScaleInPaused: isSwitchedOn(annotations, PAUSED_SCALE_IN)",
      replace: "isScaleInPaused: isSwitchedOn(annotations, PAUSED_SCALE_OUT)",
      test: ANNOTATIONS,
    },
  ],
  R60: [
    {
      breaks: "does without a target",
      in: "parseModifiers",
      find: '["formula", "target"].filter',
      replace: '["formula"].filter',
      test:
        "parseScaledObject() names spec.advanced.scalingModifiers.target when there is R60: a formula without target",
    },
    {
      breaks: "takes a target that is 0 in thousandths",
      in: "parseModifiers",
      find: "targetMilli < 1n",
      replace: "targetMilli < 0n",
      test:
        "parseScaledObject() names spec.advanced.scalingModifiers.target when there is R60: a formula's target under 0.001",
    },
    {
      breaks: "does not try the formula",
      in: "compileFormula",
      find: 'tried.kind !== "error"',
      replace: "tried !== null",
      test:
        "parseScaledObject() names spec.advanced.scalingModifiers.formula when there is R60: a formula that fails with every trigger at -1",
    },
    {
      breaks: "lets a formula use the pods of the target",
      in: "parseTriggers",
      find: '!isResourceType(fields.get("type"))',
      replace: 'fields.has("type")',
      test:
        "parseScaledObject() names spec.advanced.scalingModifiers.formula when there is R60: a formula with the name of a cpu trigger",
    },
    {
      breaks: "wants a target of each trigger beside a formula",
      in: "parseMetricsApiSource",
      find: 'hasFormula ? ["url", "valueLocation"]',
      replace: 'hasAuthentication ? ["url", "valueLocation"]',
      test: "parseScaledObject() lets metrics-api and kubernetes-workload do without a target beside a formula (R60)",
    },
    {
      breaks: "takes an infinite target",
      in: "parseFloatText",
      find: "value !== null && Number.isFinite(value)",
      replace: "value !== null",
      test:
        "parseScaledObject() names spec.advanced.scalingModifiers.activationTarget when there is R60: an activationTarget that is NaN",
    },
  ],
  R76: [
    {
      breaks: "deletes an HPA at any word",
      in: "parseAnnotations",
      find: 'annotations?.get(key) === "true"',
      replace: "annotations?.has(key) ?? false",
      test: ANNOTATIONS,
    },
  ],
  R77: [
    {
      breaks: "takes the word of the HPA's annotation",
      in: "parseAnnotations",
      find: "ignoresHpas: isTrue(OWNERSHIP)",
      replace: "ignoresHpas: !isTrue(OWNERSHIP)",
      test: ANNOTATIONS,
    },
  ],
  R96: [
    {
      breaks: "passes over ScaledObjects",
      in: "CHECKED_KINDS",
      find: 'toKind("ScaledObject", "scaled object", parseScaledObject),',
      replace: "",
      test: "podfit lint counts what it checked by kind, and ends with 0 where no autoscaler is (R96)",
    },
    {
      breaks: "says nothing of warnings",
      in: "checkObject",
      find: "warnings: parsed.warnings",
      replace: "warnings: []",
      test: "lint warns of what has no effect in a ScaledObject (R96, R4)",
    },
    {
      breaks: "takes objects of several kinds for one",
      in: "warnOfDuplicates",
      find: "`${kind} ${name}`",
      replace: "name",
      test: "lint takes objects of one name and of several kinds for several, and warns of two of one kind (R96)",
    },
  ],
};
