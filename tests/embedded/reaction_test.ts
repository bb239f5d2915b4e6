/** How soon does a step of load fit, by the cgroups of the node, at whatever moment between two readings it comes (L62)? */
import { assert, assertEquals } from "#assert";
import { autoscaler, deployment } from "../e2e/support/workloads.ts";
import { ClusterRun } from "../support/cluster_run.ts";

const POLICY = {
  pollInterval: "1s",
  consecutiveSamples: 2,
  cooldown: "5s",
  delay: "0s",
  cpu: { requests: { scaleUpThreshold: 90, scaleDownThreshold: 50, targetUtilization: 80 } },
};
const FITS_MS = 3_000;

for (const version of [1, 2] as const) {
  Deno.test(`50m to 600m fits within 3 s and in one resize by cgroups of version ${version}, whenever it comes (L62)`, async () => {
    await using run = await ClusterRun.start();
    const target = { kind: "deployment", name: "web" };
    await run.create(
      deployment("web", { containers: [{ cpuMillicores: 50, requests: { cpu: "63m" } }] }),
      autoscaler("web", { target, containerName: "main", policy: POLICY }),
    );
    await run.advance(20);
    const [pod] = await run.list("pods");
    const { name } = pod.metadata;
    await using podfit = run.startPodfitOn(pod.spec.nodeName, { version, driver: "systemd" });
    await run.advance(10);
    const readRequest = async () => {
      const { status } = await run.get(`pods/${name}`);
      const text: string = status.containerStatuses[0].resources.requests.cpu;
      return text.endsWith("m") ? Number.parseInt(text) : 1000 * Number(text);
    };
    for (let phase = 0; phase < 10; phase++) {
      const before = podfit.lines("Resized pod").length;
      run.cluster.setLoad({ namespace: "default", name, port: 8080 }, { cpuMillicores: 600 });
      let tookMs = 0;
      for (; tookMs < 20_000 && await readRequest() < 540; tookMs += 50) await run.advance(0.05);
      assert(tookMs <= FITS_MS, `phase ${phase}: ${tookMs} ms`);
      await run.advance(15);
      assertEquals(podfit.lines("Resized pod").length - before, 1, `resizes at phase ${phase}`);
      run.cluster.setLoad({ namespace: "default", name, port: 8080 }, { cpuMillicores: 50 });
      await run.advance(15.1);
      assert(await readRequest() <= 100);
    }
    assertEquals(run.errors, []);
  });
}
