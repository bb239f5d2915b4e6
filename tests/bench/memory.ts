/**
 * Resident memory of the bundled daemon a minute after it is in sync, with ten tracked pods, beside that of a Deno
 * process that does nothing, both read in one run.
 */
import { startBenchCluster } from "./cluster.ts";

const PODS = 10;
const ROOT = new URL("../../", import.meta.url).pathname;

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
    const bundle = `${directory}/podfit.js`;
    await run(["bundle", "--quiet", "--platform", "browser", "--minify", "--output", bundle, "main.ts"]);
    await Deno.writeTextFile(`${directory}/empty.js`, "setInterval(() => {}, 1000);");
    await using cluster = await startBenchCluster(PODS);
    const kubeconfig = `${directory}/kubeconfig`;
    await Deno.writeTextFile(kubeconfig, newKubeconfig(cluster.origin));
    const daemon = start([
      ...["run", "-P=daemon", "--config", `${ROOT}deno.json`, bundle],
      ...["--kubeconfig", kubeconfig, "--stats-source", "proxy", "--listen", "127.0.0.1:0"],
    ]);
    const empty = start(["run", "--no-config", `${directory}/empty.js`]);
    try {
      const address = await readAddress(daemon.stderr);
      await waitUntilReady(address);
      await new Promise((resolve) => setTimeout(resolve, afterMs));
      const trackedPods = await readTracked(address);
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

async function run(args: readonly string[]): Promise<void> {
  const { code, stderr } = await new Deno.Command(Deno.execPath(), { args: [...args], cwd: ROOT }).output();
  if (code !== 0) throw new Error(`Cannot run "deno ${args[0]}": ${new TextDecoder().decode(stderr)}`);
}

function start(args: readonly string[]): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: [...args],
    cwd: ROOT,
    env: { PRA_ENABLED: "true" },
    stdout: "null",
    stderr: "piped",
  }).spawn();
}

async function readAddress(stderr: ReadableStream<Uint8Array>): Promise<string> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of stderr.values({ preventCancel: true })) {
    text += decoder.decode(chunk, { stream: true });
    const address = /"address":"([^"]+)"/.exec(text)?.[1];
    if (address !== undefined) return address;
  }
  throw new Error(`Cannot start podfit: ${text}`);
}

async function waitUntilReady(address: string): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    const response = await fetch(`http://${address}/readyz`);
    await response.body?.cancel();
    if (response.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("podfit did not become ready");
}

async function readTracked(address: string): Promise<number> {
  const text = await (await fetch(`http://${address}/metrics`)).text();
  return Number(/^podfit_tracked_pods (\d+)$/m.exec(text)?.[1]);
}

async function readRssMiB(pid: number): Promise<number> {
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
