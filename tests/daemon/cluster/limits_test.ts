/** Limit ranges, quotas and versions, read at the edge (L32, L33). */
import { assert, assertEquals } from "#assert";
import { NamespaceLimitsCache, parseLimitRange, parseQuota } from "../../../lib/daemon/cluster/capacity.ts";
import { lowersMemoryLimits } from "../../../lib/daemon/cluster/observer.ts";
import { MI, resources } from "../../support/builders.ts";

const metadata = { namespace: "shop", name: "sizes" };
const NONE = { cpu: null, memory: null };
const FRESH = () => false;

Deno.test("parseLimitRange() reads what concerns containers and pods, and lets the rest go (L32)", () => {
  const limits = [
    { type: "PersistentVolumeClaim", max: { storage: "1Gi" } },
    {
      type: "Container",
      min: { cpu: "10m" },
      max: { memory: "1Gi" },
      default: { cpu: "1", memory: "64Mi" },
      defaultRequest: { cpu: "100m" },
      maxLimitRequestRatio: { cpu: "1.5", memory: "2" },
    },
    { type: "Pod", max: { cpu: "many" }, default: { cpu: "1" } },
  ];
  const { kind, namespace, ranges } = parseLimitRange({ metadata, spec: { limits } });
  assertEquals([kind, namespace], ["limitRange", "shop"]);
  assertEquals(ranges, [
    {
      name: "sizes",
      type: "Container",
      min: { cpu: 10, memory: null },
      max: { cpu: null, memory: 1024 * MI },
      maxLimitRequestRatio: { cpu: 1.5, memory: 2 },
      defaults: resources({ "cpu.limits": 1000, "memory.limits": 64 * MI, "cpu.requests": 100 }),
    },
    { name: "sizes", type: "Pod", min: NONE, max: NONE, maxLimitRequestRatio: NONE, defaults: resources() },
  ]);
  assertEquals(parseLimitRange({}).ranges, []);
});

Deno.test("parseQuota() reads what is left of what it counts; plain cpu and memory are requests (L32)", () => {
  const hard = { "requests.cpu": "2", "limits.memory": "1Gi", memory: "100Mi", pods: "4", "limits.cpu": "1" };
  const used = { "requests.cpu": "500m", "limits.memory": "1Gi", memory: "120Mi", pods: "1" };
  assertEquals(
    parseQuota({ metadata, status: { hard, used } }).left,
    resources({ "cpu.requests": 1500, "memory.limits": 0, "memory.requests": -20 * MI }),
  );
  const both = { hard: { cpu: "1", "requests.cpu": "2" }, used: { cpu: "0", "requests.cpu": "0" } };
  assertEquals(parseQuota({ metadata, status: both }).left["cpu.requests"], 1000);
  assertEquals(parseQuota({ metadata }).left, resources(), "not counted yet");
});

Deno.test("parseQuota() leaves a quota with scopes to its refusal (L32)", () => {
  const status = { hard: { cpu: "1" }, used: { cpu: "0" } };
  for (const spec of [{ scopes: ["NotTerminating"] }, { scopeSelector: { matchExpressions: [] } }]) {
    assertEquals(parseQuota({ metadata, spec, status }).left, resources());
  }
});

Deno.test("Namespaces gives a namespace all its ranges and the tightest of its quotas (L32)", () => {
  const namespaces = new NamespaceLimitsCache();
  const replace = (...given: Parameters<typeof namespaces.replace>) => {
    for (const _ of namespaces.replace(...given));
  };
  const quota = (name: string, cpu: string) =>
    parseQuota({ metadata: { namespace: "shop", name }, status: { hard: { cpu }, used: { cpu: "0" } } });
  const range = parseLimitRange({ metadata, spec: { limits: [{ type: "Container", max: { cpu: "1" } }] } });
  assertEquals(namespaces.find("shop", FRESH), null);
  namespaces.set(range);
  replace({ kind: "quota", namespace: null }, [quota("a", "2"), quota("b", "1")]);
  assertEquals(namespaces.find("shop", FRESH), { ranges: range.ranges, quota: resources({ "cpu.requests": 1000 }) });
  namespaces.remove(quota("b", "1"));
  assertEquals(namespaces.find("shop", FRESH)?.quota["cpu.requests"], 2000);
  replace({ kind: "limitRange", namespace: "shop" }, []);
  assertEquals(namespaces.find("shop", FRESH)?.ranges, []);
  replace({ kind: "quota", namespace: "other" }, []);
  assertEquals(namespaces.find("shop", FRESH)?.quota["cpu.requests"], 2000);
  replace({ kind: "quota", namespace: null }, []);
  assertEquals(namespaces.find("shop", FRESH), null);
});

