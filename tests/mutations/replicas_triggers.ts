/** Slips in how triggers are asked for their values, and with which credentials (section 2 of the contract of replicas). */
import type { Mutations } from "../../tools/mutation.ts";

const COUNTS = "read() counts pods of the object's namespace, or their nodes (R12)";
const GJSON = "findAtPath() finds keys, indices, escaped characters and lengths as GJSON does (R13)";
const REFUSED = "parseJsonPath() refuses other syntax of GJSON by its name (R13)";
const KEYS = "toTriggerRequest() sends an API key by header or query, under KEDA's names by default (R13, R16)";
const STATUSES = "createAskTrigger() takes any 2xx of prometheus, and of metrics-api only 200 (R13, R14)";
const ASKED = "toTriggerRequest() asks prometheus as KEDA does, each parameter escaped (R14)";
const SERIES = "parseExposition() takes the first series with the selector's name and labels (R15)";
const ELSEWHERE = "a redirect to another host carries no credential, nor does one back (R15)";
const CLUSTER =
  "resolveCredentials() reads secrets of a ClusterTriggerAuthentication in podfit's own namespace and nowhere else (R16)";
const TENANT = "resolveCredentials() reads no secret of podfit's own namespace for anything of a tenant's (R16)";
const SECRETS = "createAskTrigger() shows no secret on any way (R16)";
const OBJECT = "a trigger reads its ConfigMap or Secret by name, each time again, and says why there is no value (R97)";
const ENTRY = "parseEntryValue() reads a number as KEDA does, from a text, JSON and YAML (R97)";
const EACH = "a trigger asks each ready endpoint of its Service once, and makes one value of theirs (R98)";
const SOME =
  "endpoints that fail do not count, and a trigger fails where all do, where there is none, and without the right (R98)";
const LATE =
  "a trigger waits 15 s for all of its endpoints together, is not asked again at once, and ends when it is stopped (R98)";
const TOKEN_HOSTS =
  "a token goes to the named hosts alone, and its endpoint is one that the authentication names (R16, R100)";
const KEPT =
  "createAskTrigger() gets a token first, and keeps it with the credentials until 10 s before its end (R100)";
const NO_TOKEN = "createAskTrigger() says why there is no token, and asks the server nothing then (R16, R100)";
const VARIABLES =
  "resolveCredentials() reads variables of a container of the target: by value, secret, config map and envFrom (R16)";

