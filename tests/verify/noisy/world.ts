/**
 * The cluster of `deno task noisy`: an API server, kubelets and a server of metrics that listen on 127.0.0.1, and honest
 * workloads. All of it is one process, next to that of podfit.
 */
import { systemClock } from "../../../lib/runtime/clock.ts";
import { createAuthority } from "../../support/embedded/certificates.ts";
import { serve, toKubeconfig } from "../../support/embedded/serve.ts";
import { PlainCluster } from "../chaos/plain_cluster.ts";
import { defineKeda, enactScales, putDeployment, putScaledObject, toTrigger } from "../chaos/plain_scaled.ts";
import { RawKubelet } from "../chaos/raw_kubelet.ts";
import { Meter } from "./meter.ts";
import { serveMetrics } from "./metrics_server.ts";

/** The tenant that harms others. */
export const HOSTILE = "hostile";
/** podfit's own namespace. */
export const PODFIT = "podfit";
export const NODES = 50;
export const LEASE = { namespace: PODFIT, name: "podfit" };

/** Millicores; at a target of 60 % their requests are 100m and 400m. */
export const [LOW, HIGH] = [60, 240];
/** Of a metric whose target is 10. */
const [FEW, MANY] = [10, 40];
const PER_NAMESPACE = 50;
/** One workload of ten also has a ScaledObject. */
const SCALED_EACH = 10;
const TICK_MS = 250;

/** What it is made of. */
export interface NoisyWorldOptions {
  readonly workloads: number;
}

/** A cluster that listens. Disposal closes it. */
export interface NoisyWorld extends AsyncDisposable {
  readonly cluster: PlainCluster;
  readonly meter: Meter;
  /** Path of a file for KUBECONFIG. */
  readonly kubeconfig: string;
  readonly workloads: number;
  /** Where metrics are: /tarpit, /large and /secret for the hostile. */
  readonly metricsOrigin: string;
  /** Sets millicores of each hostile pod. */
  readonly setHostileLoad: (millicores: number) => void;
  /** How often a credential came to the hostile server. */
  readonly countLeaks: () => number;
  /** The load of the next sized workload steps, unless podfit has not reacted to its last step. */
  readonly stepLoad: () => void;
  /** The same for the metric of the next scaled workload. */
  readonly stepMetric: () => void;
}

/** Creates the honest workloads: each has a pod and an autoscaler, and some have a ScaledObject too. */
export async function openNoisyWorld({ workloads }: NoisyWorldOptions): Promise<NoisyWorld> {
  await using opening = new AsyncDisposableStack();
  const loads = new Map<string, number>();
  const values = new Map<string, number>();
  let hostileLoad = LOW;
  const cluster = await PlainCluster.open({
    clock: systemClock,
    random: Math.random,
    load: (pod) => pod.startsWith(HOSTILE) ? hostileLoad : loads.get(pod) ?? LOW,
  });
  const metrics = opening.use(serveMetrics((name) => values.get(name) ?? FEW));
  await fill(cluster, { workloads, metricsOrigin: metrics.origin });

  const meter = new Meter(systemClock);
  opening.defer(meter.watch(cluster));
  const authority = await createAuthority("noisy");
  for (let node = 0; node < NODES; node++) {
    const name = `node-${node}`;
    const kubelet = opening.use(await RawKubelet.listen(authority, () => cluster.readSummary(name)));
    cluster.addNode({ name, host: "127.0.0.1", port: kubelet.port });
  }
  const served = opening.use(await serve(meter.through(cluster.api.handle), { authority }));
  const kubeconfig = await Deno.makeTempFile({ suffix: ".kubeconfig" });
  opening.defer(() => Deno.remove(kubeconfig));
  await Deno.writeTextFile(kubeconfig, toKubeconfig(served));
  const enacting = setInterval(() => {
    cluster.enact();
    enactScales(cluster);
  }, TICK_MS);
  opening.defer(() => clearInterval(enacting));

  const steps = { load: 0, metric: 0 };
  const stack = opening.move();
  return {
    cluster,
    meter,
    kubeconfig,
    workloads,
    metricsOrigin: metrics.origin,
    setHostileLoad: (millicores) => hostileLoad = millicores,
    countLeaks: metrics.countLeaks,
    stepLoad() {
      // Those that have a ScaledObject keep their load, so that one workload shows one reaction.
      const sized = workloads - Math.ceil(workloads / SCALED_EACH);
      const index = steps.load++ % sized;
      const pod = toName(index + 1 + Math.floor(index / (SCALED_EACH - 1)));
      if (meter.isPending(pod)) return;
      loads.set(pod, loads.get(pod) === HIGH ? LOW : HIGH);
      meter.begin("size", pod);
    },
    stepMetric() {
      const name = toName(SCALED_EACH * (steps.metric++ % Math.ceil(workloads / SCALED_EACH)));
      if (meter.isPending(name)) return;
      values.set(name, values.get(name) === MANY ? FEW : MANY);
      meter.begin("replicas", name);
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Pod, Deployment, autoscaler and ScaledObject of a workload have one name. */
function toName(index: number): string {
  return `web-${index}`;
}

async function fill(
  cluster: PlainCluster,
  { workloads, metricsOrigin }: { readonly workloads: number; readonly metricsOrigin: string },
): Promise<void> {
  await defineKeda(cluster);
  const teams = Math.ceil(workloads / PER_NAMESPACE);
  for (const name of [HOSTILE, PODFIT, ...Array.from({ length: teams }, (_, team) => `team-${team}`)]) {
    cluster.put("namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name, uid: `uid-${name}` } });
  }
  const policy = { pollInterval: "5s", cooldown: "10s", consecutiveSamples: 1 };
  const bounds = { cpu: { requests: { min: "20m", max: "900m" } } };
  for (let index = 0; index < workloads; index++) {
    const name = toName(index);
    const namespace = `team-${Math.floor(index / PER_NAMESPACE)}`;
    cluster.addApp(name, { policy, bounds, namespace });
    putDeployment(cluster, { name, namespace });
    cluster.addPod({ name, app: name, node: `node-${index % NODES}`, namespace });
    if (index % SCALED_EACH === 0) {
      putScaledObject(cluster, { name, namespace, triggers: [toTrigger(`${metricsOrigin}/value/${name}`)] });
    }
  }
}
