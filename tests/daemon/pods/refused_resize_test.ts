/** What a daemon does when the API server refuses its PATCH: reason, event, wait (C44), for each recorded kind. */
import { assert, assertEquals, assertStringIncludes } from "#assert";
import { autoscalerObject } from "../../support/api_objects.ts";
import type { Call } from "../../support/api_server.ts";
import { Run } from "../../support/daemon_run.ts";
import { settleEventLoop } from "../../support/virtual_clock.ts";
import { readRefusal } from "../../support/refusals.ts";

interface Kind {
  readonly file: string;
  readonly reason: string;
  /** Seconds of the PATCHes within two minutes. */
  readonly sentAt: readonly number[];
}

/** Ours waits 30 s, then 60 s, then 120 s; a turn comes each 5 s. */
const BACK_OFF = [10, 40, 100];

const KINDS: Record<string, Kind> = {
  "a node without the capacity": { file: "node_capacity_cpu", reason: "NodeCapacity", sentAt: BACK_OFF },
  "a quota": { file: "quota", reason: "Quota", sentAt: BACK_OFF },
  "a limit range": { file: "limit_range_max", reason: "LimitRange", sentAt: BACK_OFF },
  "missing rights": { file: "rights", reason: "Rights", sentAt: BACK_OFF },
  "validation": { file: "qos_change", reason: "Invalid", sentAt: BACK_OFF },
  "a server without the subresource": { file: "unknown_subresource", reason: "Unsupported", sentAt: [10] },
};

Deno.test("createDaemon() tells a refusal once and waits, when refused for (C44)", async (t) => {
  for (const [name, { file, reason, sentAt }] of Object.entries(KINDS)) {
    await t.step(name, async () => {
      const { code, body } = readRefusal(file);
      await using run = new Run();
      run.use({ "web-1": { cpu: 150 } });
      const sent: number[] = [];
      run.api.intercept = ({ path }: Call) => {
        if (!path.endsWith("/resize")) return null;
        sent.push(run.clock.monotonic() / 1000);
        return Response.json(body, { status: code });
      };
      await run.advance(120);
      assertEquals(sent, sentAt);
      assertEquals(run.events, ["ScaleFailed x1", "Limited x1"]);
      const [{ message, type }] = run.eventsOn("PodResourceAutoscaler");
      assertEquals(type, "Warning");
      assertStringIncludes(message, `(${reason}): ${body.message}`);
      const blocked = await run.series("kedify_agent_pra_scale_blocked_total");
      assert(blocked.some((line) => line.includes(`reason="${reason}"`)), blocked.join("\n"));
      const errors = await run.series("kedify_agent_pra_error_total");
      assert(errors.some((line) => line.endsWith(`reason="${reason}"} ${sentAt.length}`)), errors.join("\n"));
      assertEquals([run.cpu(), run.status().lastScaleTime, run.condition("Ready")], ["100m", undefined, "True Valid"]);
    });
  }
});

Deno.test("createDaemon() waits as a busy server asked, without an event (C44)", async () => {
  await using run = new Run();
  run.use({ "web-1": { cpu: 150 } });
  const sent: number[] = [];
  run.api.intercept = ({ path }) => {
    if (!path.endsWith("/resize")) return null;
    sent.push(run.clock.monotonic() / 1000);
    return sent.length > 1 ? null : Response.json({ code: 429 }, { status: 429, headers: { "retry-after": "20" } });
  };
  await run.advance(60);
  assertEquals(sent, [10, 30]);
  assertEquals([run.cpu(), run.events], ["250m", ["ScaleUp x1"]]);
});

Deno.test("createDaemon() leaves the refused resource out, and the others still move (C44)", async () => {
  const { code, body } = readRefusal("quota");
  const side = { requests: { scaleUpThreshold: 80, scaleDownThreshold: 40, targetUtilization: 60 } };
  await using run = new Run({ autoscalers: [autoscalerObject({ policy: { memory: side } })] });
  run.use({ "web-1": { cpu: 150, memoryMi: 120 } });
  run.api.intercept = (call) => isOfCpu(call) ? Response.json(body, { status: code }) : null;
  await run.advance(20);
  const sent = run.resizes.map((call) => Object.keys(call.body.spec.containers[0].resources.requests));
  assertEquals(sent, [["cpu", "memory"], ["memory"]]);
  assertEquals(run.events, ["ScaleFailed x1", "ScaleUp x1"]);
});

Deno.test("createDaemon() tries at once again when the autoscaler has changed (C44)", async () => {
  const { code, body } = readRefusal("rights");
  await using run = new Run();
  run.use({ "web-1": { cpu: 150 } });
  let isGranted = false;
  run.api.intercept = ({ path }) =>
    path.endsWith("/resize") && !isGranted ? Response.json(body, { status: code }) : null;
  await run.advance(12);
  isGranted = true;
  run.api.edit("podresourceautoscalers", "web", ({ metadata }) => metadata.generation = 2);
  await run.advance(12);
  assertEquals([run.cpu(), run.events], ["250m", ["ScaleFailed x1", "ScaleUp x1"]]);
});

Deno.test("a refusal counts once as an error and once as blocked; a conflict as neither (C44, C52)", async () => {
  const { code, body } = readRefusal("rights");
  for (const [status, count] of [[code, 1], [409, 0]] as const) {
    await using run = new Run();
    run.use({ "web-1": { cpu: 150 } });
    run.api.intercept = ({ path }) => path.endsWith("/resize") ? Response.json(body, { status }) : null;
    await run.advance(11);
    assertEquals(run.resizes.length, 1);
    const lines = (labels: string) => Array.from({ length: count }, () => `${labels} 1`);
    assertEquals(
      await run.series("kedify_agent_pra_scale_blocked_total"),
      lines('kedify_agent_pra_scale_blocked_total{namespace="shop",name="web",reason="Rights"}'),
    );
    assertEquals(
      await run.series("kedify_agent_pra_error_total"),
      lines('kedify_agent_pra_error_total{namespace="shop",reason="Rights"}'),
    );
  }
});

Deno.test("a refusal brings no series back of an autoscaler deleted during its PATCH (C52)", async () => {
  const { code, body } = readRefusal("rights");
  await using run = new Run();
  run.use({ "web-1": { cpu: 150 } });
  run.api.intercept = async ({ path }) => {
    if (!path.endsWith("/resize")) return null;
    run.api.remove("podresourceautoscalers", "web");
    await settleEventLoop();
    return Response.json(body, { status: code });
  };
  await run.advance(15);
  assertEquals(run.resizes.length, 1);
  assertEquals((await run.series("kedify_")).filter((line) => line.includes('name="web"')), []);
});

function isOfCpu({ path, body }: Call): boolean {
  return path.endsWith("/resize") && body.spec.containers[0].resources.requests.cpu !== undefined;
}

Deno.test("createDaemon() tells a resize whose answer was lost once the pod shows it (C45)", async () => {
  await using run = new Run();
  run.use({ "web-1": { cpu: 150 } });
  let isLost = false;
  run.api.intercept = async ({ path, method, body, contentType, query }: Call) => {
    if (isLost || !path.endsWith("/resize")) return null;
    isLost = true;
    const url = `http://api.test${path}?${new URLSearchParams(query)}`;
    const headers = { "content-type": contentType ?? "" };
    await run.api.transport(new Request(url, { method, headers, body: JSON.stringify(body) }));
    throw new TypeError("connection reset");
  };
  await run.advance(60);
  assertEquals([run.cpu(), run.events], ["250m", ["ScaleUp x1"]]);
  assertEquals(run.status().lastScaleAction, "scaleUp");
});
