/** Usage as nodes tell it: summaries, pressure, the files of cgroups. */
import * as fc from "fast-check";
import type { PodUsage, Pressure } from "../../../../lib/api/usage.ts";
import { parseContainer } from "../../../../lib/usage/cgroup/watch.ts";
import { isDeepEqual } from "../../../../lib/units/equality.ts";
import {
  parsePressure,
  parseSummary,
  type SummaryOptions,
  type SummaryReading,
} from "../../../../lib/usage/kubelet/parse_summary.ts";
import { SummaryReader, SummaryScanner } from "../../../../lib/usage/kubelet/scan_summary.ts";
import { BadAnswer } from "../../../../lib/usage/kubelet/answer_parser.ts";
import { parsePodMetricsList, type PodMetrics } from "../../../../lib/usage/metrics_api/parse_pod_metrics.ts";
import { parseSummaryText } from "../../chaos/summaries.ts";
import { editedText, oddValue } from "../hostile.ts";
import { checkParsed, feedAnswer, spoiltAnswer, toBytes } from "../../../support/http_answers.ts";
import { must, mustBeFinite, mustBeOneLine, target } from "../target.ts";

const NOW = Date.UTC(2026, 10, 20, 11);
const TIME = "2026-11-20T10:59:50Z";
const PSI = {
  some: { total: 1000, avg10: 1, avg60: 1, avg300: 1 },
  full: { total: 900, avg10: 1, avg60: 1, avg300: 1 },
};

/** One pod of a kubelet's summary. */
export function podStats(uid: string, container = "main"): unknown {
  const memory = { time: TIME, workingSetBytes: 67_108_864, usageBytes: 70_000_000 };
  const cpu = { time: TIME, usageNanoCores: 5, usageCoreNanoSeconds: 123_456_789, psi: PSI };
  return {
    podRef: { name: "web-1", namespace: "shop", uid },
    startTime: "2026-11-20T10:00:00Z",
    cpu,
    memory,
    containers: [{ name: container, startTime: "2026-11-20T10:00:00Z", cpu, memory }],
  };
}

const SUMMARIES = [
  { node: { nodeName: "node1", cpu: { time: TIME } }, pods: [podStats("uid-1"), podStats("uid-2", "proxy")] },
  { node: null, pods: null },
];

/** A summary's text as the polls of a node read it, with every pod of it tracked. */
export function readSummary(text: string, nodeNow: number): SummaryReading {
  return parseSummaryText(text, { tracked: () => true, nodeNow });
}

const summaries = target({
  name: "summaries",
  weight: 30,
  arbitrary: editedText(SUMMARIES),
  check(text) {
    const reading = readSummary(text, NOW);
    if (reading.kind === "malformed") return must(reading.message.length < 1000, "a message without an end");
    mustBeFinite(reading.node, "node", { min: 0 });
    mustBeFinite(reading.skipped, "skipped", { min: 0 });
    for (const [uid, usage] of reading.pods) mustBePlausible(usage, uid);
  },
});

/** What whoever reads usage may take for granted. */
export function mustBePlausible(usage: PodUsage, uid: string): void {
  mustBeFinite(usage, uid, { min: 0 });
  must(usage.points.length <= 500, `${uid} has ${usage.points.length} containers`);
  must(new Set(usage.points.map(({ container }) => container)).size === usage.points.length, `${uid} has twins`);
  for (const { at, container, instance, pressure } of usage.points) {
    must(container !== "" && container.length <= 253 && instance !== "", `${uid} has a container without a name`);
    must(at <= NOW + 3_700_000 || at <= Date.parse("9999-12-31T23:59:59Z"), `${uid} is of the future`);
    mustBePressure(pressure, uid);
  }
}

function mustBePressure(pressure: Pressure | null, what: string): void {
  if (pressure === null) return;
  for (const ns of [pressure.fullNs, pressure.throttledNs, pressure.largestCpuNs]) {
    must(ns === null || (Number.isFinite(ns) && ns >= 0), `${what} has a pressure of ${ns}`);
  }
}

