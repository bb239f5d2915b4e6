/**
 * A whole podfit in mode recommend: its status has recommendations, and it never resizes.
 * Clauses: L51.
 */
import { assertEquals } from "#assert";
import { autoscalerObject, podObject } from "../support/api_objects.ts";
import { Run } from "../support/daemon_run.ts";

const RECOMMEND = autoscalerObject({ mode: "recommend" });

function cpuOf(run: Run) {
  const [one] = run.status().recommendations ?? [];
  if (one === undefined) return null;
  const { container, min, median, max, template } = one;
  return [container, ...[min, median, max, template].map((size) => size?.requests?.cpu)];
}

Deno.test("recommendations have the median, the least and the most of all pods, beside the template (L51)", async () => {
  const names = ["web-1", "web-2", "web-3"];
  await using run = new Run({ autoscalers: [RECOMMEND], pods: names.map((name) => podObject({ name })) });
  run.use({ "web-1": { cpu: 90 }, "web-2": { cpu: 150 }, "web-3": { cpu: 240 } });
  await run.advance(30);
  assertEquals(cpuOf(run), ["main", "150m", "250m", "400m", "100m"]);
  assertEquals(run.status().recommendations[0].median, {
    requests: { cpu: "250m", memory: "128Mi" },
    limits: { cpu: "1", memory: "256Mi" },
  });
});

Deno.test("a podfit whose autoscalers all recommend never sends a PATCH to a pod (L51)", async () => {
  await using run = new Run({ autoscalers: [RECOMMEND] });
  for (const cpu of [150, 20, 400, 90, 5]) {
    run.use({ "web-1": { cpu, memoryMi: 250 } });
    await run.advance(120);
  }
  assertEquals(run.api.calls.filter(({ method, path }) => method !== "GET" && path.includes("/pods/")), []);
  assertEquals(run.events, []);
  assertEquals([run.cpu(), run.status().lastScaleTime, run.condition("Scaling")], ["100m", undefined, "False Idle"]);
  assertEquals(run.condition("Metrics"), "True Available");
});

Deno.test("recommendations are written when some amount has moved by a twentieth, not before (L51)", async () => {
  // The target is 97 % of 96 %, so that the value rises slowly.
  const cpu = { requests: { scaleUpThreshold: 96, scaleDownThreshold: 1, targetUtilization: 95 } };
  const autoscaler = autoscalerObject({
    mode: "recommend",
    policy: { cooldown: "0s", cpu },
  });
  await using run = new Run({ autoscalers: [autoscaler] });
  run.use({ "web-1": { cpu: 96 } });
  await run.advance(30);
  assertEquals(cpuOf(run)?.[2], "100m", "102m are too little to tell");
  run.use({ "web-1": { cpu: 99 } });
  await run.advance(30);
  assertEquals(cpuOf(run)?.[2], "105m");
});

Deno.test("recommendations go with the mode, and come with it (L51)", async () => {
  await using run = new Run({ autoscalers: [RECOMMEND] });
  run.use({ "web-1": { cpu: 150 } });
  await run.advance(30);
  assertEquals(cpuOf(run)?.[2], "250m");
  const edit = (mode: string) =>
    run.api.edit("podresourceautoscalers", "web", (object) => {
      object.spec.mode = mode;
      object.metadata.generation++;
    });
  edit("apply");
  await run.advance(30);
  assertEquals([cpuOf(run), run.cpu()], [null, "250m"]);
  edit("recommend");
  await run.advance(30);
  assertEquals(cpuOf(run), ["main", "250m", "250m", "250m", undefined], "nobody knows the template any more");
});

Deno.test("a podfit that sees a part of the pods recommends nothing and knows of no limit (L51, L53)", async () => {
  const scope = { namespaces: null, node: "node1", pod: null };
  await using run = new Run({ autoscalers: [RECOMMEND], scope });
  run.use({ "web-1": { cpu: 150 } });
  await run.advance(30);
  assertEquals([cpuOf(run), run.condition("Limited")], [null, "Unknown NodeLocal"]);
});

Deno.test("a dry run recommends, too (L51)", async () => {
  await using run = new Run({ autoscalers: [RECOMMEND], dryRun: true });
  run.use({ "web-1": { cpu: 150 } });
  await run.advance(30);
  assertEquals([cpuOf(run)?.[2], run.resizes.length], ["250m", 0]);
});

Deno.test("what would be resized counts as blocked, and is logged with its utilization (L51)", async () => {
  await using run = new Run({ autoscalers: [RECOMMEND] });
  run.use({ "web-1": { cpu: 150 } });
  await run.advance(20);
  assertEquals(await run.series("kedify_agent_pra_scale_blocked_total"), [
    'kedify_agent_pra_scale_blocked_total{namespace="shop",name="web",reason="DryRun"} 1',
  ]);
  const blocked = run.log.filter(({ message, msg }) => (message ?? msg) === "Blocked");
  assertEquals(blocked.map(({ why, utilization }) => [why, utilization]), [
    ["would resize: cpu.requests 100m -> 250m (mode: recommend)", { "cpu.requests": 60 }],
  ]);
});
