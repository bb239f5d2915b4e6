/** Slips in how a ScaledObject and the authentications of its triggers are defined and read (R1 to R18, R55, R56, R60, R76, R77, R96). */
import type { Mutations } from "../../tools/mutation.ts";

const ANNOTATIONS = "parseScaledObject() reads the annotations as KEDA does (R51, R55, R56, R76, R77)";
const DEFAULTS = "parseScaledObject() fills in every default (R2)";
const FILLED = "parseScaledObject() fills in nothing where there is no behavior, and all where it is empty (R5)";
const METRICS_API = "parseScaledObject() reads metrics-api with its defaults, and everything it may have (R13, R15)";
const PROMETHEUS = "parseScaledObject() reads prometheus with its defaults, and everything it may have (R14, R15)";
const MISTAKE = "parseScaledObject() makes a trigger fail for a mistake in it, where another one is right (R3, R4)";
const NAMED =
  "decideReplicas() names in Ready what is wrong with single triggers, and never deactivates for them (R4, R52, R53)";
const ONE_OF_TWO =
  "a mistake in one trigger stops no other: replicas rise by them, do not fall, and Ready names it (R4, R40, R53, R76)";
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
      find: "                fallback:\n                  description: What podfit does",
      replace:
        "                fallback:\n                  maxProperties: 3\n                  description: What podfit does",
      test: "ScaledObject has KEDA's fields with their types and bounds, its own bounds, and no others (R1, R2)",
    },
    {
      breaks: "has no authentication of the cluster",
      file: "crds/clustertriggerauthentication.yaml",
      find: "scope: Cluster",
      replace: "scope: Namespaced",
      test: "ClusterTriggerAuthentication has KEDA's names, scope, columns and subresources (R1, R91)",
    },
  ],
  R2: [
    {
      breaks: "polls as often as a manifest says",
      in: "objectSource",
      find: "limitScaledObject(parseWithoutRun(object, { isNextToKeda, usesMetricsApis }), limits)",
      replace:
        "limitScaledObject(parseWithoutRun(object, { isNextToKeda, usesMetricsApis }), { ...limits, minPollIntervalMs: null })",
      test: "a pollingInterval under the operator's --min-poll-interval is raised to it, and Ready says so (R2)",
    },
    { breaks: "polls more often", in: "DEFAULT_REPLICAS", find: "30_000", replace: "15_000", test: DEFAULTS },
    { breaks: "cools down sooner", in: "DEFAULT_REPLICAS", find: "300_000", replace: "30_000", test: DEFAULTS },
    { breaks: "goes further by default", in: "DEFAULT_REPLICAS", find: "100", replace: "1000", test: DEFAULTS },
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
      breaks: "stops at the first part that is wrong",
      in: "parseScalingSpec",
      find: "const parsed = parseReplicas(spec);",
      replace: "if (target === null) return null; const parsed = parseReplicas(spec);",
      test: "parseScaledObject() reports every problem of an object at once (R3)",
    },
    {
      breaks: "throws on what is no object",
      in: "parseWithoutRun",
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
      breaks: "lets another kind go to zero, from where it cannot come back",
      in: "checkResourceTriggers",
      find: "{ ...replicas, minReplicas: 1 }",
      replace: "replicas",
      test: "parseScaledObject() keeps a pod of a target of another kind whose triggers measure pods alone (R4)",
    },
    {
      breaks: "refuses other kinds too",
      in: "checkResourceTriggers",
      find: 'target.apiVersion === "apps/v1" && ["Deployment", "StatefulSet"].includes(target.kind)',
      replace: "target.kind !== null",
      test: WARNINGS,
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
      breaks: "has a mistake in one trigger stop the object",
      in: "parseTriggers",
      find: "if (hasGood)",
      replace: "if (!hasGood)",
      test: MISTAKE,
    },
    {
      breaks: "takes an object whose triggers all are wrong",
      in: "parseTriggers",
      find: 'one.kind === "resource" || one.source.kind !== "invalid"',
      replace: "true",
      test: "parseScaledObject() keeps no object whose other parts are wrong, or whose triggers all are (R3, R4)",
    },
    {
      breaks: "asks for a trigger with a mistake",
      in: "askTwice",
      find: 'source.kind === "invalid"',
      replace: "false",
      test:
        "read() asks nothing for a trigger with a mistake, which fails each time, and is cached as others are (R4, R19)",
    },
    {
      breaks: "does not say what is wrong",
      in: "runActivationLoop",
      find: "addMistakes(taken.ready, listMistakes(object))",
      replace: "taken.ready",
      test: NAMED,
    },
    {
      breaks: "has a condition of any length",
      in: "cutMessage",
      find: ".slice(0, MAX_MESSAGE_LENGTH)",
      replace: "",
      test: NAMED,
    },
    {
      breaks: "deletes an HPA for an object that cannot take its place",
      in: "ScaledObjectController.#checkBlockers",
      find: 'if (one.kind === "failed") return one.message;',
      replace: "void one;",
      test: ONE_OF_TWO,
    },
    {
      breaks: "looks for the authentication of a trigger with a mistake",
      in: "findMissingAuthentication",
      find: ' || source.kind === "invalid"',
      replace: "",
      test: ONE_OF_TWO,
    },
    {
      breaks: "drops a mistake where KEDA computes the formula",
      in: "toKedaFormula",
      find: ' || one.source.kind === "invalid"',
      replace: "",
      test: "a mistake in a trigger is KEDA's where KEDA measures, and else the trigger's own (R4, M4, M10)",
    },
    {
      breaks: "simulates without a trigger that is wrong",
      in: "parseManifestObjects",
      find: "facts.problems.forEach(complain)",
      replace: "if (facts.scaledObject === null) facts.problems.forEach(complain)",
      test:
        "podfit simulate scales pods by a ScaledObject, and refuses triggers that no load tells of, or that have a mistake (R4)",
    },
    {
      breaks: "does not warn of a key that nobody reads",
      in: "openMetadata",
      find: "!keys.includes(key)",
      replace: "keys.length === 0",
      test: WARNINGS,
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
      breaks: "takes a utilization of 0",
      in: "parseResourceTarget",
      find: "percent >= 1n",
      replace: "percent >= 0n",
      test: "parseScaledObject() names spec.triggers[0].metadata.value when there is R10: a utilization of 0",
    },
    {
      breaks: "looks at the whole pod though a container is named",
      in: "parseResourceTrigger",
      find: 'metadata.text("containerName")',
      replace: 'metadata.text("container")',
      test: "parseScaledObject() reads cpu and memory as a share of requests or an amount (R10)",
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
      breaks: "takes authMode before authModes",
      in: "parseAuthModes",
      find: 'metadata.has("authModes") ? "authModes" : "authMode"',
      replace: 'metadata.has("authMode") ? "authMode" : "authModes"',
      test: "parseScaledObject() takes authModes before authMode, and none that has no effect (R13, R14)",
    },
  ],
  R14: [
    {
      breaks: "shows the credentials of an address",
      in: "showAddress",
      find: '.replace(/\\/\\/[^/?#]*@/, "//")',
      replace: "",
      test:
        "parseScaledObject() names spec.triggers[0].metadata.serverAddress when there is R14: a serverAddress of another protocol, with credentials that are not shown",
    },
    {
      breaks: "reads a mapped address as none",
      in: "listForms",
      find: "[ip, ip.slice(embedding.at, embedding.at + 4)]",
      replace: "[ip]",
      test: "parseScaledObject() refuses to ask [::ffff:169.254.169.254], which is a link-local address (R13, R14)",
    },
    {
      breaks: "forgets the headers",
      in: "parseHeaders",
      find: 'metadata.pairs("customHeaders")',
      replace: 'metadata.pairs("headers")',
      test: PROMETHEUS,
    },
    {
      breaks: "asks without the identity that is meant",
      in: "CLOUD_KEYS",
      find: '"awsRegion"',
      replace: '"region"',
      test: "parseScaledObject() names spec.triggers[0].metadata.awsRegion when there is R14: the identity of a cloud",
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
      find: "parse(key, parseJsonNumber,",
      replace: "parse(key, (text) => Number(text),",
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
  ],
  R16: [
    {
      breaks: "lets a tenant's variable name a server for the operator's secrets",
      in: "resolveCredentials",
      find: "? secrets : credentials",
      replace: "? credentials : credentials",
      test: "resolveCredentials() lets the variables of a tenant name no server for the operator's secrets (R16)",
    },
    {
      breaks: "takes a path for a secret's name",
      in: "parseName",
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
      breaks: "names a workload without its namespace",
      in: "parseWorkloadSource",
      find: "`workload-${namespace}`",
      replace: '"workload"',
      test: "parseScaledObject() names metrics as KEDA does (R18)",
    },
  ],
  R55: [
    {
      breaks: "goes on where the number is none",
      in: "parseWithoutRun",
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
      find: "isScaleInPaused: isSwitchedOn(annotations, pauses.scaleIn)",
      replace: "isScaleInPaused: isSwitchedOn(annotations, pauses.scaleOut)",
      test: ANNOTATIONS,
    },
  ],
  R60: [
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
      in: "tryFormula",
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
};
