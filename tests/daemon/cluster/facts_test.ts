import { assertEquals } from "#assert";
import type { Deployment, Node } from "../../../lib/api/kubernetes.ts";
import { parseAutoscalerFacts, parseNode, parseWorkload } from "../../../lib/daemon/cluster/parse_objects.ts";
import {
  listPrefixes,
  type Mode,
  type Scope,
  toMode,
  toPodFieldSelector,
  toReporterScope,
  WHOLE_CLUSTER,
} from "../../../lib/daemon/cluster/facts.ts";
import { autoscalerObject } from "../../support/api_objects.ts";

Deno.test("readNode() gives the addresses that a node tells as they are, and how many pods it may have", () => {
  const addresses = [{ type: "Hostname", address: "n" }, { type: "InternalIP", address: "10.0.0.1" }];
  const node = parseNode({ status: { addresses, capacity: { pods: "110" } } } as Node);
  assertEquals([node.addresses, node.port, node.maxPods], [addresses, 10250, 110]);
  const silent = parseNode({ metadata: { name: "node1" }, status: { capacity: { pods: "many" } } } as unknown as Node);
  assertEquals([silent.addresses, silent.maxPods], [[], null]);
});

Deno.test("readNode() reads port and capacity; what it cannot read is unknown", () => {
  const daemonEndpoints = { kubeletEndpoint: { Port: 10251 } };
  const known = parseNode({ status: { capacity: { cpu: "8", memory: "32Gi" }, daemonEndpoints } } as Node);
  assertEquals([known.port, known.capacity], [10251, { cpuMillicores: 8000, memoryBytes: 32 * 1024 ** 3 }]);
  const odd = parseNode({ status: { capacity: { cpu: "many", memory: "0" } } } as unknown as Node);
  assertEquals(odd.capacity, { cpuMillicores: null, memoryBytes: null });
});

Deno.test("parseWorkload() gives the numbers of the scale, but of no DaemonSet and of no object without replicas (R30)", () => {
  const metadata = { name: "web", namespace: "shop", uid: "u", resourceVersion: "12" };
  const find = (spec: unknown, kind: "deployment" | "daemonset" = "deployment", status?: unknown) =>
    parseWorkload({ metadata, spec, status } as Deployment, kind).scale;
  const scale = { uid: "u", resourceVersion: "12", replicas: 3, statusReplicas: 2 };
  assertEquals(find({ replicas: 3 }, "deployment", { replicas: 2 }), scale);
  assertEquals(find({ replicas: 0 }), { ...scale, replicas: 0, statusReplicas: 0 });
  assertEquals([find({}), find({ replicas: 3 }, "daemonset")], [undefined, undefined]);
});

Deno.test("parseWorkload() keeps no selector of more than 8 KiB, says why, and keeps the scale (L57)", () => {
  const values = Array.from({ length: 100 }, (_, index) => `${index}`.padEnd(63, "x"));
  const parse = (expressions: number) => {
    const matchExpressions = Array.from(
      { length: expressions },
      (_, at) => ({ key: `k${at}`, operator: "In", values }),
    );
    return parseWorkload(
      { metadata: { name: "web" }, spec: { replicas: 3, selector: { matchExpressions } } } as never,
      "deployment",
    );
  };
  assertEquals([parse(1).selector?.requirements.length, parse(1).problems], [1, []]);
  const { selector, problems, scale } = parse(20);
  assertEquals([selector, scale?.replicas], [null, 3]);
  assertEquals(problems, [{
    path: "spec.selector",
    message: "Cannot use selector: it is longer than 8192 characters, which podfit would have to keep: use fewer or " +
      "shorter values",
  }]);
});

Deno.test("parseAutoscalerFacts() gives a policy, or every problem of the spec (C8)", () => {
  const good = parseAutoscalerFacts(autoscalerObject());
  assertEquals([good.autoscaler?.name, good.problems, good.status], ["web", [], {}]);
  const bad = parseAutoscalerFacts(autoscalerObject({ containerName: "", policy: { pollInterval: "soon" } }));
  assertEquals(bad.autoscaler, null);
  assertEquals(bad.problems.map(({ path }) => path).sort(), ["spec.containerName", "spec.policy.pollInterval"]);
});

interface Watched {
  readonly scope: Partial<Scope>;
  readonly prefixes: readonly string[];
  readonly fields: string | null;
  readonly mode: Mode;
  /** Where the statuses of its autoscalers follow from. */
  readonly status?: Partial<Scope>;
}

const SCOPES: Record<string, Watched> = {
  "the whole cluster": { scope: {}, prefixes: [""], fields: null, mode: "central" },
  "some namespaces": {
    scope: { namespaces: ["a", "b"] },
    prefixes: ["/namespaces/a", "/namespaces/b"],
    fields: null,
    mode: "central",
    status: { namespaces: ["a", "b"] },
  },
  "one node": { scope: { node: "node1" }, prefixes: [""], fields: "spec.nodeName=node1", mode: "node-local" },
  "one pod, in its namespace alone": {
    scope: { pod: { namespace: "a", name: "web-1" } },
    prefixes: ["/namespaces/a"],
    fields: "metadata.name=web-1",
    mode: "sidecar",
    status: { namespaces: ["a"] },
  },
  "one pod on one node": {
    scope: { node: "node1", pod: { namespace: "a", name: "web-1" } },
    prefixes: ["/namespaces/a"],
    fields: "spec.nodeName=node1,metadata.name=web-1",
    mode: "sidecar",
    status: { namespaces: ["a"] },
  },
};

Deno.test("a scope watches", async (t) => {
  for (const [name, { scope, prefixes, fields, mode, status }] of Object.entries(SCOPES)) {
    await t.step(name, () => {
      const whole = { ...WHOLE_CLUSTER, ...scope };
      assertEquals([listPrefixes(whole), toPodFieldSelector(whole)], [prefixes, fields]);
      assertEquals([toMode(whole), toReporterScope(whole)], [mode, { ...WHOLE_CLUSTER, ...status }]);
    });
  }
});
