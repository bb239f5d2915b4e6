// deno-lint-ignore-file no-console
/**
 * `deno task bench:scale-floor [--nodes 1000] [--pods 30] [--minutes 3]`: what it costs to read the kubelets of the scale
 * bench and to judge nothing. Two programs read them at the same time, after a minute: one that only receives the
 * bytes, and podfit's own source of usage. So it is known how much of podfit's CPU no change of podfit can save.
 */
import { parseArgs } from "node:util";
import { endOnSignals, startDeno, V8_FLAGS } from "./daemon.ts";
import { startEmbeddedCluster } from "./scale_run.ts";
import { readUsage } from "./scale_usage.ts";
import { newWorld } from "./scale_world.ts";

const WARM_UP_MS = 60_000;

const { values } = parseArgs({
  args: Deno.args,
  options: {
    nodes: { type: "string", default: "1000" },
    pods: { type: "string", default: "30" },
    minutes: { type: "string", default: "3" },
  },
});
const world = newWorld({ nodes: Number(values.nodes), podsPerNode: Number(values.pods) });
await using stack = new AsyncDisposableStack();
endOnSignals(stack);
const directory = await Deno.makeTempDir();
stack.defer(() => Deno.remove(directory, { recursive: true }));
const { path, ports } = await startEmbeddedCluster(world, { directory, stack });

const reader = new URL("scale_floor_reader.ts", import.meta.url).pathname;
const readers = ["bytes", "rows"].map((mode) => {
  const args = ["run", "--quiet", ...V8_FLAGS, "-P=dev", reader, mode, path, ports.join(",")];
  const child = startDeno(args);
  let complaint = "";
  const drained = child.stderr.pipeThrough(new TextDecoderStream())
    .pipeTo(new WritableStream({ write: (text) => void (complaint += text) }));
  stack.defer(async () => {
    child.kill("SIGTERM");
    await Promise.all([child.status, drained]);
  });
  return { mode, pid: child.pid, getComplaint: () => complaint };
});
await new Promise((resolve) => setTimeout(resolve, WARM_UP_MS));
const before = await Promise.all(readers.map(({ pid }) => readUsage(pid)));
await new Promise((resolve) => setTimeout(resolve, Number(values.minutes) * 60_000));
const after = await Promise.all(readers.map(({ pid }) => readUsage(pid)));
console.log(`${world.nodes} nodes, ${world.podsPerNode} pods each, read every 15 s:\n`);
console.log("| what | CPU s/min | memory MiB |\n|---|---|---|");
for (const [index, { mode, getComplaint }] of readers.entries()) {
  if (/error/i.test(getComplaint())) throw new Error(`Cannot use this run: ${getComplaint()}`);
  const seconds = (after[index]?.cpuSeconds ?? NaN) - (before[index]?.cpuSeconds ?? NaN);
  const what = mode === "bytes" ? "receive the bytes over TLS" : "fetch and scan them as podfit does";
  console.log(`| ${what} | ${(seconds / Number(values.minutes)).toFixed(2)} | ${after[index]?.rssMiB.toFixed(0)} |`);
}
