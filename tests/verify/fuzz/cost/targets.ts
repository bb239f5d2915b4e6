/** What is searched for costly inputs: each parser of what machines and people write, and formulas. */
import { compileExpr } from "../../../../lib/formula/formula.ts";
import {
  type LimitRange,
  parseLimitRange,
  parseQuota,
  type ResourceQuota,
} from "../../../../lib/daemon/cluster/capacity.ts";
import { parseAutoscalerFacts, parseNode, parseWorkload } from "../../../../lib/daemon/cluster/parse_objects.ts";
import { createLimitedSource } from "../../../../lib/daemon/cluster/limited_source.ts";
import { parsePod } from "../../../../lib/daemon/cluster/parse_pod.ts";
import { lintManifests } from "../../../../lib/cli/lint/lint_files.ts";
import { parseKubeconfig } from "../../../../lib/kube/config/parse_kubeconfig.ts";
import { projectObject } from "../../../../lib/kube/list.ts";
import { parseRecord } from "../../../../lib/record/parse.ts";
import { parseScaledObject } from "../../../../lib/resources/scaled_object/scaled_object.ts";
import { parseMetricSelector } from "../../../../lib/resources/scaled_object/metric_selector.ts";
import { parseJsonPath } from "../../../../lib/resources/scaled_object/json_path.ts";
import { parseAuthentication } from "../../../../lib/resources/trigger_authentication/trigger_authentication.ts";
import { findExcess, MAX_PLAIN_MARKS, stringify } from "../../../../lib/runtime/yaml.ts";
import { DEFAULT_MAX_ANSWER_BYTES, parsePrometheusAnswer } from "../../../../lib/triggers/http_trigger.ts";
import { parseLocatedValue } from "../../../../lib/triggers/located.ts";
import { parseCron } from "../../../../lib/units/cron.ts";
import { parseHostRule } from "../../../../lib/units/address.ts";
import { parseResizeEntries } from "../../../../lib/units/managed_fields.ts";
import { parseGoFloat, parseGoInteger, parseJsonNumber } from "../../../../lib/units/numbers.ts";
import { parseAmount } from "../../../../lib/units/quantity.ts";
import { parseSelector, parseSelectorText } from "../../../../lib/units/selector.ts";
import { parseDuration, parseTime } from "../../../../lib/units/time.ts";
import { SummaryReader, SummaryScanner } from "../../../../lib/usage/kubelet/scan_summary.ts";
import { parsePodMetricsList } from "../../../../lib/usage/metrics_api/parse_pod_metrics.ts";
import { autoscalerObject, deploymentObject, nodeObject, podObject } from "../../../support/api_objects.ts";
import { AUTHENTICATION } from "../../../support/authentications.ts";
import { GOOD_SCALED_OBJECTS } from "../../../support/good_scaled_objects.ts";
import { parseSummaryText } from "../../chaos/summaries.ts";
import { fullPodStats, podStats } from "../targets/usage.ts";
import { listJsonPatterns, type Pattern } from "./pattern.ts";

/** A parser, where its inputs begin, and how large one may be. */
export interface CostTarget {
  readonly name: string;
  /** Characters of the largest input that reaches the parser. */
  readonly legal: number;
  /** Read by a command, or once at a start: it blocks no one who waits for the daemon. */
  readonly isFile?: boolean;
  readonly seeds: readonly Pattern[];
  /** What mutations are made of. */
  readonly tokens: readonly string[];
  readonly run: (text: string) => unknown;
}

const KIB = 1024;
const MIB = 1024 * KIB;
/** As etcd takes an object. */
const OBJECT = 1.5 * MIB;
const JSON_TOKENS = [",", "{}", "[]", '"', ":", "0", "1e308", "null", '"#"', '"x#":', "\\\\", "\\u0000", "é", "#"];
const TEXT_TOKENS = [
  " ",
  "\u2028",
  "%",
  "x",
  "\t",
  "\n",
  ",",
  "=",
  "!",
  "(",
  ")",
  "{",
  "}",
  "[",
  "]",
  '"',
  "'",
  "\\",
  "0",
  "9",
  "a",
  "#",
  ".",
  "-",
  "/",
  "*",
];
const YAML_TOKENS = [...TEXT_TOKENS, "- ", ": ", "? ", "|\n", ">\n", "\n  ", "a#: ", "&a ", "# x\n", "---\n"];
const FORMULA_TOKENS = [
  ..."+-*/()[]#,?:.".split(""),
  ...[
    "1..900",
    "1..100",
    "map(",
    "filter(",
    "sum(",
    "mean(",
    "median(",
    "max(",
    "count(",
    "reduce(",
    "all(",
    "toSorted(",
  ],
  ...[
    "a",
    "b",
    "x",
    "y",
    "let x = ",
    "; ",
    " == ",
    " in ",
    " ?? ",
    "{#}",
    "{# > 1}",
    "#acc",
    " and ",
    "**",
    "nil",
    "1e300",
  ],
];

