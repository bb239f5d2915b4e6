// deno-lint-ignore-file no-console
/**
 * `deno task bench:flags [--nodes 200] [--pods 30] [--minutes 4] [--warm-up 4]`: what each V8 flag of the image is good for,
 * and glibc's two variables. One podfit with all of them, one without each of them, and one without any run at the same
 * time, on the kubelets of the scale bench. They share the resizes. ADR 0007 says what the flags are for.
 */
import { parseArgs } from "node:util";
import {
  bundleDaemon,
  endOnSignals,
  readAddress,
  readMetrics,
  readSeries,
  startDaemon,
  V8_FLAGS,
  waitUntilReady,
} from "./daemon.ts";
import { startEmbeddedCluster } from "./scale_run.ts";
import { type ProcessUsage, readUsage } from "./scale_usage.ts";
import { newWorld } from "./scale_world.ts";

const SYNC_MS = 180_000;
const SAMPLE_MS = 5_000;

const { values } = parseArgs({
  args: Deno.args,
  options: {
    nodes: { type: "string", default: "200" },
    pods: { type: "string", default: "30" },
    minutes: { type: "string", default: "4" },
    "warm-up": { type: "string", default: "4" },
  },
});

/** How one podfit is started. */
interface Variant {
  readonly name: string;
  readonly flags: readonly string[];
  readonly hasVariables: boolean;
}

const PREFIX = "--v8-flags=";
const flags = V8_FLAGS.join("").replace(PREFIX, "").split(",");
if (flags.length < 2) throw new Error(`Cannot compare: deno task start has the V8 flags "${V8_FLAGS.join(" ")}"`);
const variants: readonly Variant[] = [
  { name: "all", flags, hasVariables: true },
  ...flags.map((flag) => ({
    name: `without \`${flag}\``,
    flags: flags.filter((one) => one !== flag),
    hasVariables: true,
  })),
  { name: "without `MALLOC_MMAP_THRESHOLD_` and `MALLOC_TRIM_THRESHOLD_`", flags, hasVariables: false },
  { name: "none", flags: [], hasVariables: false },
];

await using stack = new AsyncDisposableStack();
endOnSignals(stack);
const directory = await Deno.makeTempDir();
stack.defer(() => Deno.remove(directory, { recursive: true }));
const bundle = await bundleDaemon(directory);
const world = newWorld({ nodes: Number(values.nodes), podsPerNode: Number(values.pods) });
const { path } = await startEmbeddedCluster(world, { directory, stack });

const daemons: { readonly variant: Variant; readonly pid: number; readonly address: string }[] = [];
for (const variant of variants) {
  const child = startDaemon(
    bundle,
    ["--kubeconfig", path],
    variant.hasVariables ? {} : { MALLOC_MMAP_THRESHOLD_: null, MALLOC_TRIM_THRESHOLD_: null },
    variant.flags.length > 0 ? [`${PREFIX}${variant.flags.join(",")}`] : [],
  );
  let drained = Promise.resolve();
  stack.defer(async () => {
    child.kill("SIGTERM");
    await Promise.all([child.status, drained]);
  });
  const address = await readAddress(child.stderr);
  drained = child.stderr.pipeTo(new WritableStream());
  await waitUntilReady(address, SYNC_MS);
  daemons.push({ variant, pid: child.pid, address });
}

await new Promise((resolve) => setTimeout(resolve, Number(values["warm-up"]) * 60_000));
const looks: { readonly atMs: number; readonly usage: readonly ProcessUsage[] }[] = [];
let longestMs = daemons.map(() => 0);
for (const endsAt = performance.now() + Number(values.minutes) * 60_000; performance.now() < endsAt;) {
  looks.push({ atMs: performance.now(), usage: await Promise.all(daemons.map(({ pid }) => readUsage(pid))) });
  await new Promise((resolve) => setTimeout(resolve, SAMPLE_MS));
  const pages = await Promise.all(daemons.map(({ address }) => readMetrics(address)));
  longestMs = pages.map((page, at) =>
    Math.max(longestMs[at] ?? 0, readSeries(page, "podfit_loop_block_seconds") * 1000)
  );
}
const reads = await Promise.all(
  daemons.map(async ({ address }) => readSeries(await readMetrics(address), "podfit_kubelet_reads_total")),
);
if (Math.min(...reads) < 0.9 * Math.max(...reads)) throw new Error(`Cannot compare: ${reads.join(", ")} reads`);

const minutes = ((looks.at(-1)?.atMs ?? NaN) - (looks[0]?.atMs ?? NaN)) / 60_000;
console.log(`${world.nodes} nodes, ${world.podsPerNode} pods each, ${daemons.length} podfits at the same time:\n`);
console.log("| V8 flags | CPU s/min | memory MiB | peak MiB | longest block, ms |\n|---|---|---|---|---|");
for (const [at, { variant: { name } }] of daemons.entries()) {
  const seen = looks.flatMap(({ usage }) => usage[at] ?? []);
  const [first, last] = [seen[0], seen.at(-1)];
  const cpu = ((last?.cpuSeconds ?? NaN) - (first?.cpuSeconds ?? NaN)) / minutes;
  const memory = seen.reduce((sum, { rssMiB }) => sum + rssMiB, 0) / seen.length;
  console.log(
    `| ${name} | ${cpu.toFixed(2)} | ${memory.toFixed(0)} | ${last?.peakMiB.toFixed(0)} | ${
      longestMs[at]?.toFixed(0)
    } |`,
  );
}
