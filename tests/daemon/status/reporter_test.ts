/** The podfit of a node that writes the statuses: it watches autoscalers a second time. */
import { assertEquals } from "#assert";
import { WHOLE_CLUSTER } from "../../../lib/daemon/cluster/facts.ts";
import { autoscaler, deployment } from "../../e2e/support/workloads.ts";
import { ClusterRun } from "../../support/cluster_run.ts";

Deno.test("a deleted autoscaler leaves no gauge where the watch of statuses hears of it last (C52)", async () => {
  await using run = await ClusterRun.start({ nodes: [{ name: "node-1" }] });
  await run.create(
    deployment("web", { replicas: 1, containers: [{ requests: { cpu: "50m" }, cpuMillicores: 45 }] }),
    autoscaler("web", { target: { kind: "deployment", name: "web" }, containerName: "main", profile: "balanced" }),
  );
  await run.advance(20);
  let watches = 0;
  let gate = Promise.resolve();
  await using podfit = run.startPodfit({ ...WHOLE_CLUSTER, node: "node-1" }, {
    identity: "a",
    answer(request) {
      const isOfStatuses = request.url.includes("podresourceautoscalers?watch") && ++watches === 2;
      return isOfStatuses
        ? run.cluster.connect().transport(request).then((response) => hold(response, () => gate))
        : null;
    },
  });
  const listGauges = () => podfit.series("kedify_agent_pod_resource_autoscaler_active");
  await run.advance(60);
  assertEquals((await listGauges()).length, 1);
  const { promise, resolve: open } = Promise.withResolvers<void>();
  gate = promise;
  await run.delete("podresourceautoscalers/web");
  await run.advance(20);
  const set = await listGauges();
  open();
  await run.advance(20);
  assertEquals([set.length, await listGauges()], [1, []], "set again by the watch that is late, and forgotten with it");
});

/** Returns the response with a body whose pieces wait for the gate. */
function hold({ body }: Response, getGate: () => Promise<void>): Response {
  const late = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    async transform(chunk, controller) {
      await getGate();
      controller.enqueue(chunk);
    },
  });
  return new Response(body?.pipeThrough(late) ?? null);
}