const STALLED = { total: 0, avg10: 0.12, avg60: 0.05, avg300: 0 };
const MORE_MEMORY = {
  time: TIME,
  availableBytes: 90_304_512,
  usageBytes: 43_913_216,
  workingSetBytes: 43_913_216,
  rssBytes: 43_446_272,
  pageFaults: 11_630,
  majorPageFaults: 0,
  psi: { full: STALLED, some: STALLED },
};
const SWAP = { time: TIME, swapAvailableBytes: 0, swapUsageBytes: 0 };

/** A pod in the form of a kubelet 1.36. */
export function fullPodStats(uid: string, containers: readonly string[]): unknown {
  const usage = (counter: number) => ({
    cpu: {
      time: TIME,
      usageNanoCores: 80_609_578,
      usageCoreNanoSeconds: counter,
      psi: { full: STALLED, some: STALLED },
    },
    memory: MORE_MEMORY,
    swap: SWAP,
  });
  return {
    podRef: { name: `pod-${uid}`, namespace: "shop", uid },
    startTime: "2026-11-20T10:00:00Z",
    containers: containers.map((name, index) => ({ name, startTime: "2026-11-20T10:00:07Z", ...usage(index * 8e9) })),
    ...usage(9_519_067_602),
  };
}

const FULL_SUMMARIES = [
  ...SUMMARIES,
  {
    node: { nodeName: "node1", cpu: { time: TIME }, systemContainers: [] },
    pods: [fullPodStats("uid-1", ["main", "log"])],
  },
  {
    node: { cpu: { time: TIME } },
    pods: [podStats("uid-3"), fullPodStats("uid-2", ["main"]), fullPodStats("uid-1", [])],
  },
];

/** Has read the cases before, so that it knows much of their text. */
const WARM_READER = new SummaryReader(new SummaryScanner());

/** Throws unless a scanner that knows nothing, and one that knows other summaries, read what the plain parser reads. */
export function mustReadAlike(bytes: Uint8Array, options: SummaryOptions): void {
  const expected = toPlain(parseSummary(bytes, options));
  // A scanner that knows nothing has to learn all text first, which takes most of a case's time.
  const isCold = bytes.length % 8 === 0;
  for (const reader of isCold ? [new SummaryReader(new SummaryScanner()), WARM_READER] : [WARM_READER]) {
    const read = toPlain(reader.read(bytes, options));
    if (isDeepEqual(read, expected)) continue;
    must(false, `it reads ${JSON.stringify(read)} where ${JSON.stringify(expected)} is`);
  }
}

function toPlain(reading: SummaryReading): unknown {
  if (reading.kind === "malformed") return reading;
  const plain = { node: reading.node, pods: [...reading.pods], skipped: reading.skipped };
  reading.pods.clear();
  return plain;
}

const scans = target({
  name: "scanned-summaries",
  weight: 30,
  arbitrary: fc.record({
    text: editedText(FULL_SUMMARIES),
    indent: fc.constantFrom("", " ", "  ", "\t"),
    tracked: fc.constantFrom(null, "uid-1", "uid-2"),
  }),
  check({ text, indent, tracked }) {
    const bytes = new TextEncoder().encode(indented(text, indent));
    mustReadAlike(bytes, { tracked: (uid) => tracked === null || uid === tracked, nodeNow: NOW });
  },
});

/** Text that is no JSON stays as it is. */
function indented(text: string, indent: string): string {
  try {
    return indent === "" ? text : JSON.stringify(JSON.parse(text), null, indent);
  } catch {
    return text;
  }
}

const psi = target({
  name: "psi",
  weight: 10,
  arbitrary: fc.tuple(
    fc.record({
      some: fc.oneof(fc.record({ total: oddValue, avg10: oddValue }), oddValue),
      full: fc.oneof(
        fc.record({
          total: fc.oneof(fc.nat(), oddValue),
          avg10: fc.oneof(fc.nat(100), oddValue),
          avg60: fc.oneof(fc.nat(100), oddValue),
        }),
        oddValue,
      ),
    }),
    fc.oneof(fc.integer({ min: 0, max: 1e12 }), fc.integer()),
  ),
  check([value, ageMs]) {
    const pressure = parsePressure(value, ageMs);
    mustBePressure(pressure, "psi");
    if (pressure !== null) must((pressure.fullNs ?? 0) <= (ageMs + 2000) * 1e6, "it waited longer than it lived");
  },
});

