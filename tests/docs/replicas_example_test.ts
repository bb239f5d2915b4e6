/** Does the example of the README do what it says: first a larger pod, then, at the bound, a second one? */
import { assert, assertEquals } from "#assert";
import { parseAll } from "../../lib/runtime/yaml.ts";
import type { Json } from "../support/api_objects.ts";
import { ReplicasRun } from "../support/replicas_run.ts";

const ROOT = new URL("../../", import.meta.url);

Deno.test("the README's workload grows to its usage, and gets a second pod once the autoscaler has a bound", async () => {
  const [workload, autoscaler] = await readObjects("deploy/quickstart.yaml");
  const [bounded, scaled] = await readObjects("deploy/quickstart-replicas.yaml");
  await using run = await ReplicasRun.start([workload, autoscaler]);
  await using _podfit = run.podfit;
  await run.advance(30);
  const [pod] = await run.cluster.list("pods");
  run.cluster.cluster.setLoad({ namespace: "default", name: pod.metadata.name, port: 8080 }, { cpuMillicores: 300 });
  await run.advance(90);
  const { spec } = await run.cluster.get(`pods/${pod.metadata.name}`);
  assert(parseInt(spec.containers[0].resources.requests.cpu) > 300, JSON.stringify(spec.containers[0].resources));
  assertEquals(await run.replicas("hello"), 1);
  await run.cluster.patch("podresourceautoscalers/hello", { spec: bounded.spec });
  await run.cluster.create(scaled);
  await run.advance(60);
  assertEquals(await run.replicas("hello"), 2);
  assertEquals([...new Set(await run.course(300, 15, "hello"))], [2], "it stays there");
});

async function readObjects(path: string): Promise<readonly Json[]> {
  return (parseAll(await Deno.readTextFile(new URL(path, ROOT))) as Json[])
    .map((one) => ({ ...one, metadata: { ...one.metadata, namespace: "default" } }));
}
