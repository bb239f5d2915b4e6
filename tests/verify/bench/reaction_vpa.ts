/**
 * VPA beside podfit: its recommender and updater out of cluster, with the fastest flags that make sense. They read
 * metrics.k8s.io, which has to be there, at its finest resolution (10 s).
 */
import { kubectl } from "../../e2e/support/kubectl.ts";
import { applyManifests } from "../../e2e/support/cluster.ts";
import type { Follow } from "./reaction_run.ts";

/** In the clone of VPA from which the binaries were built. */
const DEFINITIONS = "vpa-v1-crd-gen.yaml";

/** `directory` has the binaries `recommender` and `updater`, and VPA's definitions. */
export function followByVpa(directory: string): Follow {
  return async ({ namespace }) => {
    await kubectl(["apply", "--server-side", "-f", `${directory}/${DEFINITIONS}`]);
    await kubectl(["wait", "--for=condition=Established", "--timeout=30s", "-f", `${directory}/${DEFINITIONS}`]);
    await applyVpa(namespace);
    const stack = new AsyncDisposableStack();
    const common = [`--kubeconfig=${Deno.env.get("KUBECONFIG") ?? ""}`, `--vpa-object-namespace=${namespace}`];
    stack.use(start(`${directory}/recommender`, [...common, ...RECOMMENDER]));
    stack.use(start(`${directory}/updater`, [...common, ...UPDATER]));
    return stack;
  };
}

const RECOMMENDER = [
  "--recommender-interval=5s",
  "--cpu-histogram-decay-half-life=30s",
  "--confidence-interval-cpu=1m",
  "--pod-recommendation-min-memory-mb=16",
];
const UPDATER = [
  "--updater-interval=5s",
  "--min-replicas=1",
  "--in-recommendation-bounds-eviction-lifetime-threshold=30s",
  "--in-place-skip-disruption-budget=true",
  "--use-admission-controller-status=false",
];

async function applyVpa(namespace: string): Promise<void> {
  const spec = {
    targetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "load" },
    updatePolicy: { updateMode: "InPlaceOrRecreate", minReplicas: 1 },
    resourcePolicy: { containerPolicies: [{ containerName: "main", controlledResources: ["cpu"] }] },
  };
  await applyManifests(namespace, [
    { apiVersion: "autoscaling.k8s.io/v1", kind: "VerticalPodAutoscaler", metadata: { name: "load" }, spec },
  ]);
}

function start(path: string, args: readonly string[]): AsyncDisposable {
  const child = new Deno.Command(path, { args: [...args], stdin: "null", stdout: "null", stderr: "null" }).spawn();
  return {
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await child.status;
    },
  };
}
