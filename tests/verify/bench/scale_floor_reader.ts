/**
 * Reads the summaries of the bench's hollow kubelets each 15 s and does nothing else, until it is killed:
 * `scale_floor_reader.ts bytes|rows KUBECONFIG PORTS`. `bytes`: a plain program receives them over kept TLS
 * connections. `rows`: podfit's own source fetches and scans them.
 */
import { connect } from "../../../lib/kube/http_transport.ts";
import { systemClock } from "../../../lib/runtime/clock.ts";
import { openDirectSource } from "../../../lib/usage/kubelet/fetch_summary.ts";
import { watchKubelets } from "../../../lib/usage/kubelet/watch.ts";
import { POLL_MS } from "./scale_world.ts";

const [mode = "", kubeconfig = "", list = ""] = Deno.args;
const ports = list.split(",").map(Number);
await using server = await connect({ version: "bench", kubeconfigPaths: [kubeconfig] });
await Promise.all(mode === "rows" ? readRows() : ports.map((port, index) => readBytes(port, index)));

function readRows(): Promise<void>[] {
  const source = openDirectSource(server, { clock: systemClock });
  const watchUsage = watchKubelets(source, { clock: systemClock, random: Math.random });
  return ports.map(async (port) => {
    const addresses = [{ type: "InternalIP", address: "127.0.0.1" }];
    const node = { name: `node-${port}`, getAddress: () => ({ addresses, port, maxPods: 110 }) };
    const { signal } = new AbortController();
    const options = { interval: () => POLL_MS, isTracked: () => true, pods: () => [], signal };
    for await (const reading of watchUsage(node, options)) {
      if (reading.kind === "failed") throw new Error(reading.message);
      if (reading.rows === undefined) throw new Error("The scanner gave up");
      reading.pods.clear();
    }
  });
}

/** In the groups of podfit's own polls, one after the other with pauses. */
async function readBytes(port: number, index: number): Promise<void> {
  const { authorization } = await server.getCredential(null);
  const token = authorization?.kind === "bearer" ? authorization.token : "";
  const question = new TextEncoder().encode(
    "GET /stats/summary?only_cpu_and_memory=true HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: application/json\r\n" +
      `authorization: Bearer ${token}\r\n\r\n`,
  );
  await systemClock.sleep((Math.floor(index / 16) * 62.5) % POLL_MS);
  const options = { hostname: "127.0.0.1", port, caCerts: [...server.caCerts], alpnProtocols: ["http/1.1"] };
  using connection = await Deno.connectTls(options);
  const memory = new Uint8Array(256 * 1024);
  for (let dueMs = systemClock.monotonic();; dueMs += POLL_MS) {
    await connection.write(question);
    for (let length = 0; !isWhole(memory.subarray(0, length));) {
      const received = await connection.read(memory.subarray(length));
      if (received === null || length + received === memory.length) throw new Error("The answer was cut off");
      length += received;
    }
    await systemClock.sleep(Math.max(0, dueMs + POLL_MS - systemClock.monotonic()));
  }
}

function isWhole(answer: Uint8Array): boolean {
  if (answer.length < 500) return false;
  const head = new TextDecoder().decode(answer.subarray(0, 500));
  const length = /content-length: (\d+)/i.exec(head)?.[1];
  if (length !== undefined) return answer.length >= head.indexOf("\r\n\r\n") + 4 + Number(length);
  return new TextDecoder().decode(answer.subarray(-5)) === "0\r\n\r\n";
}
