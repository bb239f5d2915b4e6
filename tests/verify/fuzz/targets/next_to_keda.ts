/**
 * What adapters, KEDA and users of a cluster with KEDA write: the answers of both APIs for metrics, the adoption record,
 * and the objects that `podfit adopt` and `podfit release` read.
 */
import * as fc from "fast-check";
import type { HorizontalPodAutoscaler } from "../../../../lib/api/kubernetes.ts";
import { changeHands } from "../../../../lib/cli/adoption/change_hands.ts";
import { StartError } from "../../../../lib/cli/command/process.ts";
import { parseHpa } from "../../../../lib/daemon/cluster/parse_objects.ts";
import { createAskMetrics } from "../../../../lib/daemon/replicas/metrics_apis.ts";
import { createClient } from "../../../../lib/kube/client.ts";
import { projectObject } from "../../../../lib/kube/list.ts";
import type { KedaSource, MetricSource } from "../../../../lib/model/scaled_object.ts";
import {
  formatAdoptionRecord,
  parseAdoptedTriggers,
  parseAdoptionRecord,
  toAdoptionRecord,
} from "../../../../lib/resources/scaled_object/adoption.ts";
import { parseWithoutRun } from "../../../../lib/resources/scaled_object/scaled_object.ts";
import { isDeepEqual } from "../../../../lib/units/equality.ts";
import { MAX_MILLI } from "../../../../lib/units/numbers.ts";
import { pod } from "../../../support/builders.ts";
import { VirtualClock } from "../../../support/virtual_clock.ts";
import { edited, editedText } from "../hostile.ts";
import { must, mustBeFinite, mustBeOneLine, target } from "../target.ts";

const SIGNAL = new AbortController().signal;
const METRIC = "s0-kafka-orders";
const timestamp = "2026-11-20T10:59:50Z";

const EXTERNAL = {
  kind: "ExternalMetricValueList",
  apiVersion: "external.metrics.k8s.io/v1beta1",
  metadata: {},
  items: [{ metricName: METRIC, metricLabels: { topic: "orders" }, timestamp, value: "30500m" }],
};
const CUSTOM = {
  kind: "MetricValueList",
  apiVersion: "custom.metrics.k8s.io/v1beta2",
  metadata: {},
  items: ["web-1", "web-2"].map((name) => ({
    describedObject: { kind: "Pod", namespace: "shop", name, apiVersion: "/v1" },
    metric: { name: METRIC, selector: null },
    timestamp,
    windowSeconds: 60,
    value: "20",
  })),
};
const REFUSAL = { kind: "Status", status: "Failure", message: "no such metric", reason: "NotFound", code: 404 };

const metric = (of: MetricSource["of"]): MetricSource => ({ kind: "metric", metric: METRIC, selector: "a=b", of });

const SOURCES: readonly (KedaSource | MetricSource)[] = [
  { kind: "keda", object: "web", problem: null },
  metric({ kind: "external" }),
  metric({ kind: "pods" }),
  metric({ kind: "object", apiVersion: "v1", objectKind: "Namespace", name: "shop" }),
];

const EVERY_POD = { requirements: [], source: {} };

const PODS = ["web-1", "web-3"].map((name) => pod({ name, uid: name }));

const answers = target({
  name: "metric-answers",
  weight: 12,
  arbitrary: fc.record({
    text: editedText([EXTERNAL, CUSTOM, REFUSAL]),
    status: fc.oneof({ weight: 5, arbitrary: fc.constant(200) }, fc.constantFrom(403, 404, 418, 500, 503)),
    source: fc.constantFrom(...SOURCES),
  }),
  async check({ text, status, source }) {
    const clock = new VirtualClock();
    const transport = () => Promise.resolve(new Response(text, { status }));
    const ask = createAskMetrics({
      client: createClient({ origin: "http://api", transport }),
      clock,
      findPlural: () => Promise.reject(new Error("no kind")),
    });
    const pods = { selector: EVERY_POD, pods: PODS };
    const trigger = { metricName: METRIC, source } as never;
    const answer = await ask(trigger, { credentials: {}, now: 0, signal: SIGNAL, namespace: "shop", pods });
    must(clock.pending === 0, `${clock.pending} timers are left behind`);
    if (answer.kind === "failed") return mustBeOneLine(answer.message, "a failure");
    must(status === 200, `a value of an answer with status ${status}`);
    mustBeFinite(answer.value, "a value", { min: 0 });
    const { pods: values = [], others = [] } = answer.byPod ?? {};
    const all = [...others, ...values.flatMap(({ metric }) => metric?.milli ?? [])];
    must(all.every((milli) => milli >= 0n && milli <= MAX_MILLI), `values of pods: ${all}`);
  },
});

const RECORD = {
  version: 1,
  triggers: "0123456789abcdef",
  metrics: [
    { trigger: 0, name: METRIC, type: "AverageValue", target: "10" },
    { trigger: 1, name: "s1-rabbitmq-jobs", type: "Value", target: "2500m" },
    { trigger: "formula", name: "composite-metric", type: "AverageValue", target: "5" },
  ],
};

