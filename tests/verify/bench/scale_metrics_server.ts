/**
 * metrics-server beside podfit: the real program (tests/cluster/build metrics-server), pointed at the same API server
 * and kubelets, at the same interval as podfit's polls.
 */
import { POLL_MS } from "./scale_world.ts";

export interface MetricsServerOptions {
  readonly program: string;
  readonly kubeconfig: string;
  /** Its certificate goes there. */
  readonly directory: string;
  readonly token: string;
}

export interface MetricsServer extends AsyncDisposable {
  readonly pid: number;
  /** Those that it can tell the usage of. */
  readonly countPods: () => Promise<number>;
}

const READY_MS = 120_000;

/** Returns once it is ready: it has read the nodes once. */
export async function startMetricsServer(options: MetricsServerOptions): Promise<MetricsServer> {
  const { program, kubeconfig, directory, token } = options;
  const port = findPort();
  const log = `${directory}/metrics-server.log`;
  const child = new Deno.Command("sh", {
    // Its log is for whoever has to find out why it did not start; as a pipe it would have to be read.
    // At idle priority, as podfit would not share a machine with it; the CPU time that it takes is the same. It ends with
    // this process, however that ends.
    args: [
      "-c",
      'log=$1; shift; exec setpriv --pdeathsig TERM chrt --idle 0 "$@" 2>"$log"',
      "sh",
      log,
      program,
      `--kubeconfig=${kubeconfig}`,
      "--kubelet-insecure-tls",
      "--kubelet-use-node-status-port",
      "--kubelet-preferred-address-types=InternalIP",
      `--metric-resolution=${POLL_MS / 1000}s`,
      `--authentication-kubeconfig=${kubeconfig}`,
      `--authorization-kubeconfig=${kubeconfig}`,
      "--authentication-skip-lookup",
      `--cert-dir=${directory}`,
      "--bind-address=127.0.0.1",
      `--secure-port=${port}`,
    ],
    stdout: "null",
    stderr: "null",
  }).spawn();
  const origin = `https://127.0.0.1:${port}`;
  const dispose = async () => {
    try {
      child.kill("SIGTERM");
    } catch {
      // It has ended already.
    }
    await child.status;
  };
  try {
    await waitUntilReady(origin, token);
  } catch (error) {
    await dispose();
    const said = (await Deno.readTextFile(log).catch(() => "")).split("\n").slice(-12).join("\n");
    throw new Error(`Cannot start "${program}": it is not ready after ${READY_MS / 1000} s\n${said}`, { cause: error });
  }
  return {
    pid: child.pid,
    async countPods() {
      const { items } = JSON.parse(await ask(`${origin}/apis/metrics.k8s.io/v1beta1/pods`, token));
      return items.length;
    },
    [Symbol.asyncDispose]: dispose,
  };
}

function findPort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

async function waitUntilReady(origin: string, token: string): Promise<void> {
  for (const endsAt = performance.now() + READY_MS;;) {
    try {
      await ask(`${origin}/readyz`, token);
      return;
    } catch (error) {
      if (performance.now() > endsAt) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

/** By curl, which takes the certificate that it made for itself. */
async function ask(url: string, token: string): Promise<string> {
  const args = ["--silent", "--fail", "--insecure", "--max-time", "30", "--header", `Authorization: Bearer ${token}`];
  const { code, stdout } = await new Deno.Command("curl", { args: [...args, url] }).output();
  if (code !== 0) throw new Error(`Cannot read "${url}": curl ended with ${code}`);
  return new TextDecoder().decode(stdout);
}
