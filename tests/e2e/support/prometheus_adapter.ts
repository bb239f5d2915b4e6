/** Prometheus and prometheus-adapter next to the real cluster, for one scenario: see `tests/cluster/prometheus`. */
import { hasProgram, readKubeconfigFolder, runProgram } from "./kubectl.ts";

const SCRIPT = new URL("../../cluster/prometheus", import.meta.url).pathname;

/** Whether both programs are there, and the cluster is one that `tests/cluster/up` started. */
export async function hasPrometheusAdapter(): Promise<boolean> {
  if (Deno.env.get("E2E_ADAPTERS") !== "1") return false;
  const isOurs = await Deno.stat(`${readKubeconfigFolder()}/pki/ca.key`).then(() => true, () => false);
  return isOurs && await hasProgram("prometheus-adapter") && await hasProgram("prometheus");
}

/** Prometheus reads the series, in its text format, each second, until it is disposed of. */
export async function startPrometheusAdapter(readSeries: () => Promise<string>): Promise<AsyncDisposable> {
  const server = Deno.serve({ hostname: "0.0.0.0", port: 0, onListen() {} }, async () => {
    return new Response(await readSeries(), { headers: { "content-type": "text/plain; version=0.0.4" } });
  });
  const run = (command: "up" | "down") =>
    runProgram("env", [`PROMETHEUS_PORT=${server.addr.port}`, SCRIPT, command], { timeoutMs: 90_000 });
  const end = async () => {
    await run("down");
    await server.shutdown();
  };
  try {
    await run("up");
  } catch (error) {
    await end();
    throw error;
  }
  return { [Symbol.asyncDispose]: end };
}
