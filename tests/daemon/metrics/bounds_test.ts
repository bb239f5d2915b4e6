/** How many series can there be, and what may stand in a label? Nothing that a server, a kubelet or a user says at length. */
import { assert, assertEquals } from "#assert";
import * as fc from "fast-check";
import type { ContainerDecision, Decision, SizeOutcome } from "../../../lib/model/decision.ts";
import { BLOCK_REASONS, HOLD_REASONS, LIMIT_REASONS } from "../../../lib/model/reasons.ts";
import { NEW_POD_STATE } from "../../../lib/model/state.ts";
import { ERROR_REASONS, FAMILIES, type FamilyRow } from "../../../lib/daemon/metrics/families.ts";
import { createMetrics, type Metrics } from "../../../lib/daemon/metrics/metrics.ts";
import { createMetricsSink } from "../../../lib/daemon/pods/reports.ts";
import { RESOURCE_FIELDS } from "../../../lib/units/resources.ts";
import { parseMetrics } from "../../e2e/support/metrics.ts";
import { policy } from "../../support/builders.ts";
import { busyRun } from "../../support/daemon_run.ts";
import { evaluation } from "../../support/evaluations.ts";
import { recordAutoscaler, recordNamespaces, recordProcess } from "../../support/every_series.ts";
import { findFormatProblems } from "../../support/exposition.ts";

const CART = { namespace: "shop", name: "cart" };
const HOSTILE = 'x"} 1\nforged{a="b\\';
/** What each label may say, beside the names of objects. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  resource: ["cpu", "memory"],
  side: ["requests", "limits"],
  direction: ["up", "down"],
};

const REASONS: Readonly<Record<string, readonly string[]>> = {
  [FAMILIES.errors.name]: ERROR_REASONS,
  [FAMILIES.limitedPods.name]: LIMIT_REASONS,
};

/** Lines of a family for one object: an autoscaler or a namespace. */
function countMost({ kind, name, labels, buckets = [] }: FamilyRow): number {
  const words = { ...WORDS, reason: REASONS[name] ?? BLOCK_REASONS };
  const own = labels.filter((label) => !["namespace", "name"].includes(label));
  const sets = own.reduce((product, label) => product * (words[label as keyof typeof words]?.length ?? NaN), 1);
  return sets * (kind === "histogram" ? buckets.length + 3 : 1);
}

function countMostOf(labels: readonly string[]): number {
  const rows = Object.values<FamilyRow>(FAMILIES).filter((row) =>
    ["namespace", "name"].every((label) => row.labels.includes(label) === labels.includes(label))
  );
  assert(rows.length > 1);
  return rows.reduce((sum, row) => sum + countMost(row), 0);
}

const PER_AUTOSCALER = countMostOf(["namespace", "name"]);
const PER_NAMESPACE = countMostOf(["namespace"]);

function countSeries(metrics: Metrics, label: string): number {
  return read(metrics).split("\n").filter((line) => line.includes(label)).length;
}

function read(metrics: Metrics): string {
  return [...metrics.render()].join("");
}

Deno.test("an autoscaler and a namespace have at most as many series as the docs say (C52)", async () => {
  const metrics = createMetrics({ version: "1" });
  recordNamespaces(metrics, ["shop", "stage"]);
  recordAutoscaler(metrics, CART);
  recordAutoscaler(metrics, { namespace: "stage", name: "other" });
  assertEquals(countSeries(metrics, ',name="cart"'), PER_AUTOSCALER);
  assertEquals(countSeries(metrics, 'namespace="shop"') - PER_AUTOSCALER, PER_NAMESPACE);
  const page = await Deno.readTextFile(new URL("../../../docs/operate/monitoring.md", import.meta.url));
  const most = `An autoscaler has at most ${PER_AUTOSCALER} series, a namespace ${PER_NAMESPACE} more`;
  assert(page.includes(most), most);
});

Deno.test("a thousand random outcomes give an autoscaler no more series than that (C52, C53)", () => {
  const metrics = createMetrics({ version: "1" });
  const count = createMetricsSink({ metrics, isKnown: () => true });
  for (const [outcome, tookMs] of fc.sample(fc.tuple(outcomes, fc.nat(5000)), { numRuns: 1000, seed: 52 })) {
    count(evaluation({ input: { contenders: [shop] }, outcome, tookMs }));
  }
  const series = countSeries(metrics, ',name="cart"');
  assert(series <= PER_AUTOSCALER && series > 0.9 * PER_AUTOSCALER, `${series} of ${PER_AUTOSCALER}`);
  assertEquals(countSeries(metrics, "forged"), 0);
});

