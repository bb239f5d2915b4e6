// deno-lint-ignore-file no-console
/**
 * What one read of a kubelet costs, until its bytes can be parsed: by podfit's own connections and by fetch, in turns in
 * one process. The kubelets are a process of their own: this file, run as a program. They send chunks of 4 KiB, as
 * net/http of Go does.
 */
import { Buffer } from "node:buffer";
import { createServer } from "node:tls";
import process from "node:process";
import { createTlsClient } from "../../../lib/kube/https.ts";
import { systemClock } from "../../../lib/runtime/clock.ts";
import { openDirectSource, type SummarySource } from "../../../lib/usage/kubelet/fetch_summary.ts";
import { apiServer, nodeAt } from "../../support/kubelet_source.ts";
import { readTls } from "../../support/tls.ts";
import { writeSummary } from "./summary.ts";

/** As many nodes are polled at a time. */
const KUBELETS = 16;
const PODS = 30;
const CHUNK_BYTES = 4096;
const ROUNDS = 8;
const CRLF = Buffer.from("\r\n");

export interface ReadCost {
  readonly bytes: number;
  /** CPU of the process with all its threads, microseconds a read. */
  readonly fetchUs: number;
  readonly ownUs: number;
  /** Median of the rounds. */
  readonly ratio: number;
}

/** Measures so many reads of each kind in each round. The first round warms up. */
export async function measureReads(reads: number): Promise<ReadCost> {
  await using kubelets = await startKubelets();
  const caCerts = [readTls("ca.crt")];
  const server = { ...apiServer(), caCerts };
  using own = openDirectSource(server, { clock: systemClock });
  const client = createTlsClient({ caCerts, certificate: null });
  const send = (url: string, init: RequestInit) => fetch(url, { ...init, redirect: "manual", client });
  using fetched = openDirectSource(server, {
    clock: systemClock,
    client: {
      send: (url, { headers, signal }) => send(url, { headers, signal }),
      [Symbol.dispose]: () => client.close(),
    },
  });
  const rounds: { readonly fetchUs: number; readonly ownUs: number; readonly ratio: number }[] = [];
  let bytes = 0;
  for (let round = 0; round <= ROUNDS; round++) {
    const one = { fetchUs: 0, ownUs: 0 };
    for (const [key, source] of [["fetchUs", fetched], ["ownUs", own]] as const) {
      const before = process.cpuUsage();
      bytes = await readAll(source, kubelets.ports, reads);
      const { user, system } = process.cpuUsage(before);
      one[key] = (user + system) / reads;
    }
    if (round > 0) rounds.push({ ...one, ratio: one.ownUs / one.fetchUs });
  }
  const median = (key: "fetchUs" | "ownUs" | "ratio") =>
    rounds.map((round) => round[key]).sort((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? NaN;
  return { bytes, fetchUs: median("fetchUs"), ownUs: median("ownUs"), ratio: median("ratio") };
}

/** Reads all kubelets at once, again and again, and returns the size of a summary. */
async function readAll({ fetchSummary }: SummarySource, ports: readonly number[], reads: number): Promise<number> {
  const { signal } = new AbortController();
  let bytes = 0;
  for (let done = 0; done < reads; done += ports.length) {
    await Promise.all(ports.map(async (port) => {
      const answer = await fetchSummary(nodeAt("127.0.0.1", port), signal);
      if (answer.kind === "failed") throw new Error(answer.message);
      bytes = answer.bytes.length;
      answer.release?.();
    }));
  }
  return bytes;
}

async function startKubelets() {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "-P=dev", new URL(import.meta.url).pathname],
    stdout: "piped",
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes("\n")) {
    const { done, value } = await reader.read();
    if (done) throw new Error("The kubelets have ended");
    text += value;
  }
  const ports: readonly number[] = JSON.parse(text);
  return {
    ports,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await child.status;
      await reader.cancel();
    },
  };
}

async function serveKubelets(): Promise<readonly number[]> {
  const body = new TextEncoder().encode(writeSummary({ pods: PODS, container: "app", round: 1, at: Date.now() }));
  const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDate: Fri, 27 Nov 2026 22:00:00 GMT\r\n" +
    "Transfer-Encoding: chunked\r\n\r\n";
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < body.length; at += CHUNK_BYTES) {
    const chunk = body.subarray(at, at + CHUNK_BYTES);
    pieces.push(Buffer.concat([Buffer.from(`${at === 0 ? head : ""}${chunk.length.toString(16)}\r\n`), chunk, CRLF]));
  }
  pieces.push(Buffer.from("0\r\n\r\n"));
  const pem = { cert: readTls("server.crt"), key: readTls("server.key") };
  return await Promise.all(Array.from({ length: KUBELETS }, () => {
    const server = createServer(pem, (socket) => {
      socket.setNoDelay(true);
      socket.on("error", () => {});
      // A request comes in one piece.
      socket.on("data", () => pieces.forEach((piece) => socket.write(piece)));
    });
    return new Promise<number>((resolve) => {
      server.listen(0, "127.0.0.1", () => {
        const address = server.address();
        resolve(typeof address === "object" && address !== null ? address.port : 0);
      });
    });
  }));
}

if (import.meta.main) console.log(JSON.stringify(await serveKubelets()));
