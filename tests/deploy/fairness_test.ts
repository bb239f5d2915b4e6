/** How podfit is served and scheduled in an overload, and what wakes somebody: FlowSchemas, priority and alerts. */
import { assert, assertEquals, assertMatch } from "#assert";
import { FAMILIES, REPLICA_FAMILIES } from "../../lib/daemon/metrics/families.ts";
import { stringify } from "yaml";
import { hasHelm, type Rendered, renderObjects, type Values } from "../../tools/helm.ts";
import { hasProgram, tryProgram } from "../e2e/support/kubectl.ts";
import type { Json } from "../support/api_objects.ts";
import { chartTest } from "../support/needs_helm.ts";

const ALL = { prometheusRule: { enabled: true } };

chartTest("podfit's Lease has the priority of other leaders, and its writes go before ordinary requests", async () => {
  const flows = async (values: Values) => {
    const objects = await renderObjects({ values });
    return objects.filter(({ kind }) => kind === "FlowSchema").map(({ metadata, spec }) => ({
      name: metadata.name,
      level: spec.priorityLevelConfiguration.name,
      subjects: spec.rules[0].subjects,
      rules: spec.rules[0].resourceRules.map(toText),
      precedence: spec.matchingPrecedence,
    }));
  };
  const subjects = [{ kind: "ServiceAccount", serviceAccount: { namespace: "podfit", name: "podfit" } }];
  const writes = ["pods/resize: patch in *", "podresourceautoscalers/status: patch in *"];
  const [leases, own] = await flows({});
  assertEquals([leases?.name, leases?.level, leases?.subjects], ["podfit-leases", "leader-election", subjects]);
  assertEquals(leases?.rules, ["leases: get create update in podfit"]);
  assertEquals([own?.name, own?.level, own?.subjects, own?.rules], [
    "podfit-writes",
    "workload-high",
    subjects,
    writes,
  ]);
  const [, replicas] = await flows({ scaledObjects: { enabled: true } });
  assertEquals(replicas?.rules, [
    ...writes,
    "deployments/scale statefulsets/scale: get update in *",
    "scaledobjects/status: patch in *",
  ]);
  // Kubernetes' own schema for service accounts has 9000, and the smallest number wins.
  for (const flow of [leases, own]) assert((flow?.precedence ?? Infinity) < 9000);
  assertEquals(await flows({ flowSchemas: { enabled: false } }), []);
  // Sidecars use accounts of tenants.
  const sidecars = { mode: "sidecar", sidecar: { serviceAccounts: [{ namespace: "shop", name: "web" }] } };
  assertEquals(await flows(sidecars), []);
});

function toText({ resources, verbs, namespaces }: Json): string {
  return `${resources.join(" ")}: ${verbs.join(" ")} in ${namespaces.join(" ")}`;
}

chartTest(
  "podfit's pods are critical for the cluster, with the quota that some clusters ask of such pods",
  async () => {
    const of = async (values: Values) => {
      const objects = await renderObjects({ values });
      const workload = objects.find(({ kind }) => kind === "Deployment" || kind === "DaemonSet");
      const quota = objects.find(({ kind }) => kind === "ResourceQuota");
      return [workload?.["spec"].template.spec.priorityClassName, quota?.["spec"].scopeSelector.matchExpressions];
    };
    const scope = (name: string) => [{ scopeName: "PriorityClass", operator: "In", values: [name] }];
    assertEquals(await of({}), ["system-cluster-critical", scope("system-cluster-critical")]);
    assertEquals(await of({ mode: "node-local", priorityClassName: "system-node-critical" }), [
      "system-node-critical",
      scope("system-node-critical"),
    ]);
    assertEquals(await of({ priorityClassName: "platform" }), ["platform", undefined]);
    assertEquals(await of({ priorityClassName: "" }), [undefined, undefined]);
  },
);

