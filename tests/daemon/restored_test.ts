/** An etcd that is restored from a backup: versions and generations go back and count on from there. */
import { assertEquals } from "#assert";
import { autoscalerObject } from "../support/api_objects.ts";
import { busyRun, Run } from "../support/daemon_run.ts";

const THRESHOLDS = { scaleUpThreshold: 50, scaleDownThreshold: 10, targetUtilization: 30 };

Deno.test("an autoscaler of the same generation with another spec is heeded (C16)", async () => {
  await using run = new Run();
  run.use({ "web-1": { cpu: 60 } });
  await run.advance(30);
  assertEquals(run.resizes.length, 0);
  run.api.expire(() =>
    run.api.put("podresourceautoscalers", autoscalerObject({ policy: { cpu: { requests: THRESHOLDS } } }))
  );
  await run.advance(60);
  assertEquals([run.cpu(), run.resizes.length], ["200m", 1]);
});

Deno.test("a pod that has its size and generation of before is resized again (C41)", async () => {
  await using run = busyRun();
  const backup = run.api.get("pods", "web-1");
  await run.advance(30);
  assertEquals([run.cpu(), run.api.get("pods", "web-1").metadata.generation], ["250m", 2]);
  run.api.expire(() => run.api.put("pods", backup));
  await run.advance(120);
  assertEquals([run.cpu(), run.resizes.length], ["250m", 2]);
});

Deno.test("a pod whose resize was lost before a watch showed it is resized again (C16, C41)", async () => {
  await using run = busyRun();
  const backup = run.api.get("pods", "web-1");
  await run.advance(9);
  const release = run.api.hold("pods");
  for (let second = 0; second < 20 && run.resizes.length === 0; second++) await run.advance(1);
  assertEquals([run.resizes.length, run.api.get("pods", "web-1").metadata.generation], [1, 2]);
  run.api.expire(() => run.api.put("pods", backup));
  release();
  await run.advance(120);
  assertEquals([run.cpu(), run.resizes.length], ["250m", 2]);
});

Deno.test("a resize that a late watch does not show is not repeated (C16, C41)", async () => {
  await using run = busyRun();
  await run.advance(9);
  const release = run.api.hold("pods");
  await run.advance(80);
  assertEquals([run.cpu(), run.resizes.length], ["250m", 1]);
  release();
  await run.advance(120);
  assertEquals([run.cpu(), run.resizes.length], ["250m", 1]);
});
