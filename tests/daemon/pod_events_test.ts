/** Events on the pod: what `kubectl describe pod` shows of podfit. Clauses: L58. */
import { assert, assertEquals, assertMatch } from "#assert";
import { autoscalerObject, podObject } from "../support/api_objects.ts";
import { refuse } from "../support/api_server.ts";
import { Run } from "../support/daemon_run.ts";
import { readRefusal } from "../support/refusals.ts";

const AT_MAX = autoscalerObject({ bounds: { cpu: { requests: { max: "100m" } } } });

Deno.test("createDaemon() writes each resize on the pod too, as the autoscaler's event says it (L58)", async () => {
  await using run = new Run();
  run.use({ "web-1": { cpu: 150 } });
  await run.advance(30);
  assertEquals([run.events, run.podEvents], [["ScaleUp x1"], ["web-1 ScaleUp x1"]]);
  const [onPod] = run.eventsOn("Pod");
  const [onAutoscaler] = run.eventsOn("PodResourceAutoscaler");
  assertEquals([onPod?.involvedObject.uid, onPod?.related.uid], ["uid-web-1", "uid-web-autoscaler"]);
  assertEquals([onPod?.message, onPod?.type], [onAutoscaler?.message, onAutoscaler?.type]);
});

Deno.test("createDaemon() writes Limited on the pod once while it lasts, with what stops the resize (L53, L58)", async () => {
  await using run = new Run({ autoscalers: [AT_MAX] });
  run.use({ "web-1": { cpu: 90 } });
  await run.advance(600);
  assertEquals(run.podEvents, ["web-1 Limited x1"]);
  assertMatch(
    run.eventsOn("Pod")[0]?.message,
    /^container "main" of pod "web-1" needs more, and cannot be given more until something changes \(AtBound\): ./,
  );
  run.use({ "web-1": { cpu: 60 } });
  await run.advance(30);
  run.use({ "web-1": { cpu: 90 } });
  await run.advance(600);
  assertEquals(run.podEvents, ["web-1 Limited x1", "web-1 Limited x1"], "it had ended in between");
});

Deno.test("a podfit of one node writes Limited on its pods, though the condition is unknown (L58)", async () => {
  await using run = new Run({ autoscalers: [AT_MAX], scope: { namespaces: null, node: "node1", pod: null } });
  run.use({ "web-1": { cpu: 90 } });
  await run.advance(60);
  assertEquals([run.condition("Limited"), run.events, run.podEvents], ["Unknown NodeLocal", [], ["web-1 Limited x1"]]);
});

Deno.test("createDaemon() writes a refusal that lasts on the pod, and no wait that ends alone (L58)", async () => {
  const quota = readRefusal("quota");
  await using run = new Run();
  run.use({ "web-1": { cpu: 150 } });
  let answer = refuse(429, { message: "busy" });
  run.api.intercept = ({ path }) => path.endsWith("/resize") ? answer.clone() : null;
  await run.advance(120);
  assertEquals(run.podEvents, []);
  answer = Response.json(quota.body, { status: quota.code });
  await run.advance(600);
  assertEquals(run.podEvents, ["web-1 Limited x1"]);
  assertMatch(run.eventsOn("Pod")[0]?.message, /\(Quota\): ./);
});

Deno.test("mode recommend writes no event on a pod (L58)", async () => {
  const recommend = { mode: "recommend", bounds: { cpu: { requests: { max: "100m" } } } };
  await using run = new Run({ autoscalers: [autoscalerObject(recommend)] });
  run.use({ "web-1": { cpu: 90 } });
  await run.advance(300);
  assertEquals(run.condition("Limited"), "True AtBound");
  assertEquals(run.podEvents, []);
});

Deno.test("a new leader that finds two podfits' pod resized writes no resize again (L58)", async () => {
  await using first = new Run();
  await using _second = new Run({ after: first });
  first.use({ "web-1": { cpu: 150 } });
  await first.advance(60);
  assertEquals([first.cpu(), first.podEvents], ["250m", ["web-1 ScaleUp x1"]]);
});

Deno.test("a burst of resizes loses no event of an autoscaler to those on pods (L58)", async () => {
  const names = Array.from({ length: 300 }, (_, index) => `web-${index + 1}`);
  await using run = new Run({ pods: names.map((name) => podObject({ name })) });
  run.use(Object.fromEntries(names.map((name) => [name, { cpu: 150 }])));
  await run.advance(75);
  const total = run.eventsOn("PodResourceAutoscaler").reduce((sum, { count }) => sum + count, 0);
  assertEquals([total, run.podEvents.length], [names.length, names.length]);
  assert(run.podEvents.every((one) => one.endsWith(" ScaleUp x1")));
});