const number = fc.oneof(
  fc.bigInt({ min: -5n, max: 2n ** 70n }).map(String),
  fc.constantFrom("", "max", "1e9", "-1", " 1", "0x10"),
);
const line = (name: string) => fc.tuple(fc.constantFrom(name, `${name}x`, ""), number).map((parts) => parts.join(" "));
const file = (...names: readonly string[]) =>
  fc.array(fc.oneof(...names.map(line), fc.string({ maxLength: 20 })), { maxLength: 4 }).map((lines) =>
    lines.join("\n")
  );

const cgroups = target({
  name: "cgroups",
  weight: 10,
  arbitrary: fc.tuple(
    fc.record({
      usage: fc.oneof(file("usage_usec"), fc.array(number, { maxLength: 5 }).map((numbers) => numbers.join(" "))),
      memory: number,
      memoryStat: file("inactive_file", "total_inactive_file"),
      throttling: fc.option(file("throttled_usec", "throttled_time")),
      pressure: fc.option(number.map((total) => `full avg10=0.00 avg60=0.00 avg300=0.00 total=${total}`)),
      memoryPressure: fc.option(number.map((mean) => `full avg10=${mean} avg60=0.00 avg300=0.00 total=0`)),
      events: fc.option(file("oom_kill")),
    }),
    fc.constantFrom<1 | 2>(1, 2),
  ),
  check([texts, version]) {
    const numbers = parseContainer(texts, version);
    if (numbers !== null) mustBeFinite(numbers, "cgroup", { min: 0 });
    must((numbers?.memoryStallPercent ?? 0) <= 100, "it waits for more than all of the time");
  },
});

const POD_METRICS = {
  metadata: { name: "web-1", namespace: "shop", labels: { app: "web" } },
  timestamp: TIME,
  window: "15.021s",
  containers: [
    { name: "main", usage: { cpu: "1234567n", memory: "12Ki" } },
    { name: "proxy", usage: { cpu: "5m", memory: "64Mi" } },
  ],
};
const LISTS = [{ kind: "PodMetricsList", metadata: {}, items: [POD_METRICS, POD_METRICS] }, { items: null }];

const podMetrics = target({
  name: "pod-metrics",
  weight: 15,
  arbitrary: editedText(LISTS),
  check(text) {
    const bytes = new TextEncoder().encode(text);
    try {
      for (const one of parsePodMetricsList(bytes, { isWanted: () => true, now: NOW })) {
        if (one !== null) mustBeOfPod(one);
      }
    } catch (error) {
      must(error instanceof SyntaxError, `it throws ${error}`);
      must(error.message.length < 1000, "a message without an end");
    }
  },
});

function mustBeOfPod(pod: PodMetrics): void {
  mustBeFinite(pod, "pod", { min: 0 });
  must(pod.name !== "" && pod.name.length <= 253 && pod.namespace !== "", "a pod without a name");
  must(pod.at <= NOW + 3_600_000 && pod.windowMs <= 3_600_000, "it is of the future");
  must(pod.containers.size === 0 || (pod.at > 0 && pod.windowMs > 0), "it has usage of no time");
  for (const { millicores, workingSetBytes } of pod.containers.values()) {
    must(millicores <= 2 ** 40 && workingSetBytes <= 2 ** 50, "it uses more than there is");
  }
}

const answers = target({
  name: "answers",
  weight: 20,
  arbitrary: spoiltAnswer,
  check({ text, cuts, takes }) {
    try {
      checkParsed(feedAnswer(toBytes(text), { cuts, takes }), text);
    } catch (error) {
      if (!(error instanceof BadAnswer)) throw error;
      mustBeOneLine(error.message, "the message");
    }
  },
});

export const USAGE_TARGETS = [answers, summaries, scans, psi, cgroups, podMetrics];