Deno.test("lowersMemoryLimits() needs API server and kubelet of 1.34; an unknown version is believed (L33)", () => {
  const rows: readonly [readonly (string | null)[], boolean][] = [
    [["v1.36.3", "v1.34.0"], true],
    [["v1.33.5+k3s1", "v1.33.5+k3s1"], false],
    [["v1.34.1", "v1.33.9"], false],
    [["v1.33.9", null], false],
    [[null, "v1.33.9"], false],
    [[null, null], true],
    [["v2.0.0", "1.40.0-alpha.1"], true],
    [["main", "v1.34.0-rc.1"], true],
  ];
  for (const [versions, expected] of rows) assertEquals(lowersMemoryLimits(...versions), expected, versions.join());
});

Deno.test("a new list of quotas changes them one by one, and none is missing meanwhile (L32)", () => {
  const namespaces = new NamespaceLimitsCache();
  const quota = (namespace: string, cpu: string) =>
    parseQuota({ metadata: { namespace, name: "quota" }, status: { hard: { cpu }, used: { cpu: "0" } } });
  for (const namespace of ["a", "b", "gone"]) namespaces.set(quota(namespace, "1"));
  const left = () => ["a", "b", "gone"].map((one) => namespaces.find(one, FRESH)?.quota["cpu.requests"]);
  const seen = [left()];
  for (const _ of namespaces.replace({ kind: "quota", namespace: null }, [quota("a", "2"), quota("b", "2")])) {
    seen.push(left());
  }
  assertEquals(seen, [[1000, 1000, 1000], [1000, 1000, undefined], [2000, 1000, undefined], [2000, 2000, undefined]]);
});

Deno.test("what is outdated limits nothing, each kind for itself, and defaults count all the same (L32)", () => {
  const namespaces = new NamespaceLimitsCache();
  const limits = [{ type: "Container", max: { cpu: "1" }, min: { cpu: "1m" }, default: { cpu: "500m" } }];
  const range = parseLimitRange({ metadata, spec: { limits } });
  namespaces.set(range);
  namespaces.set(
    parseQuota({ metadata: { ...metadata, name: "q" }, status: { hard: { cpu: "2" }, used: { cpu: "0" } } }),
  );
  const quota = resources({ "cpu.requests": 2000 });
  const find = (outdated: string) => namespaces.find("shop", (kind) => kind === outdated);
  assertEquals(find("quota"), { ranges: range.ranges, quota: resources({}) });
  const unlimited = range.ranges.map((one) => ({ ...one, min: NONE, max: NONE }));
  assertEquals(find("limitRange"), { ranges: unlimited, quota });
  assert(find("limitRange") === find("limitRange"));
  assertEquals(unlimited[0]?.defaults["cpu.limits"], 500);
  assertEquals(find(""), { ranges: range.ranges, quota });
});

Deno.test("NamespaceLimitsCache gives the same object until something changes", () => {
  const namespaces = new NamespaceLimitsCache();
  const rule = parseLimitRange({ metadata, spec: { limits: [{ type: "Container", max: { cpu: "1" } }] } });
  namespaces.set(rule);
  const before = namespaces.find("shop", FRESH);
  assert(before !== null && before === namespaces.find("shop", FRESH));
  namespaces.set(rule);
  assert(before !== namespaces.find("shop", FRESH));
});