const NOW = Date.UTC(2026, 10, 20, 11);
const METRICS = {
  kind: "PodMetricsList",
  metadata: {},
  items: [{
    metadata: { name: "web-1", namespace: "shop", labels: { app: "web" } },
    timestamp: "2026-11-20T10:59:50Z",
    window: "15.021s",
    containers: [{ name: "main", usage: { cpu: "1234567n", memory: "12Ki" } }],
  }],
};
const MANAGED = [{
  manager: "podfit",
  operation: "Update",
  subresource: "resize",
  time: "2026-11-20T10:59:50Z",
  fieldsV1: {
    "f:spec": { "f:containers": { 'k:{"name":"main"}': { "f:resources": { "f:requests": { "f:cpu": {} } } } } },
  },
}];
const SELECTOR = {
  matchLabels: { app: "web" },
  matchExpressions: [{ key: "tier", operator: "In", values: ["a", "b"] }],
};
const LIMITS = {
  metadata: { namespace: "shop", name: "a", uid: "u" },
  spec: { limits: [{ type: "Container", max: { cpu: "2" } }] },
};
const QUOTA = {
  metadata: { namespace: "shop", name: "a", uid: "u" },
  status: { hard: { cpu: "2" }, used: { cpu: "1" } },
};
const KUBECONFIG = {
  apiVersion: "v1",
  kind: "Config",
  "current-context": "a",
  clusters: [{ name: "a", cluster: { server: "https://127.0.0.1:6443" } }],
  users: [{ name: "a", user: { token: "t", exec: { apiVersion: "v1", command: "./x", args: ["y"] } } }],
  contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
};
const ANSWER = { status: "success", data: { resultType: "vector", result: [{ metric: { a: "b" }, value: [1, "2"] }] } };

/** Text that grows by each token alone, within each frame. */
function frames(
  tokens: readonly string[],
  around: readonly (readonly [open: string, close: string])[],
): readonly Pattern[] {
  return around.flatMap(([open, close]) => tokens.map((unit) => ({ open, unit, close })));
}

/** An object of the API, read as a watch reads it. */
function objects(name: string, seeds: readonly unknown[], project: (object: never) => unknown): CostTarget {
  const run = (text: string) => projectObject(JSON.parse(text), { project: project as never });
  return { name, legal: OBJECT, seeds: seeds.flatMap(listJsonPatterns), tokens: JSON_TOKENS, run };
}

/** An object that tenants write: its limits come before its parser. */
function limited(name: string, seeds: readonly unknown[], parse: (object: never) => LimitedFacts): CostTarget {
  const source = createLimitedSource<LimitedFacts>({
    kind: "PodResourceAutoscaler",
    resource: name,
    namespace: null,
    path: "",
    counted: null,
    parse: parse as (object: unknown) => LimitedFacts,
    refuse: (facts) => facts,
    find: () => null,
    list: () => [],
    set() {},
    remove() {},
  });
  return objects(name, seeds, source.project);
}

interface LimitedFacts {
  readonly uid: string;
  readonly namespace: string | null;
  readonly name: string;
}

const SUMMARIES = new SummaryReader(new SummaryScanner());

const located = (format: "json" | "yaml" | "prometheus", valueLocation: string) => (text: string) =>
  parseLocatedValue(text, { format, valueLocation });

/** The longest beginning that is parsed. The rest would have the text refused before a parser has it. */
function cutYaml(text: string): string {
  let [length, excess] = [0, text.length + 1];
  while (excess - length > 1) {
    const middle = Math.floor((length + excess) / 2);
    if (findExcess(text.slice(0, middle), MAX_PLAIN_MARKS) === null) length = middle;
    else excess = middle;
  }
  return text.slice(0, length);
}

