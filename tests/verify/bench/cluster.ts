/**
 * The least that a daemon needs to run: an API server of ten pods that answers lists, holds watches open and serves a
 * summary through the node proxy. It imitates no behaviour; for figures of the daemon's own process only.
 */
import { writeSummary } from "./summary.ts";

export interface BenchCluster extends AsyncDisposable {
  readonly origin: string;
  /** Summaries read so far. */
  readonly reads: () => number;
}

const POLICY = {
  consecutiveSamples: 3,
  cooldown: "2m",
  cpu: { requests: { scaleUpThreshold: 80, scaleDownThreshold: 20, targetUtilization: 60 } },
};

export async function startBenchCluster(pods: number, { pollInterval = "5s" } = {}): Promise<BenchCluster> {
  const template = JSON.parse(await Deno.readTextFile(new URL("../../testdata/pods/fresh.json", import.meta.url)));
  const container: string = template.spec.containers[0].name;
  const lists: Record<string, readonly unknown[]> = {
    pods: Array.from({ length: pods }, (_, index) => newPod(template, index)),
    nodes: [{ metadata: { name: "node1", uid: "node1" }, status: { capacity: { cpu: "8", memory: "32Gi" } } }],
    podresourceautoscalers: [{
      metadata: { name: "all", namespace: "bench", uid: "all", generation: 1 },
      spec: {
        selector: { matchLabels: { bench: "yes" } },
        containerName: container,
        policy: { ...POLICY, pollInterval },
      },
    }],
  };
  let reads = 0;
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname.endsWith("/proxy/stats/summary")) {
      reads++;
      return new Response(writeSummary({ pods, container, round: reads, at: Date.now() }));
    }
    if (request.method !== "GET") return Response.json({ metadata: {} });
    if (searchParams.has("watch")) return new Response(holdOpen());
    const items = lists[pathname.split("/").at(-1) ?? ""] ?? [];
    return Response.json({ kind: "List", apiVersion: "v1", metadata: { resourceVersion: "1" }, items });
  });
  return {
    origin: `http://127.0.0.1:${server.addr.port}`,
    reads: () => reads,
    async [Symbol.asyncDispose]() {
      await server.shutdown();
    },
  };
}

function newPod(template: Readonly<Record<string, Readonly<Record<string, unknown>>>>, index: number): unknown {
  const metadata = {
    ...template["metadata"],
    name: `pod-${index}`,
    namespace: "bench",
    uid: toUid(index),
    labels: { bench: "yes" },
  };
  const { containerStatuses, ...status } = template["status"] ?? {};
  return {
    ...template,
    metadata,
    spec: { ...template["spec"], nodeName: "node1" },
    status: {
      ...status,
      qosClass: "Burstable",
      containerStatuses: (containerStatuses as readonly object[]).map((one) => ({
        ...one,
        containerID: toInstance(index),
      })),
    },
  };
}

/** containerID of the pod's container. */
export function toInstance(index: number): string {
  return `containerd://${String(index).padStart(64, "0")}`;
}

export function toUid(index: number): string {
  return `274067a2-453d-46ad-a8ad-${String(index).padStart(12, "0")}`;
}

/** A watch on which nothing happens; it ends when its reader goes. */
function holdOpen(): ReadableStream<Uint8Array> {
  return new ReadableStream();
}
