// deno-lint-ignore-file no-console
/**
 * `deno task bench:cgroup [--machine]`: what it costs to read the cgroups of 110 pods each second, by itself and in a
 * daemon that also judges each pod each second. The files are copies, in the page cache; with `--machine`, which needs
 * root, they are the kernel's own, of 110 empty cgroups. Exit code 1 when the goal is missed.
 */
import { parseArgs } from "node:util";
import { movedV1, plant, type Tree, treeV2 } from "../../support/cgroup_trees.ts";
import { mountCgroups } from "../../e2e/support/cgroup_mount.ts";
import { startBenchCluster, toInstance, toUid } from "./cluster.ts";
import {
  bundleDaemon,
  readAddress,
  readMetrics,
  readSeries,
  startDaemon,
  startDeno,
  waitUntilReady,
} from "./daemon.ts";
import { writeBenchKubeconfig } from "./memory.ts";
import { readUsage } from "./scale_usage.ts";

const PODS = 110;
const GOAL_MILLICORES = 10;
const WINDOW_MS = 60_000;
/** Until the code is compiled. */
const WARM_MS = 20_000;
const READER = "tests/verify/bench/cgroup_reader.ts";
const TREES = {
  1: (pod: string, id: string) => movedV1(pod, id),
  2: (pod: string, id: string) => treeV2(pod, id),
} as const;

async function main(): Promise<void> {
  const { values: { machine } } = parseArgs({ args: Deno.args, options: { machine: { type: "boolean" } } });
  let isMissed = false;
  for (const kind of machine === true ? ["machine" as const] : [1 as const, 2 as const]) {
    await using mount = kind === "machine" ? await makeCgroups() : await plantAll(TREES[kind]);
    const millicores = await measureSource(mount.path);
    isMissed ||= millicores >= GOAL_MILLICORES;
    const usage = await measureDaemon(mount.path);
    console.log(
      `${kind === "machine" ? "this machine" : `version ${kind}`}: ${PODS} pods, read each second\n` +
        `  the source: ${millicores.toFixed(1)} mCPU over ${WINDOW_MS / 1000} s (goal: below ${GOAL_MILLICORES})\n` +
        `  the daemon, each pod judged each second: ${usage.millicores.toFixed(1)} mCPU over ${WINDOW_MS / 1000} s, ` +
        `${usage.reads.toFixed(0)} readings, ${usage.rssMiB.toFixed(0)} MiB`,
    );
  }
  if (isMissed) Deno.exitCode = 1;
}

/** A process that reads and does nothing else. */
async function measureSource(root: string): Promise<number> {
  const reader = startDeno(["run", "-P=dev", READER, root, String(PODS)]);
  try {
    await sleep(WARM_MS);
    return await measureMillicores(reader.pid);
  } finally {
    reader.kill("SIGTERM");
    await reader.status;
    await reader.stderr.cancel();
  }
}

async function measureMillicores(pid: number): Promise<number> {
  const before = await readUsage(pid);
  await sleep(WINDOW_MS);
  const after = await readUsage(pid);
  return (after.cpuSeconds - before.cpuSeconds) / (WINDOW_MS / 1000) * 1000;
}

async function measureDaemon(root: string): Promise<{ millicores: number; rssMiB: number; reads: number }> {
  const directory = await Deno.makeTempDir();
  await using cluster = await startBenchCluster(PODS, { pollInterval: "1s" });
  const kubeconfig = await writeBenchKubeconfig(directory, cluster.origin);
  const source = ["--stats-source", "cgroup", "--node", "node1", "--cgroup-root", root];
  const daemon = startDaemon(await bundleDaemon(directory), ["--kubeconfig", kubeconfig, "--dry-run", ...source]);
  try {
    const address = await readAddress(daemon.stderr);
    await waitUntilReady(address, 10_000);
    await sleep(WARM_MS);
    const millicores = await measureMillicores(daemon.pid);
    const { rssMiB } = await readUsage(daemon.pid);
    const reads = readSeries(await readMetrics(address), "podfit_kubelet_reads_total");
    return { millicores, rssMiB, reads };
  } finally {
    daemon.kill("SIGTERM");
    await daemon.status;
    await daemon.stderr.cancel();
    await Deno.remove(directory, { recursive: true });
  }
}

async function plantAll(toTree: (pod: string, id: string) => Tree) {
  const path = await Deno.realPath(await Deno.makeTempDir({ prefix: "podfit-bench-" }));
  for (const { pod, id } of listCgroups()) await plant(path, toTree(`kubepods/${pod}`, id));
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
}

function listCgroups(): readonly { readonly pod: string; readonly id: string }[] {
  return Array.from({ length: PODS }, (_, index) => ({
    pod: `burstable/pod${toUid(index)}`,
    id: toInstance(index).slice("containerd://".length),
  }));
}

/** In each tree that the machine has, below a cgroup of their own. */
async function makeCgroups() {
  const paths = listCgroups().map(({ pod, id }) => `podfit-bench/kubepods/${pod}/${id}`);
  await shell(
    `for tree in cpu cpuacct cpu,cpuacct memory .; do cd /sys/fs/cgroup/$tree 2>/dev/null && [ -f cgroup.procs ] || continue
     while read -r path; do mkdir -p "$path"; done <<< "$PATHS"; done`,
    { PATHS: paths.join("\n") },
  );
  const mount = await mountCgroups();
  return {
    path: mount.root,
    async [Symbol.asyncDispose]() {
      await mount[Symbol.asyncDispose]();
      await shell("find /sys/fs/cgroup -depth -type d -path '*/podfit-bench*' -exec rmdir {} \\;", {});
    },
  };
}

/** Deno itself lets nobody write below /sys. */
async function shell(script: string, env: Readonly<Record<string, string>>): Promise<void> {
  const { code, stderr } = await new Deno.Command("bash", { args: ["-c", script], env: { ...env } }).output();
  if (code !== 0) throw new Error(`Cannot prepare cgroups: ${new TextDecoder().decode(stderr)}`);
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

await main();