const shop = policy(CART);
const actions = fc.constantFrom("scaleUp" as const, "scaleDown" as const);
const amounts = fc.oneof(fc.nat(), fc.double({ noNaN: false }));
const messages = fc.oneof(fc.string(), fc.constant(HOSTILE));
const decisions: fc.Arbitrary<Decision> = fc.oneof(
  fc.record({ kind: fc.constant("hold"), reason: fc.constantFrom(...HOLD_REASONS), message: messages }),
  fc.record({
    kind: fc.constant("blocked"),
    action: actions,
    reason: fc.constantFrom(...BLOCK_REASONS),
    message: messages,
  }),
  fc.record({ kind: fc.constant("resize"), action: actions, from: fc.constant(null), to: fc.constant(null) }),
) as fc.Arbitrary<Decision>;
const containerDecisions: fc.Arbitrary<ContainerDecision> = fc.record({
  autoscaler: fc.constant(shop.uid),
  container: fc.constant(shop.containerName),
  decision: decisions,
  candidates: fc.subarray([...RESOURCE_FIELDS]),
  isNewSample: fc.boolean(),
});
const outcomes: fc.Arbitrary<SizeOutcome> = fc.record({
  state: fc.constant(NEW_POD_STATE),
  decisions: fc.array(containerDecisions, { maxLength: 2 }),
  notices: fc.constant([]),
  request: fc.constant(null),
  scaled: fc.option(fc.record({
    autoscaler: fc.constant(shop.uid),
    container: fc.constant(shop.containerName),
    action: actions,
    at: fc.nat(),
    change: messages,
    deltas: fc.array(fc.record({ key: fc.constantFrom(...RESOURCE_FIELDS), from: amounts, to: amounts }), {
      maxLength: 4,
    }),
  })),
  enacted: fc.option(fc.record({ autoscaler: fc.constant(shop.uid), action: actions, tookMs: fc.nat() })),
  implausible: fc.nat(2),
});

Deno.test("names from outside cannot forge a line, however odd and long (C52)", () => {
  const odd = { namespace: HOSTILE, name: `${"n".repeat(251)}"\n` };
  const metrics = createMetrics({ version: HOSTILE, agentId: `agent "7"\n\\` });
  recordNamespaces(metrics, [HOSTILE]);
  recordAutoscaler(metrics, odd);
  recordProcess(metrics);
  const page = read(metrics);
  assertEquals(findFormatProblems(page), []);
  const read253 = parseMetrics(page).filter(({ labels }) => "name" in labels);
  assertEquals(read253.length, PER_AUTOSCALER);
  for (const { name: family, labels } of read253) {
    const { kedify_agent_id, namespace, name } = labels;
    const agent = family.startsWith("kedify_") ? `agent "7"\n\\` : undefined;
    assertEquals({ kedify_agent_id, namespace, name }, { kedify_agent_id: agent, ...odd });
  }
  metrics.forget(odd);
  assertEquals([countSeries(metrics, ',name="'), countSeries(metrics, "namespace=")], [0, PER_NAMESPACE]);
});

Deno.test("createDaemon() makes no label of what servers and kubelets say (C53)", async () => {
  await using run = busyRun();
  let count = 0;
  run.api.intercept = ({ method, path }) => {
    if (method === "GET") return null;
    // Each wait is longer than the one before, so the resizes are few: they get one code after the other.
    const code = path.endsWith("/resize") ? [403, 429, 422, 405][run.resizes.length % 4] : 400 + count++ % 110;
    const cause = { reason: `${HOSTILE}${count}`, field: HOSTILE, message: HOSTILE };
    const details = { name: `${HOSTILE}${count}`, kind: HOSTILE, causes: [cause] };
    const status = { kind: "Status", code, reason: `${HOSTILE}${count}`, message: `${HOSTILE}${count}`, details };
    return Response.json(status, { status: code ?? 500 });
  };
  await run.advance(600);
  run.kubelet.failure = HOSTILE;
  await run.advance(60);
  const page = read(run.metrics);
  for (const word of ["Unsupported", "Invalid", "RetryLater", "StatusWrite", "MetricsUnavailable", "unreachable"]) {
    assert(page.includes(`="${word}"`), word);
  }
  assertEquals(findFormatProblems(page), []);
  const labels = parseMetrics(page).flatMap(({ labels }) => Object.entries(labels));
  const known = [...ERROR_REASONS, ...BLOCK_REASONS, ...Object.values(WORDS).flat()];
  const ours = ["shop", "web", "test", "unknown", Deno.version.deno, "ok", "unreachable", "failed", "rate_limited"];
  const verbs = ["get", "watch", "patch", "post", "listed", "added", "modified"];
  // "none": the path of the server's version names no resource.
  const paths =
    /^(none|pods|nodes|events|limitranges|resourcequotas|poddisruptionbudgets|(deployment|daemonset|statefulset|podresourceautoscaler)s)(\/resize|\/status)?$/;
  const others = labels.filter(([label, value]) =>
    label !== "le" && !/^[45]\d\d$|^200$/.test(value) && !paths.test(value) &&
    ![...known, ...ours, ...verbs].includes(value)
  );
  assertEquals(others, []);
});