/** Every parser, and formulas. */
export const COST_TARGETS: readonly CostTarget[] = [
  {
    name: "summaries",
    legal: 8 * MIB,
    seeds: listJsonPatterns({ node: { nodeName: "n" }, pods: [podStats("uid-1")] }),
    tokens: JSON_TOKENS,
    run: (text) => parseSummaryText(text, { tracked: () => true, nodeNow: NOW }),
  },
  {
    name: "scanned-summaries",
    legal: 8 * MIB,
    seeds: [{ node: { nodeName: "n" }, pods: [podStats("uid-1"), fullPodStats("uid-2", ["main", "log"])] }]
      .flatMap(listJsonPatterns),
    tokens: JSON_TOKENS,
    run(text) {
      const reading = SUMMARIES.read(new TextEncoder().encode(text), { tracked: () => true, nodeNow: NOW });
      if (reading.kind === "summary") reading.pods.clear();
    },
  },
  {
    name: "pod-metrics",
    legal: 8 * MIB,
    seeds: listJsonPatterns(METRICS),
    tokens: JSON_TOKENS,
    run: (text) => [...parsePodMetricsList(new TextEncoder().encode(text), { isWanted: () => true, now: NOW })],
  },
  objects("pods", [podObject({ sidecar: true })], parsePod),
  objects("nodes", [nodeObject()], parseNode),
  objects("workloads", [deploymentObject()], (one) => parseWorkload(one, "deployment")),
  objects("limit-ranges", [LIMITS], (one: LimitRange) => parseLimitRange(one)),
  objects("quotas", [QUOTA], (one: ResourceQuota) => parseQuota(one)),
  limited("autoscalers", [
    autoscalerObject(),
    autoscalerObject({ target: undefined, selector: SELECTOR, containerName: "*" }),
  ], parseAutoscalerFacts),
  limited("scaled-objects", GOOD_SCALED_OBJECTS.slice(0, 12).map(({ manifest }) => manifest), parseScaledObject),
  limited("authentications", [AUTHENTICATION], parseAuthentication),
  objects(
    "managed-fields",
    [{ managedFields: MANAGED }],
    (one: { managedFields: unknown }) => parseResizeEntries(one.managedFields),
  ),
  objects("selectors", [SELECTOR], (one) => parseSelector(one, "spec.selector")),
  {
    name: "selector-texts",
    legal: OBJECT,
    seeds: frames(["a#=b,", "a# in (b),", "a in (b#,", "!a#,", " ", "("], [["", ""], ["a in (b,", "c)"]]),
    tokens: TEXT_TOKENS,
    run: (text) => parseSelectorText(text, "status.selector"),
  },
  {
    name: "quantities",
    legal: OBJECT,
    seeds: frames(["0", "9", "1.", ".", "e", "Ki", "-", " "], [["", ""], ["1.", "m"], ["1e", ""], ["0", "1Gi"]]),
    tokens: TEXT_TOKENS,
    run: (text) => [parseAmount(text, "cpu"), parseAmount(text, "memory", { floats: true })],
  },
  {
    name: "durations-and-times",
    legal: OBJECT,
    seeds: frames(["0", "1h", "1ms", ".", "-"], [["", ""], ["1", "s"], ["2026-11-20T10:59:50.", "Z"]]),
    tokens: TEXT_TOKENS,
    run: (text) => [parseDuration(text), parseTime(text)],
  },
  {
    name: "floats",
    legal: OBJECT,
    seeds: frames(["0", "1", ".", "e", "-", "_"], [["", ""], ["1.", "x"], [".", "e"], ["1e", "."], ["", "x"]]),
    tokens: TEXT_TOKENS,
    run: (text) => [parseGoFloat(text), parseJsonNumber(text), parseGoInteger(text, 64)],
  },
  {
    name: "hosts",
    legal: 64 * KIB,
    seeds: frames(["a", "a.", "%", ":", "[", "1.", "/"], [["", ""], ["", "\n"], ["*.", ":1"], ["[", "]:1"]]),
    tokens: TEXT_TOKENS,
    run: (text) => parseHostRule(text),
  },
  {
    name: "schedules",
    legal: OBJECT,
    seeds: frames(["1,", "0-59,", "*/2,", "1-2/3,", " ", "L", "#"], [["", " * * * *"], ["0 8 ", " * *"], ["", ""]]),
    tokens: TEXT_TOKENS,
    run: parseCron,
  },
  {
    name: "metric-selectors",
    legal: 64 * KIB,
    seeds: frames(['a#="b",', 'a="#",', " ", "\\\\", "{"], [["m{", "}"], ['m{a="', '"}'], ["", ""]]),
    tokens: TEXT_TOKENS,
    run: parseMetricSelector,
  },
  {
    name: "value-locations",
    legal: 64 * KIB,
    seeds: frames(["a.", "#.", "a.#.", "@this.", "[0]", "\\.", "*", "("], [["", ""], ["a.", "b"], ["a.#(", ")"]]),
    tokens: TEXT_TOKENS,
    run: parseJsonPath,
  },
  {
    name: "answers-json",
    legal: DEFAULT_MAX_ANSWER_BYTES,
    seeds: listJsonPatterns({ queue: { length: 5, list: [{ a: "1" }] } }),
    tokens: JSON_TOKENS,
    run: located("json", "queue.length"),
  },
  {
    name: "answers-yaml",
    legal: 16 * KIB,
    seeds: [
      ...listJsonPatterns({ queue: { length: 5, list: [{ a: "1" }] } }),
      ...frames(["a#: 1\n", "- ", "? ", "a: ", "[", "{", "\n", "# x\n", "  ", "- a\n"], [["", ""], [
        "queue:\n  length: 5\n",
        "",
      ]]),
    ],
    tokens: YAML_TOKENS,
    run: (text) => located("yaml", "queue.length")(cutYaml(text)),
  },
  {
    name: "answers-exposition",
    legal: DEFAULT_MAX_ANSWER_BYTES,
    seeds: frames(["a# 1\n", 'a{b="#"} 1\n', 'b#="c",', "# TYPE a# counter\n", "\n", " ", "\\\\", "1"], [
      ["", ""],
      ['zz{a="', '"} 1\n'],
      ["zz{", "} 1\n"],
      ["zz 1", "x\n"],
      ["# HELP a ", "\u2028"],
    ]),
    tokens: TEXT_TOKENS,
    run: located("prometheus", 'zz{a="b"}'),
  },
  {
    name: "answers-prometheus",
    legal: DEFAULT_MAX_ANSWER_BYTES,
    seeds: [
      ...listJsonPatterns(ANSWER),
      { open: JSON.stringify(ANSWER).replace(/"2".*/, '"'), unit: "1", close: 'x"]}]}}' },
    ],
    tokens: JSON_TOKENS,
    run: (text) => parsePrometheusAnswer(text, { ignoresNullValues: true }),
  },
  {
    name: "files",
    legal: 256 * KIB,
    isFile: true,
    seeds: [
      ...listJsonPatterns(autoscalerObject()),
      ...frames(["---\n", "a#: 1\n", "- ", "[", "{a: ", "# x\n", `---\n${stringify(autoscalerObject())}`], [["", ""], [
        stringify(autoscalerObject()),
        "",
      ]]),
    ],
    tokens: YAML_TOKENS,
    run: (text) => lintManifests([{ name: "a.yaml", text }]),
  },
  {
    name: "kubeconfigs",
    legal: 256 * KIB,
    isFile: true,
    seeds: [
      ...listJsonPatterns(KUBECONFIG),
      ...frames(["a#: 1\n", "- ", "[", "# x\n"], [["", ""], [stringify(KUBECONFIG), ""]]),
    ],
    tokens: YAML_TOKENS,
    run: (text) => attempt(() => parseKubeconfig({ path: "/config", text })),
  },
  {
    name: "records",
    legal: OBJECT,
    seeds: listJsonPatterns({ version: 1, before: {}, input: { pod: podObject() }, outcome: {} }),
    tokens: JSON_TOKENS,
    run: (text) => parseRecord(JSON.parse(text)),
  },
  {
    name: "formulas",
    legal: 4096,
    seeds: [
      ...frames(["", "+ a ", "+ (a", "[", "a ?? ", "max(a, ", "[1,2,3], "], [["a ", ""], ["sum([", "1])"], ["", ""]]),
      ...frames(["", "let y# = map(1..900, x); ", "let y# = [x, x]; "], [
        ["let x = 1..900; ", "let y = map(1..900, x); let z = map(1..900, y); max(z) + a"],
        ["let x = 1..300; ", "let y = map(1..300, x); y == y ? a : 1.0"],
        ["let x = 1..90; ", "sum(map(1..90, {sum(x)})) + a"],
        ["let x = 1..3000; ", "median(x) + a"],
        ["let x = 1..90; ", "reduce(1..90, {#acc + mean(x)}) + a"],
        ["let x = 1..900; ", "count(1..900, {# in x}) + a"],
      ]),
    ],
    tokens: FORMULA_TOKENS,
    run(text) {
      const compiled = compileExpr(text, { names: ["a", "b"] });
      if (compiled.ok) compiled.program.run({ a: -1, b: 2 });
      return compiled;
    },
  },
];

function attempt(once: () => unknown): unknown {
  try {
    return once();
  } catch (error) {
    return error;
  }
}
