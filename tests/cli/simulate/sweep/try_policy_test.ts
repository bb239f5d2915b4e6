import { assertEquals } from "#assert";
import { parseManifestObjects } from "../../../../lib/cli/manifests/objects.ts";
import { toSubjects } from "../../../../lib/cli/simulate/sweep/try_policy.ts";
import { autoscaler, DEPLOYMENT, scaledObject } from "../files.ts";

Deno.test("toSubjects() begins with as many pods as the workload has, within the bounds of its ScaledObject", () => {
  const trigger = "{type: cpu, metricType: AverageValue, metadata: {value: 100m}}";
  const startOf = (replicas: number, object: string) => {
    const workload = DEPLOYMENT.replace("spec:\n", `spec:\n  replicas: ${replicas}\n`);
    const text = [workload, autoscaler("profile: balanced"), object].join("---\n");
    const found = toSubjects(parseManifestObjects([{ name: "web.yaml", text }]));
    return found.ok ? found.subjects.map((one) => one.replicas) : found.message;
  };
  const [one, two] = [scaledObject(trigger), scaledObject(trigger).replace("minReplicaCount: 1", "minReplicaCount: 2")];
  assertEquals([0, 1, 7, 30].map((replicas) => startOf(replicas, one)), [[1], [1], [7], [10]]);
  assertEquals([1, 30].map((replicas) => startOf(replicas, two)), [[2], [10]]);
  // Without one, a workload is one pod.
  assertEquals(startOf(7, ""), [1]);
});
