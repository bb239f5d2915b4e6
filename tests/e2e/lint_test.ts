/** `podfit lint --cluster` on a real cluster: what its objects cannot tell by themselves, each finding with its words, and the exit codes. */
import { assertEquals } from "#assert";
import { applyManifests, waitForPods } from "./support/cluster.ts";
import { OWN_PROCESS, runCommand } from "./support/commands.ts";
import { kubectlJson } from "./support/kubectl.ts";
import { scenario } from "./support/needs.ts";
import type { List, NodeJson } from "./support/objects.ts";
import { cpuUtilization, hpa } from "./support/scaled_objects.ts";
import { autoscaler, deployment, type Manifest } from "./support/workloads.ts";

const NEEDS = { images: "load", pods: 3, freeMillicores: 30 } as const;
const SIZE = { cpu: "10m", memory: "16Mi" };
const RULE = { scaleUpThreshold: 80, scaleDownThreshold: 50, targetUtilization: 70 };
const POLICY = { pollInterval: "15s", consecutiveSamples: 3, cooldown: "30s", cpu: { requests: RULE } };
/** More CPU than the limit range allows, and more memory than any machine has. */
const HUGE = { cpu: { requests: { max: "3" } }, memory: { requests: { max: "1Pi" } } };

scenario("lint --cluster says nothing of a clean namespace, and ends with 0", {
  needs: { ...NEEDS, pods: 1, freeMillicores: 10 },
  realOnly: OWN_PROCESS,
  async run({ namespace }) {
    await applyManifests(namespace, [
      deployment("web", { containers: [{ requests: SIZE }] }),
      manage("web", { bounds: { cpu: { requests: { max: "100m" } } } }),
    ]);
    await waitForPods(namespace, "app=web");
    const { code, stdout, complaints } = await lint(namespace);
    assertEquals([code, stdout, complaints], [0, "", ["podfit: 1 autoscaler: 0 errors, 0 warnings"]]);
  },
});

scenario("lint --cluster names what only the cluster knows, and ends with 1", {
  needs: NEEDS,
  realOnly: OWN_PROCESS,
  async run({ namespace }) {
    const both = { ...POLICY, memory: { requests: RULE } };
    await applyManifests(namespace, [
      deployment("scaled", { containers: [{ requests: SIZE }] }),
      hpa("scaled", { maxReplicas: 1, metrics: [cpuUtilization(60)] }),
      manage("scaled"),
      deployment("shared", { containers: [{ requests: SIZE }] }),
      manage("shared", { priority: 2 }),
      manage("shared-too", { target: { kind: "deployment", name: "shared" } }),
      manage("absent", { target: { kind: "deployment", name: "shared" }, containerName: "mian" }),
      deployment("same", { containers: [{ requests: SIZE, limits: SIZE }] }),
      manage("same", { policy: both, bounds: HUGE }),
    ]);
    for (const app of ["scaled", "shared", "same"]) await waitForPods(namespace, `app=${app}`);
    // Pods that are made after it would get its maximum for a limit.
    await applyManifests(namespace, [LIMIT_RANGE]);

    const found = toFindings(namespace, await readLargestMemory());
    const text = await lint(namespace);
    assertEquals(text.stdout.trimEnd().split("\n"), found.map(toLine));
    assertEquals([text.code, text.complaints], [1, ["podfit: 5 autoscalers: 1 error, 5 warnings"]]);
    const json = await lint(namespace, "-o", "json");
    const { findings, unchecked, failures, checked } = JSON.parse(json.stdout);
    assertEquals([json.code, unchecked, failures, checked], [1, [], [], { autoscaler: 5 }]);
    const isIn = { file: null, line: null, column: null, kind: "PodResourceAutoscaler" };
    assertEquals(findings, found.map((one) => ({ ...one, ...isIn })));
  },
});

interface Finding {
  readonly level: string;
  readonly rule: string;
  readonly object: string;
  readonly path: string;
  readonly message: string;
}

/** In the order of their objects. */
function toFindings(namespace: string, largest: string): readonly Finding[] {
  const toFinding = (level: string, name: string, [rule, path, message]: readonly [string, string, string]) => {
    return { level, rule, object: `${namespace}/${name}`, path, message };
  };
  return [
    toFinding("error", "absent", [
      "container-missing",
      "spec.containerName",
      'no pod of deployment "shared" has a container "mian", and nothing is resized or measured of it: there is "main"',
    ]),
    toFinding("warning", "same", [
      "guaranteed-one-side",
      "spec.policy.cpu.requests",
      'pods of deployment "same" are Guaranteed, and cpu.requests is managed without cpu.limits: no resize of it is possible, ' +
      "as it would change their QoS class (QoSInvariantBlocked): manage cpu.limits too, or give the template a limit above its request",
    ]),
    toFinding("warning", "same", [
      "bounds-limit-range",
      "spec.bounds.cpu.requests.max",
      'max 3 is above the 2 that limit range "sizes" allows a container: no resize goes there: lower it, or raise the limit range',
    ]),
    toFinding("warning", "same", [
      "bounds-node",
      "spec.bounds.memory.requests.max",
      `max 1Pi is above what any node has for pods (${largest}): no pod gets there, and a load that asks for it stays short: ` +
      "lower it, or add replicas beyond that",
    ]),
    toFinding("warning", "scaled", [
      "hpa-same-resource",
      "spec.policy.cpu.requests",
      'HPA "scaled" scales the same pods by utilization of their cpu requests, which this one moves: each resize changes the ' +
      "number of pods: use a ScaledObject, which podfit couples with sizes, an AverageValue, or another resource",
    ]),
    toFinding("warning", "shared-too", [
      "two-owners",
      "spec.containerName",
      'autoscaler "shared" is for container "main" of the same pods: only the one of the higher priority (2) ever resizes it: ' +
      "put both policies into one autoscaler",
    ]),
  ];
}

function toLine({ level, rule, object, path, message }: Finding): string {
  return `PodResourceAutoscaler ${object}: ${level}: ${path}: ${message} [${rule}]`;
}

function lint(namespace: string, ...args: readonly string[]) {
  return runCommand(["lint", "--cluster", "-n", namespace, ...args]);
}

function manage(name: string, spec: Manifest = {}): Manifest {
  return autoscaler(name, {
    target: { kind: "deployment", name },
    containerName: "main",
    policy: POLICY,
    ...spec,
  });
}

const LIMIT_RANGE: Manifest = {
  apiVersion: "v1",
  kind: "LimitRange",
  metadata: { name: "sizes" },
  spec: { limits: [{ type: "Container", max: { cpu: "2" } }] },
};

/** What pods may ask for of the largest node, as the nodes write it. */
async function readLargestMemory(): Promise<string> {
  const { items } = await kubectlJson<List<NodeJson>>(["get", "nodes"]);
  const amounts = items.map(({ status }) => status.allocatable["memory"] ?? "0");
  return amounts.toSorted((a, b) => parseInt(b) - parseInt(a))[0] ?? "";
}
