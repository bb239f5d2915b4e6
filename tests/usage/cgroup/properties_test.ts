/** Whatever the files hold, a point has believable numbers or there is none (L61). */
import { assert, assertEquals } from "#assert";
import fc from "fast-check";
import { CgroupReader } from "../../../lib/usage/cgroup/watch.ts";
import { ID, movedV1, POD, toFiles, type Tree, treeV2, UID } from "../../support/cgroup_trees.ts";

const TREES = [treeV2(`kubepods/burstable/pod${UID}`, ID), movedV1(`kubepods/burstable/pod${UID}`, ID)];

const noise = fc.oneof(
  fc.string({ unit: "binary", maxLength: 200 }),
  fc.stringMatching(/^(usage_usec|inactive_file|total_inactive_file|oom_kill|full total=)? ?-?[0-9]{0,25}[ \n]{0,2}$/),
  fc.constantFrom("9".repeat(20), "1e9\n", "0x10\n", "18446744073709551616 1\n", "NaN", "Infinity\n", " ", "\n\n"),
);

Deno.test("a reader never throws, and gives numbers that can be, whatever the files hold (L61)", () => {
  fc.assert(fc.property(fc.constantFrom(...TREES), fc.array(noise, { minLength: 12, maxLength: 12 }), (tree, texts) => {
    const spoiled = Object.keys(tree).filter((path) => path !== "cgroup.controllers")
      .map((path, index) => [path, texts[index] ?? ""]);
    const files: Tree = { ...tree, ...Object.fromEntries(spoiled) };
    const reading = new CgroupReader(toFiles(files), () => 7).read([POD]);
    assert(reading.kind === "usage");
    const usage = reading.pods.get(UID);
    assertEquals(usage === undefined, reading.skipped === 1);
    for (const { cpu, workingSetBytes, usageBytes, pressure, oomKills } of usage?.points ?? []) {
      assert(cpu.kind === "counter");
      const numbers = [cpu.counterNs, workingSetBytes, usageBytes, ...Object.values(pressure ?? {}), oomKills];
      for (const number of numbers) {
        assert(number === null || number === undefined || (number >= 0 && number <= 2 ** 64), `${number}`);
      }
      assert(workingSetBytes <= (usageBytes ?? 0));
    }
  }));
});

Deno.test("a reader never throws, whatever the API server says of a pod (L61)", () => {
  const name = fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom("..", "/", "a/../b", `containerd://${ID}`, UID));
  const pod = fc.record({
    uid: name,
    namespace: fc.constant("default"),
    name: fc.constant("web-1"),
    qosClass: fc.constantFrom("Guaranteed", "Burstable", "BestEffort", null),
    containers: fc.array(fc.record({ name, instance: fc.option(name), runningAt: fc.option(fc.integer()) })),
  });
  fc.assert(fc.property(fc.constantFrom(...TREES), fc.array(pod), (tree, pods) => {
    const asked: string[] = [];
    new CgroupReader(toFiles(tree, (path) => asked.push(path)), () => 7).read(pods);
    assert(asked.every((path) => Object.hasOwn(tree, path)), asked.join());
  }));
});