export const REPLICAS_TRIGGERS: Mutations = {
  R12: [
    {
      breaks: "counts pods of another namespace",
      in: "askOnce",
      find: "const { namespace } = object;",
      replace: "const { name: namespace } = object;",
      test: COUNTS,
    },
  ],
  R13: [
    {
      breaks: "is redirected to the metadata service of a cloud",
      in: "followRedirect",
      find: "if (purpose !== null)",
      replace: "if (purpose === undefined)",
      test: "a redirect to a link-local, unspecified or multicast address is not followed (R13, R14)",
    },
    {
      breaks: "takes an escaped digit for an index",
      in: "toListUse",
      find: "test(raw)",
      replace: 'test(raw.replace("\\\\", ""))',
      test: GJSON,
    },
    {
      breaks: "finds what objects inherit",
      in: "findAtPath",
      find: "Object.hasOwn(current, key)",
      replace: "key in current",
      test: GJSON,
    },
    {
      breaks: "splits at an escaped dot",
      in: "splitSteps",
      find: 'character === "\\\\"',
      replace: 'character === "/"',
      test: GJSON,
    },
    {
      breaks: "takes a length in the middle",
      in: "findFault",
      find: '=== "#" && !isLast',
      replace: '=== "##" && !isLast',
      test: REFUSED,
    },
    {
      breaks: "takes any 2xx of metrics-api",
      in: "isAnswer",
      find: '=== "metrics-api"',
      replace: '=== "none"',
      test: STATUSES,
    },
    {
      breaks: "puts the key elsewhere by default",
      in: "toApiHeaders",
      find: '"X-API-KEY"',
      replace: '"api_key"',
      test: KEYS,
    },
    {
      breaks: "has secrets go before metadata",
      in: "findApiKey",
      find: 'given.apiKey ?? find("apiKey")',
      replace: 'find("apiKey") ?? given.apiKey',
      test: KEYS,
    },
    {
      breaks: "reads no text as a quantity",
      in: "toQuantityValue",
      find: "return parsed.ok ? parsed",
      replace: "return parsed.ok ? { ok: false, cause }",
      test: "parseLocatedValue() reads numbers, and texts as quantities, out of JSON and YAML (R13, R15)",
    },
  ],
  R14: [
    {
      breaks: "leaves the namespace out",
      in: "toPrometheusUrl",
      find: '["namespace", source.namespace]',
      replace: '["ns", source.namespace]',
      test: ASKED,
    },
    { breaks: "escapes values only", in: "toPrometheusUrl", find: "${escape(name)}", replace: "${name}", test: ASKED },
    {
      breaks: "leaves the fraction of a second in",
      in: "formatQueryTime",
      find: '"Z")',
      replace: '".9Z")',
      test: ASKED,
    },
    {
      breaks: "takes the first of several series",
      in: "parsePrometheusAnswer",
      find: "second !== undefined",
      replace: "second === null",
      test:
        "parsePrometheusAnswer() refuses several series, scalars and what has another shape, whatever ignoreNullValues says, and quotes nothing (R14)",
    },
    {
      breaks: "verifies nothing by the ca",
      in: "resolveAuth",
      find: 'source.kind === "prometheus" && ca !== null',
      replace: "ca === null",
      test: "resolveAuth() has a ca outdo unsafeSsl for prometheus with an authentication only (R14)",
    },
  ],
  R15: [
    {
      breaks: "takes YAML of any length",
      in: "findInYaml",
      find: "> MAX_YAML_BYTES",
      replace: "> 64 * MAX_YAML_BYTES",
      test:
        "parseLocatedValue() takes 16 KiB of YAML and no more, counted in bytes, and what looks like aliases in texts (R13, R15)",
    },
    {
      breaks: "takes YAML of any number of lines, fields and values",
      in: "findInYaml",
      find: "findExcess(text, MAX_PLAIN_MARKS) !== null",
      replace: "findExcess(text, 17 * MAX_PLAIN_MARKS) !== null",
      test:
        "parseLocatedValue() takes 1,000 lines, fields and values of YAML and no more, so that no answer is slow (R13, R15)",
    },
    {
      breaks: "takes YAML with long lines that begin with many spaces",
      in: "findExcess",
      find: "foldSteps += blanks;",
      replace: "",
      test:
        "parseLocatedValue() refuses long lines of YAML that begin with many spaces, as each space costs a look at the line (R13, R15)",
    },
    {
      breaks: "takes YAML that stands for more than is written",
      in: "parsePlain",
      find: "UNTRUSTED_RULES",
      replace: "{ ...UNTRUSTED_RULES, isPlain: false }",
      test: "parseLocatedValue() refuses YAML with an alias (R13, R15)",
    },
    {
      breaks: "reads answers of any size",
      in: "createAskTrigger",
      find: "limitBytes: maxAnswerBytes",
      replace: "limitBytes: 9 * maxAnswerBytes",
      test: "a trigger that answers more than 128 KiB fails, and one that answers just that does not (R15)",
    },
    {
      breaks: "takes no series but the last",
      in: "parseExposition",
      find: "isMatch(parsed, selector)",
      replace: "isMatch(parsed, selector) && start > text.length",
      test: SERIES,
    },
    {
      breaks: "ignores labels",
      in: "isMatch",
      find: "label[1] === value",
      replace: "label[1] !== null",
      test: SERIES,
    },
    {
      breaks: "takes a histogram's sum",
      in: "familyOf",
      find: '"histogram"',
      replace: '"gauge"',
      test: "parseExposition() takes no histogram and no summary, nor what belongs to one (R15)",
    },
    {
      breaks: "takes credentials along",
      in: "followRedirect",
      find: "headers.delete(name)",
      replace: "headers.has(name)",
      test: ELSEWHERE,
    },
    {
      breaks: "takes another port for the same host",
      in: "isSameHost",
      find: "from.origin === to.origin",
      replace: "from.hostname === to.hostname",
      test: ELSEWHERE,
    },
  ],
  R16: [
    {
      breaks: "goes on with an old value while a secret is missing",
      in: "createTriggerReader",
      find: "forgetReadings(known);",
      replace: "",
      test: "while a secret is missing no cached value is scaled on (R16, R19)",
    },
    {
      breaks: "lets several modes exclude each other",
      in: "findMissing",
      find: "EXCLUSIVE.includes(mode)).length > 1",
      replace: "EXCLUSIVE.includes(mode)).length > 3",
      test: "resolveAuth() names a parameter that is missing or wrong, and no value (R16)",
    },
    {
      breaks: "reads the variables of the last container",
      in: "createFindTargetVariable",
      find: "containers[0]",
      replace: "containers.at(-1)",
      test: "variables without containerName are the first container's, whatever envSourceContainerName says (R16)",
    },
    {
      breaks: "reads a cluster's secrets in the object's namespace",
      in: "resolveCredentials",
      find: "? clusterNamespace : namespace",
      replace: "? namespace : namespace",
      test: CLUSTER,
    },
    {
      breaks: "reads a tenant's secrets in podfit's namespace",
      in: "resolveCredentials",
      find: "? clusterNamespace : namespace",
      replace: "? clusterNamespace : clusterNamespace",
      test: TENANT,
    },
    {
      breaks: "reads a template's secrets in podfit's namespace",
      in: "createFindTargetVariable",
      find: "createFindEntry(options)",
      replace: "createFindEntry({ ...options, namespace: options.clusterNamespace })",
      test: TENANT,
    },
    {
      breaks: "passes on what fetch says",
      in: "describeFailure",
      find: '"the connection failed"',
      replace: "words",
      test: SECRETS,
    },
    {
      breaks: "shows the query",
      in: "toSafeAddress",
      find: "${url.pathname}",
      replace: "${url.pathname}${url.search}",
      test: "createAskTrigger() leaves out of a message the user, the query and what fetch says (R16)",
    },
    {
      breaks: "takes the first variable of a name",
      in: "createFindVariable",
      find: "let place = countBelow(own, before) - 1; place >= 0; place--",
      replace: "let place = 0; place < countBelow(own, before); place++",
      test: VARIABLES,
    },
  ],
  R97: [
    {
      breaks: "takes a name that is a path",
      in: "parseObjectName",
      find: "isText(name, NAME_RULE)",
      replace: "name.length > 0",
      test:
        "parseScaledObject() names spec.triggers[0].metadata.resourceName when there is R97: an object's name that is a path",
    },
    {
      breaks: "reads a config map in place of a secret",
      in: "createAskObject",
      find: '"Secret" ? "secret" : "config map"',
      replace: '"Secret" ? "config map" : "secret"',
      test: OBJECT,
    },
    {
      breaks: "reads a secret without the label",
      in: "createFetchers",
      find: "!needLabel ||",
      replace: "true ||",
      test: OBJECT,
    },
    {
      breaks: "charges nobody for what it read",
      in: "createAskObject",
      find: "work.countBytes(found.text.length);",
      replace: "",
      test: OBJECT,
    },
    {
      breaks: "reads a quantity as a number",
      in: "parseEntryValue",
      find: 'valueType === "quantity" ? toQuantityValue',
      replace: 'valueType !== "quantity" ? toQuantityValue',
      test: ENTRY,
    },
    {
      breaks: "keeps the fraction of an integer",
      in: "convertJson",
      find: "Math.trunc(found)",
      replace: "found",
      test: ENTRY,
    },
    {
      breaks: "parses a text of any length",
      in: "parseEntryValue",
      find: "text.length > MAX_ENTRY_CHARACTERS",
      replace: "text.length < 0",
      test: ENTRY,
    },
    {
      breaks: "takes over what KEDA reads",
      in: "parseMeasured",
      find: "&& !isKedas",
      replace: "",
      test: "KEDA goes on reading ConfigMaps and Secrets, unless the annotation says podfit (M10, R97)",
    },
  ],
  R98: [
    {
      breaks: "forgets at an endpoint what is denied by the name of its Service",
      in: "createEgress",
      find: "[url, service]",
      replace: "[url]",
      test: "what an operator denies by the name of a Service holds for its endpoints (R13, R98)",
    },
    {
      breaks: "asks endpoints that are not ready",
      in: "listEndpointUrls",
      find: 'conditions["ready"] === false',
      replace: "false",
      test: EACH,
    },
    {
      breaks: "asks each pod of two families twice",
      in: "listEndpointUrls",
      find: 'one["addressType"] === slices[0]?.["addressType"]',
      replace: "one !== null",
      test: EACH,
    },
    {
      breaks: "asks a port that the endpoint has not",
      in: "listEndpointUrls",
      find: 'hasPort ? String(port) : ""',
      replace: "String(port)",
      test: EACH,
    },
    {
      breaks: "makes a URL of every endpoint of a list without end",
      in: "listEndpointUrls",
      find: ".slice(0, MAX_ENDPOINTS + 1)",
      replace: "",
      test: "a list of very many endpoints makes few URLs, whether they are all the same or not (R98)",
    },
    {
      breaks: "asks without end",
      in: "createAskEndpoints",
      find: "urls.length > MAX_ENDPOINTS",
      replace: "urls.length > 10_000",
      test: SOME,
    },
    {
      breaks: "charges nobody for the list",
      in: "createAskEndpoints",
      find: "budget.spend(namespace, { ms: REQUEST_MS, bytes: listed.bytes });",
      replace: "",
      test: EACH,
    },
    {
      breaks: "asks slow endpoints again at once",
      in: "createAskEndpoints",
      find: "failed.find(({ isSlow }) => isSlow) ??",
      replace: "",
      test: LATE,
    },
    {
      breaks: "waits without end",
      in: "createAskEndpoints",
      find: "AbortSignal.any([asked.signal, timeout.signal])",
      replace: "asked.signal",
      test: LATE,
    },
    {
      breaks: "asks the Service",
      in: "createReplicasManager",
      find: "createAskEndpoints({ ask: limitQueries(facts.namespace), client, clock, budget })",
      replace: "limitQueries(facts.namespace)",
      test:
        "a trigger that asks all endpoints of a Service fails where they cannot be listed, and does not ask the Service (R98)",
    },
    {
      breaks: "takes a server outside of the cluster for a Service",
      in: "findService",
      find: 'if (!SERVICE_ENDINGS.has(ending.join("."))) return null;',
      replace: "",
      test:
        "parseScaledObject() names spec.triggers[0].metadata.url when there is R98: the endpoints of a server outside of the cluster",
    },
  ],
  R100: [
    {
      breaks: "sends a token to hosts that nobody named",
      in: "checkParameters",
      find: " && auth.oauth === null",
      replace: "",
      test: TOKEN_HOSTS,
    },
    {
      breaks: "asks for a token over plain HTTP",
      in: "checkParameters",
      find: "if (tokenFault !== null) return refuse(tokenFault);",
      replace: "",
      test: TOKEN_HOSTS,
    },
    {
      breaks: "does not take the token endpoint for the author's own",
      in: "toAudience",
      find: ', "oauthTokenURI"',
      replace: "",
      test: TOKEN_HOSTS,
    },
    {
      breaks: "uses a token up to its very end",
      in: "createAskTrigger",
      find: "(seconds - EARLY_SECONDS)",
      replace: "seconds",
      test: KEPT,
    },
    {
      breaks: "keeps no token",
      in: "createAskTrigger",
      find: "tokens.set(credentials, { ...token, isTlsUnverified, untilMs });",
      replace: "",
      test: KEPT,
    },
    {
      breaks: "uses a token of a server that was not verified",
      in: "createAskTrigger",
      find: "kept?.isTlsUnverified === isTlsUnverified && kept.untilMs",
      replace: "kept !== undefined && kept.untilMs",
      test: KEPT,
    },
    {
      breaks: "follows redirects with the client's secret",
      in: "fetchText",
      find: "if (body !== undefined)",
      replace: "if (body === null)",
      test: NO_TOKEN,
    },
    {
      breaks: "tries the header alone",
      in: "toTokenRequests",
      find: "[toRequest({}, { authorization }), toRequest({ client_id: clientId, client_secret: clientSecret }, {})]",
      replace: "[toRequest({}, { authorization })]",
      test: "createAskTrigger() tries the client's secret in the form where the header is refused (R100)",
    },
    {
      breaks: "does not strike the token out",
      in: "withToken",
      find: "[...secrets, token.text]",
      replace: "secrets",
      test: "withToken() adds the token as a header and as a secret (R16, R100)",
    },
    {
      breaks: "sends a GET",
      in: "sendUnverifiedOnce",
      find: "method,",
      replace: "",
      test: "a token is asked for by a POST, over plain HTTP as the trigger itself (R100)",
    },
    {
      breaks: "takes an answer with an error for a token",
      in: "parseToken",
      find: ' || (error ?? "") !== ""',
      replace: "",
      test: "parseToken() reads JSON and forms, and the words for a kind of token (R100)",
    },
  ],
  R50: [
    {
      breaks: "asks one after the other",
      in: "createTriggerReader",
      find:
        "await Promise.all(asked.map(async (trigger) => [trigger.index, await askTwice(trigger, context)] as const))",
      replace:
        "await Array.fromAsync(asked, async (trigger) => [trigger.index, await askTwice(trigger, context)] as const)",
      test: "read() asks all external triggers at once, and one that fails stops no other (R50)",
    },
    {
      breaks: "asks for cpu triggers too",
      in: "createTriggerReader",
      find: "listExternalTriggers(object)",
      replace: "object.triggers",
      test: "read() leaves cpu and memory triggers to others (R50)",
    },
  ],
};
