/** Reads the cgroups of the bench's pods each second, until it is killed: `cgroup_reader.ts DIRECTORY PODS`. */
import { openCgroupFiles } from "../../../lib/usage/cgroup/files.ts";
import { CgroupReader } from "../../../lib/usage/cgroup/watch.ts";
import { toInstance, toUid } from "./cluster.ts";

const [root = "", count = "0"] = Deno.args;
const reader = new CgroupReader(openCgroupFiles(root), Date.now);
const pods = Array.from({ length: Number(count) }, (_, index) => ({
  uid: toUid(index),
  namespace: "default",
  name: `pod-${index}`,
  qosClass: "Burstable" as const,
  containers: [{ name: "main", instance: toInstance(index), runningAt: 1 }],
}));
for (;;) {
  const reading = reader.read(pods);
  if (reading.kind === "failed" || reading.pods.size < pods.length) throw new Error("Cannot read all pods");
  await new Promise((resolve) => setTimeout(resolve, 1000));
}
