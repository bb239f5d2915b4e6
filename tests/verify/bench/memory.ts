/**
 * Resident memory of the bundled daemon a minute after it is in sync, with ten tracked pods, beside that of a Deno
 * process that does nothing, both read in one run.
 */
import { startBenchCluster } from "./cluster.ts";
import {
  bundleDaemon,
  readAddress,
  readMetrics,
  readSeries,
  startDaemon,
  startDeno,
  waitUntilReady,
} from "./daemon.ts";

const PODS = 10;
const READY_MS = 10_000;

export interface MemoryCost {
  readonly emptyMiB: number;
  readonly daemonMiB: number;
  readonly differenceMiB: number;
  readonly reads: number;
  readonly trackedPods: number;
}

export async function measureMemory(afterMs: number): Promise<MemoryCost> {
  const directory = await Deno.makeTempDir();
  try {
    const bundle = await bundleDaemon(directory);
    await Deno.writeTextFile(`${directory}/empty.js`, "setInterval(() => {}, 1000);");
    await using cluster = await startBenchCluster(PODS);
    const kubeconfig = await writeBenchKubeconfig(directory, cluster.origin);
    const daemon = startDaemon(bundle, ["--kubeconfig", kubeconfig, "--stats-source", "proxy"]);
    const empty = startDeno(["run", "--no-config", `${directory}/empty.js`]);
    try {
      const address = await readAddress(daemon.stderr);
      await waitUntilReady(address, READY_MS);
      await new Promise((resolve) => setTimeout(resolve, afterMs));
      const trackedPods = readSeries(await readMetrics(address), "podfit_tracked_pods");
      const [daemonMiB, emptyMiB] = [await readRssMiB(daemon.pid), await readRssMiB(empty.pid)];
      return { emptyMiB, daemonMiB, differenceMiB: daemonMiB - emptyMiB, reads: cluster.reads(), trackedPods };
    } finally {
      for (const child of [daemon, empty]) child.kill("SIGTERM");
      await Promise.all([daemon.status, empty.status]);
      await Promise.allSettled([daemon.stderr.cancel(), empty.stderr.cancel()]);
    }
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

/** Without a user. */
export async function writeBenchKubeconfig(directory: string, server: string): Promise<string> {
  const path = `${directory}/kubeconfig`;
  await Deno.writeTextFile(path, newKubeconfig(server));
  return path;
}

/** Of a process, in MiB. */
export async function readRssMiB(pid: number): Promise<number> {
  // Not /proc: Deno opens it to --allow-all only.
  const { stdout } = await new Deno.Command("ps", { args: ["-o", "rss=", "-p", String(pid)] }).output();
  return Number(new TextDecoder().decode(stdout)) / 1024;
}

function newKubeconfig(server: string): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "bench", cluster: { server } }],
    users: [{ name: "bench", user: {} }],
    contexts: [{ name: "bench", context: { cluster: "bench", user: "bench" } }],
    "current-context": "bench",
  });
}