/** What podfit wrote, it can read. */
function mustKeep(record: ReturnType<typeof toAdoptionRecord>): void {
  const again = parseAdoptionRecord(formatAdoptionRecord(record));
  must(again.ok && isDeepEqual(again.record, record), "a record that is not read as it was written");
  for (const { targetMilli, name } of record.metrics) {
    must(targetMilli > 0n && targetMilli <= MAX_MILLI, `a target of ${targetMilli}`);
    mustBeOneLine(name, "a metric");
  }
}

const records = target({
  name: "adoption-records",
  weight: 8,
  arbitrary: editedText([RECORD]),
  check(text) {
    const parsed = parseAdoptionRecord(text);
    if (parsed.ok) mustKeep(parsed.record);
    else mustBeOneLine(parsed.problem, "a problem");
  },
});

const OWNER = { apiVersion: "keda.sh/v1alpha1", kind: "ScaledObject", name: "web", uid: "uid-web", controller: true };

function kedasHpa(triggers: number) {
  return {
    apiVersion: "autoscaling/v2",
    kind: "HorizontalPodAutoscaler",
    metadata: { name: "keda-hpa-web", namespace: "shop", uid: "uid-hpa", ownerReferences: [OWNER] },
    spec: {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
      metrics: Array.from({ length: triggers }, (_, index) => ({
        type: "External",
        external: { metric: { name: `s${index}-kafka-orders` }, target: { type: "AverageValue", averageValue: "10" } },
      })),
    },
  };
}

const HPAS = [kedasHpa(2), kedasHpa(64)];

const hpas = target({
  name: "hpas-of-keda",
  weight: 6,
  arbitrary: edited(HPAS),
  check(object) {
    const hpa = projectObject(object, { project: (one) => parseHpa(one as unknown as HorizontalPodAutoscaler) });
    if (hpa !== null) mustKeep(toAdoptionRecord(hpa.metrics, RECORD.triggers));
  },
});

function adopted(annotations: Readonly<Record<string, string>>) {
  return {
    apiVersion: "keda.sh/v1alpha1",
    kind: "ScaledObject",
    metadata: { name: "web", namespace: "shop", uid: "uid-web", resourceVersion: "5", annotations },
    spec: {
      scaleTargetRef: { name: "web" },
      triggers: [{ type: "kafka", metadata: { topic: "orders", lagThreshold: "10" } }],
    },
    status: {
      externalMetricNames: [METRIC],
      conditions: ["Ready", "Paused", "PodfitScaling"].map((type) => ({ type, status: "False", reason: "r" })),
    },
  };
}

const OBJECTS = [
  adopted({}),
  adopted({ "podfit.dev/scale": "true", "podfit.dev/keda-metrics": JSON.stringify(RECORD) }),
  adopted({ "podfit.dev/scale": "true", "autoscaling.keda.sh/paused": "true", "podfit.dev/metrics": "keda" }),
];

const objects = target({
  name: "adopted-objects",
  weight: 6,
  arbitrary: edited(OBJECTS),
  check(object) {
    const { problem } = parseAdoptedTriggers(object);
    if (problem !== null) mustBeOneLine(problem, "a problem");
    const { adoption, problems, warnings } = parseWithoutRun(object, { isNextToKeda: true });
    for (const { path, message } of [...problems, ...warnings]) mustBeOneLine(`${path}: ${message}`, "a finding");
    must(problems.length > 0 || adoption !== null, "an object next to KEDA without an adoption");
  },
});

const commands = target({
  name: "adopt-and-release",
  weight: 6,
  arbitrary: fc.record({
    verb: fc.constantFrom<"adopt" | "release">("adopt", "release"),
    isDryRun: fc.boolean(),
    isListed: fc.boolean(),
    object: editedText(OBJECTS),
    hpa: editedText(HPAS),
  }),
  async check({ verb, isDryRun, isListed, object, hpa }) {
    const clock = new VirtualClock();
    const [complaints, writes]: string[][] = [[], []];
    const transport = ({ method, url }: Request) => {
      if (method !== "GET") writes?.push(method);
      const { pathname } = new URL(url);
      const isList = pathname.endsWith("/scaledobjects");
      const text = pathname.includes("horizontalpod") ? hpa : isList ? `{"metadata":{},"items":[${object}]}` : object;
      return Promise.resolve(new Response(text));
    };
    const options = {
      server: { origin: "http://api", transport, namespace: "shop" },
      options: {
        namespace: null,
        isEveryNamespace: false,
        names: isListed ? [] : ["web"],
        selector: isListed ? "a=b" : null,
        isDryRun,
        timeoutMs: 0,
      },
      signal: SIGNAL,
      clock,
      write() {},
      complain: (line: string) => void complaints?.push(line),
    };
    try {
      const code = await changeHands(verb, options);
      must((code !== 0) === ((complaints?.length ?? 0) > 0), `code ${code} with ${complaints?.length} complaints`);
    } catch (error) {
      must(error instanceof StartError, `it throws ${error}`);
      complaints?.push(error.message);
    }
    for (const line of complaints ?? []) mustBeOneLine(line, "a complaint");
    must(!isDryRun || writes?.length === 0, "a dry run that writes");
    must(clock.pending === 0, `${clock.pending} timers are left behind`);
  },
});

export const NEXT_TO_KEDA_TARGETS = [answers, records, hpas, objects, commands];
