// deno-lint-ignore-file no-console
/**
 * `deno task bench:scale [--nodes 10,100,1000] [--pods 30] [--minutes 5] [--warm-up 3] [--metrics-server PATH]
 * [--scaled-objects 0]`: what podfit costs as a cluster grows, beside metrics-server on the same nodes. So many ScaledObjects share
 * the pods of each size. `--warm-up`: the minutes before, which are reported apart. With `--real KUBECONFIG` the nodes are registered with that API
 * server, 100 of them with 20 pods each unless told otherwise. Exit code 1 when a goal is missed.
 */
import { parseArgs } from "node:util";
import { measureSize } from "./scale_run.ts";
import { type SizeResult, writeReport } from "./scale_table.ts";

const { values } = parseArgs({
  args: Deno.args,
  options: {
    nodes: { type: "string" },
    pods: { type: "string" },
    minutes: { type: "string", default: "5" },
    "warm-up": { type: "string", default: "3" },
    "metrics-server": { type: "string" },
    "scaled-objects": { type: "string", default: "0" },
    real: { type: "string" },
  },
});
const { real: kubeconfig = null } = values;
const { nodes = kubeconfig === null ? "10,100,1000" : "100", pods = kubeconfig === null ? "30" : "20" } = values;
const sizes = nodes.split(",").map((text) => toNumber("--nodes", text)).sort((a, b) => a - b);
const podsPerNode = toNumber("--pods", pods);
const scaledObjects = values["scaled-objects"] === "0" ? 0 : toNumber("--scaled-objects", values["scaled-objects"]);
const windowMs = toNumber("--minutes", values.minutes) * 60_000;
const warmUpMs = toNumber("--warm-up", values["warm-up"]) * 60_000;
const metricsServer = values["metrics-server"] ?? await findMetricsServer();

const results: SizeResult[] = [];
for (const nodes of sizes) {
  const say = (text: string) => console.error(text);
  results.push(
    await measureSize({ nodes, podsPerNode, scaledObjects, warmUpMs, windowMs, metricsServer, kubeconfig, say }),
  );
}
const { text, missed } = writeReport(results);
console.log(`${kubeconfig === null ? "Embedded" : "Real"} API server, ${podsPerNode} pods a node:\n\n${text}`);
for (const goal of missed) console.error(`Missed: ${goal}`);
if (missed.length > 0) Deno.exitCode = 1;

function toNumber(name: string, text: string): number {
  const value = Number(text);
  if (!(value > 0) || (!/minutes|warm-up/.test(name) && !Number.isInteger(value))) {
    throw new Error(`Cannot read ${name} "${text}": it is no number above zero`);
  }
  return value;
}

/** Where tests/cluster/build puts it. */
async function findMetricsServer(): Promise<string | null> {
  const cache = Deno.env.get("XDG_CACHE_HOME") ?? `${Deno.env.get("HOME")}/.cache`;
  const path = `${Deno.env.get("CLUSTER_HOME") ?? `${cache}/podfit-cluster`}/bin/metrics-server`;
  const found = await Deno.stat(path).then(() => true, () => false);
  return found ? path : null;
}
