/** Which containers does a source read that reads each by itself (L61)? */
import { assertEquals } from "@std/assert";
import { listUsagePods } from "../../../lib/daemon/polling/usage_pods.ts";
import { container, pod, policy } from "../../support/builders.ts";

Deno.test("listUsagePods() names the containers that autoscalers are for, each once, and no init container (L61)", () => {
  const facts = pod({
    containers: [
      container({ name: "app", instance: "containerd://a" }),
      container({ name: "proxy", instance: "containerd://b" }),
      container({ name: "setup", kind: "init", instance: "containerd://c" }),
    ],
  });
  const contenders = ["app", "app", "setup", "gone"].map((containerName) => policy({ containerName }));
  const [listed, ...others] = listUsagePods([{ pod: facts, contenders }]);
  assertEquals(others, []);
  assertEquals([listed?.uid, listed?.qosClass], [facts.uid, facts.qosClass]);
  assertEquals(listed?.containers.map(({ name, instance }) => [name, instance]), [["app", "containerd://a"]]);
});
