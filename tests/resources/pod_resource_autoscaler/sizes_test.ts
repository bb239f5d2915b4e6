/** The sizes of pods in a status: medians, what is wanted, and when a change of it is published (L59). */
import { assertEquals } from "#assert";
import {
  type ContainerSize,
  type ContainerStatus,
  findWaiting,
  MAX_CONTAINERS,
  nextContainers,
  summarizeSizes,
} from "../../../lib/resources/pod_resource_autoscaler/sizes.ts";
import { MI, resources } from "../../support/builders.ts";

function container(overrides: Partial<ContainerSize> = {}): ContainerSize {
  return { name: "web", current: resources({ "cpu.requests": 100 }), wanted: null, waiting: null, ...overrides };
}

function withCpu(millicores: number, overrides: Partial<ContainerSize> = {}): ContainerSize {
  return container({ current: resources({ "cpu.requests": millicores }), ...overrides });
}

Deno.test("summarizeSizes() has the median size of each container, of an even number the lower one (L59)", () => {
  const sizes = summarizeSizes([[withCpu(100)], [withCpu(400)], [withCpu(300)], [withCpu(200)]]);
  assertEquals(sizes.containers, [{ name: "web", pods: 4, current: { requests: { cpu: "200m" } } }]);
});

Deno.test("summarizeSizes() gives the requests of a pod as the sum of its containers (L59)", () => {
  const proxy = container({ name: "proxy", current: resources({ "cpu.requests": 50, "memory.requests": 64 * MI }) });
  const sizes = summarizeSizes([[withCpu(100), proxy], [withCpu(300), proxy], [withCpu(900), proxy]]);
  assertEquals(sizes.requests, { cpu: "350m", memory: "64Mi" });
  assertEquals(sizes.containers.map(({ name, pods }) => [name, pods]), [["proxy", 3], ["web", 3]]);
  assertEquals(summarizeSizes([]), { containers: [] });
});

Deno.test("summarizeSizes() shows the size of a pod to the byte, and a wanted one as a resize would set it (L59)", () => {
  const current = resources({ "memory.requests": 100_000_001, "memory.limits": 200_000_000 });
  const [one] = summarizeSizes([[container({ current, wanted: { "memory.requests": 100_000_001 } })]]).containers;
  assertEquals(one?.current, { requests: { memory: "100000001" }, limits: { memory: "200M" } });
  assertEquals(one?.wanted, { requests: { memory: "96Mi" } });
});

Deno.test("summarizeSizes() has of each field the median of those that want another value (L59)", () => {
  const pods = [{ "cpu.requests": 200 }, { "cpu.requests": 500, "cpu.limits": 900 }, { "cpu.requests": 300 }, null];
  const [one] = summarizeSizes(pods.map((wanted) => [container({ wanted })])).containers;
  assertEquals([one?.pods, one?.wanted], [4, { requests: { cpu: "300m" }, limits: { cpu: "900m" } }]);
});

Deno.test("summarizeSizes() names the most frequent reason, of equal ones the first by name (L59)", () => {
  const waitingOf = (...reasons: (string | null)[]) =>
    summarizeSizes(reasons.map((waiting) => [container({ waiting })])).containers[0]?.waiting;
  assertEquals(waitingOf("Quota", "Cooldown", "Quota", null, null), "Quota");
  assertEquals(waitingOf("Quota", "Cooldown"), "Cooldown");
  assertEquals(waitingOf(null, null), undefined);
});

Deno.test("summarizeSizes() keeps the list within the bound of the definition (L59)", () => {
  const names = Array.from({ length: MAX_CONTAINERS + 20 }, (_, index) => `c${String(index).padStart(3, "0")}`);
  const { containers, requests } = summarizeSizes([names.toReversed().map((name) => container({ name }))]);
  assertEquals(containers.map(({ name }) => name), names.slice(0, MAX_CONTAINERS));
  assertEquals(requests, { cpu: "12" }, "the sum is that of all");
});

const SETTLED: ContainerStatus = {
  name: "web",
  pods: 3,
  current: { requests: { cpu: "100m" } },
  wanted: { requests: { cpu: "200m" } },
  waiting: "Cooldown",
};

Deno.test("nextContainers() publishes what is wanted once it has lasted, and not for a twentieth (L59)", () => {
  const wants = (cpu: string): ContainerStatus => ({ ...SETTLED, wanted: { requests: { cpu } } });
  const { wanted: _, waiting: __, ...quiet } = SETTLED;
  const rows: readonly (readonly [string, ContainerStatus, boolean])[] = [
    ["the same", { ...SETTLED }, false],
    ["a twentieth less", wants("191m"), false],
    ["a twentieth more", wants("209m"), false],
    ["more than a twentieth", wants("211m"), true],
    ["another field", { ...SETTLED, wanted: { limits: { cpu: "200m" } } }, true],
    ["another reason", { ...SETTLED, waiting: "Quota" }, true],
    ["nothing is wanted", quiet, true],
  ];
  for (const [what, now, isNews] of rows) {
    assertEquals(nextContainers([SETTLED], [now], () => true), [isNews ? now : SETTLED], what);
    assertEquals(nextContainers([SETTLED], [now], () => false), [SETTLED], `${what}, for a short time`);
  }
});

Deno.test("nextContainers() publishes all at once with a change of names, pods or sizes (L59)", () => {
  const changes: readonly Partial<ContainerStatus>[] = [
    { pods: 4 },
    { name: "other" },
    { current: { requests: { cpu: "101m" } } },
  ];
  for (const change of changes) {
    const now = [{ ...SETTLED, wanted: { requests: { cpu: "199m" } }, waiting: "Quota", ...change }];
    assertEquals(nextContainers([SETTLED], now, () => false), now);
  }
  assertEquals(nextContainers([SETTLED], [], () => false), []);
  assertEquals(nextContainers(undefined, [SETTLED], () => false), [SETTLED], "nothing is published yet");
});

Deno.test("nextContainers() takes a stored text that is no quantity for another value (L59)", () => {
  const odd = [{ ...SETTLED, wanted: { requests: { cpu: "lots" } } }];
  assertEquals(nextContainers(odd, [SETTLED], () => true), [SETTLED]);
});

Deno.test("findWaiting() shows what needs an administrator first, and else the first container that waits (L59)", () => {
  const waitingOf = (...reasons: (string | undefined)[]) =>
    findWaiting(reasons.map((waiting) => ({
      name: "web",
      pods: 1,
      current: {},
      ...(waiting !== undefined && { waiting }),
    })));
  assertEquals(waitingOf("ScaleDownWindow", "AtBound", "Quota"), "AtBound");
  assertEquals(waitingOf(undefined, "ScaleDownWindow", "Cooldown"), "ScaleDownWindow");
  assertEquals(waitingOf(undefined), null);
});

Deno.test("nextContainers() asks only for containers that differ, and one that changes holds no other back (L59)", () => {
  const other = { ...SETTLED, name: "proxy" };
  const now = [{ ...other, waiting: "Quota" }, { ...SETTLED, waiting: "Quota" }];
  const asked: string[] = [];
  const next = nextContainers([other, SETTLED], now, (name) => asked.push(name) > 1);
  assertEquals([next, asked], [[other, now[1]], ["proxy", "web"]]);
  nextContainers(now, now, () => {
    throw new Error("nothing differs");
  });
});
