/** Which containers does a source read that reads each by itself (L61)? */
import { assertEquals } from "#assert";
import { listUsagePods } from "../../../lib/daemon/pods/poller.ts";
import { container, pod, policy } from "../../support/builders.ts";

Deno.test("listUsagePods() names the containers that autoscalers are for, each once, and no init container (L61)", () => {
  const facts = pod({
    containers: [
      container({ name: "app", instance: "containerd://a" }),
      container({ name: "proxy", instance: "containerd://b" }),
      container({ name: "setup", kind: "init", instance: "containerd://c" }),
    ],
  });
  const autoscalers = ["app", "app", "setup", "gone"].map((containerName) => policy({ containerName }));
  const [listed, ...others] = listUsagePods({
    pods: new Map([[facts.uid, { pod: facts, autoscalers }]]),
    metered: new Map(),
  });
  assertEquals(others, []);
  assertEquals([listed?.uid, listed?.qosClass], [facts.uid, facts.qosClass]);
  assertEquals(listed?.containers.map(({ name, instance }) => [name, instance]), [["app", "containerd://a"]]);
});

Deno.test("listUsagePods() names all containers of metered pods but init containers, and each pod once (R20)", () => {
  const containers = [
    container({ name: "app" }),
    container({ name: "proxy" }),
    container({ name: "setup", kind: "init" }),
  ];
  const [both, metered] = [pod({ uid: "both", containers }), pod({ uid: "metered", containers })];
  const listed = [...listUsagePods({
    pods: new Map([["both", { pod: both, autoscalers: [policy({ containerName: "app" })] }]]),
    metered: new Map([["both", { pod: both }], ["metered", { pod: metered }]]),
  })];
  const all = ["app", "proxy"];
  assertEquals(listed.map(({ uid, containers }) => [uid, containers.map(({ name }) => name)]), [["both", all], [
    "metered",
    all,
  ]]);
});