chartTest("each alert is about metrics and labels that podfit has, and has its lines in the runbook", async () => {
  const runbook = await Deno.readTextFile(new URL("../../docs/operate/monitoring.md", import.meta.url));
  const families: readonly { readonly name: string; readonly labels: readonly string[] }[] = [
    ...Object.values(FAMILIES),
    ...Object.values(REPLICA_FAMILIES),
  ];
  const alerts = await listAlerts(ALL);
  const titles = [...runbook.matchAll(/^### (Podfit\w+)$/gm)].map(([, title]) => title);
  assertEquals(alerts.map(({ alert }) => alert), titles);
  for (const { alert, expr, annotations, labels } of alerts) {
    assertEquals(annotations.runbook, `docs/operate/monitoring.md#${alert.toLowerCase()}`);
    assert(["critical", "warning"].includes(labels.severity) && annotations.summary.length > 20, alert);
    const metrics = [...expr.matchAll(/(\w+)\{([^}]*)\}/g)];
    assert(metrics.length > 0, expr);
    for (const [, name, selector = ""] of metrics) {
      const family = families.find((one) => one.name === name);
      assert(family !== undefined, `${alert}: ${name}`);
      const own = [...selector.matchAll(/(\w+)!?=/g)].map(([, label]) => label ?? "").filter((one) =>
        one !== "namespace"
      );
      assertEquals(own.filter((label) => !family.labels.includes(label)), [], `${alert}: ${name}`);
      assertMatch(selector, /^namespace="podfit"/);
    }
  }
  const without = await listAlerts({ ...ALL, replicas: 1, leaderElection: { enabled: false } });
  assertEquals(without.map(({ alert }) => alert), titles.filter((title) => title !== "PodfitNoLeader"));
});

/** What Prometheus has at the end of each minute, for an hour, and the alert that it raises with its subject. */
const COURSES: Readonly<Record<string, readonly [series: readonly (readonly [string, string])[], alerts: string]>> = {
  "a podfit that works": [
    [
      ['podfit_build_info{namespace="podfit",instance="a"}', "1x60"],
      ['process_start_time_seconds{namespace="podfit",instance="a"}', "100x60"],
      ['leader_election_master_status{namespace="podfit",name="podfit",instance="a"}', "1x60"],
      ['leader_election_master_status{namespace="podfit",name="podfit",instance="b"}', "0x60"],
      ['podfit_watch_last_contact_age_seconds{namespace="podfit",resource="pods"}', "60x60"],
      ['podfit_kubelet_reads_total{namespace="podfit",result="ok"}', "0+60x60"],
      ['podfit_kubelet_reads_total{namespace="podfit",result="timeout"}', "0+10x60"],
      ['kedify_agent_pra_scale_blocked_total{namespace="podfit",reason="Quota"}', "0+1x60"],
      ['podfit_loop_block_seconds{namespace="podfit",instance="a"}', "0.1x60"],
    ],
    "",
  ],
  "no podfit": [[], "PodfitDown"],
  "no leader": [
    [
      ['podfit_build_info{namespace="podfit",instance="a"}', "1x60"],
      ['leader_election_master_status{namespace="podfit",name="podfit",instance="a"}', "0x60"],
    ],
    "PodfitNoLeader",
  ],
  "restarts of another program, and of podfit": [
    [
      ['podfit_build_info{namespace="podfit",instance="a"}', "1x60"],
      ['process_start_time_seconds{namespace="podfit",instance="a"}', "0+10x60"],
      ['process_start_time_seconds{namespace="podfit",instance="other"}', "0+10x60"],
    ],
    "PodfitRestarting a",
  ],
  "a list that is not fresh": [
    [
      ['podfit_build_info{namespace="podfit",instance="a"}', "1x60"],
      ['podfit_watch_last_contact_age_seconds{namespace="podfit",resource="pods"}', "301x60"],
    ],
    "PodfitBlind pods",
  ],
  "readings that fail": [
    [
      ['podfit_build_info{namespace="podfit",instance="a"}', "1x60"],
      ['podfit_kubelet_reads_total{namespace="podfit",result="ok"}', "0+10x60"],
      ['podfit_kubelet_reads_total{namespace="podfit",result="timeout"}', "0+60x60"],
    ],
    "PodfitUsageUnread",
  ],
  "a right that is missing": [
    [
      ['podfit_build_info{namespace="podfit",instance="a"}', "1x60"],
      ['kedify_agent_pra_scale_blocked_total{namespace="podfit",reason="Rights"}', "0+1x60"],
    ],
    "PodfitRightsMissing",
  ],
  "a loop that is blocked": [
    [
      ['podfit_build_info{namespace="podfit",instance="a"}', "1x60"],
      ['podfit_loop_block_seconds{namespace="podfit",instance="a"}', "3x60"],
    ],
    "PodfitSlow a",
  ],
};

const hasPromtool = await hasProgram("promtool") && await hasHelm();

Deno.test({
  name: `Prometheus raises the alert of each course, and no other${hasPromtool ? "" : " [needs promtool and helm]"}`,
  ignore: !hasPromtool,
  async fn() {
    const folder = await Deno.makeTempDir();
    try {
      const alerts = await listAlerts(ALL);
      await Deno.writeTextFile(`${folder}/rules.yaml`, stringify({ groups: [{ name: "podfit", rules: alerts }] }));
      const tests = Object.entries(COURSES).map(([name, [series, expected]]) => {
        const [raised, subject = ""] = expected.split(" ");
        return {
          name,
          interval: "1m",
          input_series: series.map(([one, values]) => ({ series: one, values })),
          alert_rule_test: alerts.map((rule) => ({
            eval_time: "50m",
            alertname: rule.alert,
            exp_alerts: rule.alert === raised ? [toExpected(rule, subject)] : [],
          })),
        };
      });
      const text = stringify({ rule_files: ["rules.yaml"], evaluation_interval: "1m", tests });
      await Deno.writeTextFile(`${folder}/tests.yaml`, text);
      const { code, stdout, stderr } = await tryProgram("promtool", ["test", "rules", `${folder}/tests.yaml`]);
      assertEquals(code, 0, stdout + stderr);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});

function toExpected({ alert, labels, annotations }: Json, subject: string): Json {
  const label = alert === "PodfitBlind" ? "resource" : "instance";
  const own = subject === "" ? {} : { [label]: subject };
  const inherited = ["PodfitDown", "PodfitRestarting", "PodfitSlow"].includes(alert) ? { namespace: "podfit" } : {};
  const summary = annotations.summary.replaceAll(`{{ $labels.${label} }}`, subject);
  return { exp_labels: { ...labels, ...own, ...inherited }, exp_annotations: { ...annotations, summary } };
}

async function listAlerts(values: Values): Promise<readonly Json[]> {
  const objects: readonly Rendered[] = await renderObjects({ values });
  return objects.find(({ kind }) => kind === "PrometheusRule")?.["spec"].groups[0].rules ?? [];
}
