/**
 * The process of the hollow kubelets of a real API server: whole ones, that register their nodes, run the pods bound to
 * them in the model and write their statuses. One address, a port each.
 */
import { connect } from "../../../lib/kube/http_transport.ts";
import { systemClock } from "../../../lib/runtime/clock.ts";
import { createKubelet, type Kubelet } from "../../../lib/embedded/kubelet/kubelet.ts";
import { compressMetrics, RESOURCE_METRICS } from "../../support/embedded/resource_metrics.ts";
import { nodeConfig, type World } from "./scale_world.ts";
import { hearMessages, say } from "./scale_worker.ts";

interface Told {
  readonly world: World;
  readonly cert: string;
  readonly key: string;
  readonly kubeconfig: string;
}

const told = hearMessages();
const { world, cert, key, kubeconfig } = (await told.next()).value as Told;
await using server = await connect({ version: "bench", kubeconfigPaths: [kubeconfig] });
const ending = new AbortController();
const nodes = Array.from({ length: world.nodes }, (_, index) => {
  // Not the request itself, whose signal also aborts when all is well.
  const handle = async ({ url, method, headers }: Request) =>
    compressMetrics(await kubelet.handle(new Request(url, { method, headers })), headers);
  const http = Deno.serve({ hostname: "127.0.0.1", port: 0, cert, key, onListen() {} }, handle);
  const taints = [{ key: "podfit.dev/hollow", effect: "NoSchedule" as const }];
  const kubelet: Kubelet = createKubelet({
    server,
    clock: systemClock,
    random: Math.random,
    node: { config: nodeConfig(index), port: http.addr.port, taints },
    answers: RESOURCE_METRICS,
  });
  return { http, running: kubelet.run(ending.signal) };
});
await say("started");
// Until nobody is there.
await told.next();
ending.abort();
await Promise.all(nodes.map(({ http, running }) => Promise.all([http.shutdown(), running])));
