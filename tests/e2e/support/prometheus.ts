/** A real Prometheus on loopback, which reads one page each second; the program is Debian's. */

const START_MS = 30_000;

export interface PrometheusServer extends AsyncDisposable {
  /** `http://127.0.0.1:PORT` */
  readonly origin: string;
}

/** Whether the program is there. */
export function hasPrometheus(): boolean {
  try {
    return new Deno.Command("prometheus", { args: ["--version"], stdout: "null", stderr: "null" }).outputSync().success;
  } catch {
    return false;
  }
}

/** Resolves when it is ready. `target` is `http://HOST:PORT` with a page at /metrics. */
export async function startPrometheus(target: string): Promise<PrometheusServer> {
  const folder = await Deno.makeTempDir({ prefix: "podfit-prometheus-" });
  const job = { job_name: "test", static_configs: [{ targets: [new URL(target).host] }] };
  const config = { global: { scrape_interval: "1s", scrape_timeout: "1s" }, scrape_configs: [job] };
  await Deno.writeTextFile(`${folder}/prometheus.yml`, JSON.stringify(config));
  const port = findFreePort();
  const child = new Deno.Command("prometheus", {
    args: [
      `--config.file=${folder}/prometheus.yml`,
      `--storage.tsdb.path=${folder}/data`,
      `--web.listen-address=127.0.0.1:${port}`,
      "--log.level=error",
    ],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  const server: PrometheusServer = {
    origin: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await child.status;
      await Deno.remove(folder, { recursive: true });
    },
  };
  try {
    await untilReady(server.origin);
    return server;
  } catch (error) {
    await server[Symbol.asyncDispose]();
    throw error;
  }
}

function findFreePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

async function untilReady(origin: string): Promise<void> {
  const late = AbortSignal.timeout(START_MS);
  for (;;) {
    const answer = await fetch(`${origin}/-/ready`, { signal: late }).catch(() => null);
    await answer?.body?.cancel();
    if (answer?.ok) return;
    late.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
