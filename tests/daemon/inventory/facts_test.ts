import { assertEquals } from "@std/assert";
import type { Node } from "../../../lib/api/kubernetes.ts";
import { readAutoscaler } from "../../../lib/daemon/inventory/read_autoscaler.ts";
import { readNode } from "../../../lib/daemon/inventory/read_node.ts";
import { listPrefixes, readPodFieldSelector, type Scope, WHOLE_CLUSTER } from "../../../lib/daemon/inventory/scope.ts";
import { autoscalerObject } from "../../support/api_objects.ts";

const ADDRESS: Record<string, { addresses: readonly { type: string; address: string }[]; host: string | null }> = {
  "its internal address first": {
    addresses: [{ type: "Hostname", address: "n" }, { type: "InternalIP", address: "10.0.0.1" }],
    host: "10.0.0.1",
  },
  "its external address before its name": {
    addresses: [{ type: "Hostname", address: "n" }, { type: "ExternalIP", address: "1.2.3.4" }],
    host: "1.2.3.4",
  },
  "its name where there is nothing else": { addresses: [{ type: "Hostname", address: "n" }], host: "n" },
  "nothing without addresses": { addresses: [], host: null },
};

Deno.test("readNode() dials a kubelet at", async (t) => {
  for (const [name, { addresses, host }] of Object.entries(ADDRESS)) {
    await t.step(name, () => {
      const node = readNode({ metadata: { name: "node1" }, status: { addresses: [...addresses] } } as Node);
      assertEquals([node.host, node.port], [host, 10250]);
    });
  }
});

Deno.test("readNode() reads port and capacity; what it cannot read is unknown", () => {
  const daemonEndpoints = { kubeletEndpoint: { Port: 10251 } };
  const known = readNode({ status: { capacity: { cpu: "8", memory: "32Gi" }, daemonEndpoints } } as Node);
  assertEquals([known.port, known.capacity], [10251, { cpuMillicores: 8000, memoryBytes: 32 * 1024 ** 3 }]);
  const odd = readNode({ status: { capacity: { cpu: "many", memory: "0" } } } as unknown as Node);
  assertEquals(odd.capacity, { cpuMillicores: null, memoryBytes: null });
});

Deno.test("readAutoscaler() gives a policy, or every problem of the spec (C8)", () => {
  const good = readAutoscaler(autoscalerObject());
  assertEquals([good.autoscaler?.name, good.problems, good.status], ["web", [], {}]);
  const bad = readAutoscaler(autoscalerObject({ containerName: "", policy: { pollInterval: "soon" } }));
  assertEquals(bad.autoscaler, null);
  assertEquals(bad.problems.map(({ path }) => path).sort(), ["spec.containerName", "spec.policy.pollInterval"]);
});

interface Watched {
  readonly scope: Partial<Scope>;
  readonly prefixes: readonly string[];
  readonly fields: string | null;
}

const SCOPES: Record<string, Watched> = {
  "the whole cluster": { scope: {}, prefixes: [""], fields: null },
  "some namespaces": { scope: { namespaces: ["a", "b"] }, prefixes: ["/namespaces/a", "/namespaces/b"], fields: null },
  "one node": { scope: { node: "node1" }, prefixes: [""], fields: "spec.nodeName=node1" },
  "one pod, in its namespace alone": {
    scope: { pod: { namespace: "a", name: "web-1" } },
    prefixes: ["/namespaces/a"],
    fields: "metadata.name=web-1",
  },
  "one pod on one node": {
    scope: { node: "node1", pod: { namespace: "a", name: "web-1" } },
    prefixes: ["/namespaces/a"],
    fields: "spec.nodeName=node1,metadata.name=web-1",
  },
};

Deno.test("a scope watches", async (t) => {
  for (const [name, { scope, prefixes, fields }] of Object.entries(SCOPES)) {
    await t.step(name, () => {
      const whole = { ...WHOLE_CLUSTER, ...scope };
      assertEquals([listPrefixes(whole), readPodFieldSelector(whole)], [prefixes, fields]);
    });
  }
});
