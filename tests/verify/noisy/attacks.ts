/**
 * What one hostile namespace does: each attack is made of manifests that pass every check of the API server.
 *
 * An attack goes on until its signal aborts. Objects go straight into the store, as if they were there before any bound.
 */
import { systemClock } from "../../../lib/runtime/clock.ts";
import { autoscalerObject, type Json, podObject } from "../../support/api_objects.ts";
import type { PlainCluster } from "../chaos/plain_cluster.ts";
import { putDeployment, putScaledObject, toTrigger } from "../chaos/plain_scaled.ts";
import { HIGH, HOSTILE, LOW, NODES, type NoisyWorld, PODFIT } from "./world.ts";

/** A hostile namespace. `forMs`: for how long it goes on at least. */
export type Attack = (
  world: NoisyWorld,
  options: { readonly forMs: number; readonly signal: AbortSignal },
) => Promise<void>;

/** By name; F1 to F7 and F14 are numbers of the security audit that found them. */
export const ATTACKS: Readonly<Record<string, { readonly about: string; readonly run: Attack }>> = {
  f1: { about: "formulas that compute with lists of lists, edited each second", run: attackByFormulas },
  f2: {
    about: "2,000 autoscalers of the same 100 pods, one after another, and an edit each second",
    run: attackByMany,
  },
  f3: { about: "120 autoscalers and 60 ScaledObjects of 1.3 MB each", run: attackBySize },
  f4: {
    about: "credentials from 10,000 variables with 15,000 references, and from a chain of 2,000",
    run: attackByEnv,
  },
  f5: {
    about: "the credential of a ClusterTriggerAuthentication, for a server of the tenant's",
    run: attackCredential,
  },
  f6: { about: "100 ScaledObjects of 8 triggers whose server never answers", run: attackByTarpit },
  f7: { about: "3 ScaledObjects of 50 triggers that get 1 MiB each second", run: attackByAnswers },
  f14: { about: "1,500 pods whose load steps each second, without a cooldown", run: attackByResizes },
};

const EDIT_MS = 1000;

/** Calls until the signal aborts. */
async function repeat(everyMs: number, signal: AbortSignal, once: (round: number) => void): Promise<void> {
  for (let round = 0; !signal.aborted; round++) {
    once(round);
    await systemClock.sleep(everyMs, signal).catch(() => {});
  }
}

const FORMULAS = [
  "let x = 1..900; let y = map(1..900, x); let z = map(1..900, y); max(z) + a",
  "let x = 1..300; let y = map(1..300, x); let z = map(1..300, y); mean(z) + a",
  "let x = 1..300; let y = map(1..300, x); let z = map(1..300, y); z == z ? a : 1.0",
  "let x = 1..800; let y = map(1..800, x); mean(y) + a",
  "let x = 1..500; let y = map(1..500, x); let z = map(1..500, y); let w = map(1..500, z); median(w) + a",
];

async function attackByFormulas(world: NoisyWorld, { signal }: Parameters<Attack>[1]): Promise<void> {
  const put = (index: number, generation: number) => {
    const formula = `${FORMULAS[(index + generation) % FORMULAS.length]} + ${generation}`;
    const scalingModifiers = { formula, target: "10" };
    putHostile(world, {
      name: `hostile-formula-${index}`,
      triggers: [toTrigger(`${world.metricsOrigin}/value/a`, { name: "a" })],
      spec: { advanced: { scalingModifiers } },
      generation,
    });
  };
  for (let index = 0; index < 10; index++) put(index, 1);
  await repeat(EDIT_MS, signal, (round) => put(round % 10, round + 2));
}

const AUTOSCALERS = 2000;
const PODS = 100;
const CONTAINERS = 10;

async function attackByMany({ cluster }: NoisyWorld, { forMs, signal }: Parameters<Attack>[1]): Promise<void> {
  for (let index = 0; index < PODS; index++) cluster.put("pods", toWidePod(index));
  const put = (index: number, generation: number) => {
    const selector = { matchLabels: { app: "hostile-wide" } };
    const own = { name: `hostile-many-${index}`, selector, containerName: "*", priority: generation, generation };
    putAutoscaler(cluster, own);
  };
  const batch = 5;
  const everyMs = 0.6 * forMs * batch / AUTOSCALERS;
  const creating = repeat(everyMs, signal, (round) => {
    for (let index = round * batch; index < Math.min(AUTOSCALERS, (round + 1) * batch); index++) put(index, 1);
  });
  await Promise.all([creating, repeat(EDIT_MS, signal, (round) => put(round % 50, round + 2))]);
}

function toWidePod(index: number): Json {
  const pod = podObject({
    name: `hostile-wide-${index}`,
    node: `node-${index % NODES}`,
    labels: { app: "hostile-wide" },
  });
  pod.metadata.namespace = HOSTILE;
  const [container] = pod.spec.containers;
  const [status] = pod.status.containerStatuses;
  const names = Array.from({ length: CONTAINERS }, (_, at) => at === 0 ? "main" : `side-${at}`);
  pod.spec.containers = names.map((name) => ({ ...container, name }));
  pod.status.containerStatuses = names.map((name) => ({
    ...status,
    name,
    containerID: `containerd://${index}-${name}`,
  }));
  return pod;
}

async function attackBySize(world: NoisyWorld, { signal }: Parameters<Attack>[1]): Promise<void> {
  const word = (...at: readonly number[]) => `${at.join("-")}-`.padEnd(62, "x") + "y";
  const fill = <T>(length: number, make: (index: number) => T) => Array.from({ length }, (_, index) => make(index));
  const putSelector = (index: number) => {
    const matchExpressions = fill(100, (key) => ({
      key: `k${key}`,
      operator: "NotIn",
      values: fill(200, (value) => word(index, key, value)),
    }));
    putAutoscaler(world.cluster, { name: `hostile-large-${index}`, selector: { matchExpressions } });
  };
  const putQueries = (index: number) => {
    const query = (at: number) => `sum(x{a="${index}/${at}/`.padEnd(26_000, "q") + '"})';
    const triggers = fill(50, (at) => ({
      type: "prometheus",
      metadata: { serverAddress: world.metricsOrigin, query: query(at), threshold: "1" },
    }));
    putHostile(world, { name: `hostile-large-${index}`, triggers });
  };
  await repeat(50, signal, (round) => {
    if (round < 120) putSelector(round);
    else if (round < 180) putQueries(round - 120);
  });
}

const VARIABLES = 10_000;
const REFERENCES = 15_000;
const CHAIN = 2000;
const PARAMETERS = 64;

async function attackByEnv(world: NoisyWorld, { signal }: Parameters<Attack>[1]): Promise<void> {
  const many = Array.from({ length: VARIABLES }, (_, index) => ({ name: `V${index}`, value: "" }));
  const templates: Readonly<Record<string, { readonly env: readonly Json[]; readonly wanted: string }>> = {
    references: { env: [...many, { name: "W", value: `${"$(q)".repeat(REFERENCES)}   ` }], wanted: "W" },
    chain: {
      env: Array.from(
        { length: CHAIN },
        (_, index) => ({ name: `V${index}`, value: index ? `$(V${index - 1})  ` : "x" }),
      ),
      wanted: `V${CHAIN - 1}`,
    },
  };
  for (const [kind, { env, wanted }] of Object.entries(templates)) {
    for (let index = 0; index < 5; index++) {
      const name = `hostile-env-${kind}-${index}`;
      putDeployment(world.cluster, { name, namespace: HOSTILE, containers: [{ name: "main", image: "app", env }] });
      world.cluster.put("triggerauthentications", {
        apiVersion: "keda.sh/v1alpha1",
        kind: "TriggerAuthentication",
        metadata: { name, namespace: HOSTILE, uid: `uid-${name}` },
        spec: {
          env: Array.from({ length: PARAMETERS }, (_, at) => ({ parameter: at ? `p${at}` : "token", name: wanted })),
        },
      });
      // A failed query reads the credentials again.
      putHostile(world, {
        name,
        triggers: [
          toTrigger(`${world.metricsOrigin}/large`, { metadata: { authModes: "bearer" }, authenticationRef: { name } }),
        ],
        spec: { pollingInterval: 1 },
        hasDeployment: true,
      });
    }
  }
  await repeat(EDIT_MS, signal, () => {});
}

async function attackCredential(world: NoisyWorld, { signal }: Parameters<Attack>[1]): Promise<void> {
  const name = "shared";
  world.cluster.put("secrets", {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace: PODFIT, uid: "uid-secret" },
    data: { token: btoa("cluster-wide") },
  });
  world.cluster.put("clustertriggerauthentications", {
    apiVersion: "keda.sh/v1alpha1",
    kind: "ClusterTriggerAuthentication",
    metadata: { name, uid: "uid-shared" },
    spec: { secretTargetRef: [{ parameter: "token", name, key: "token" }] },
  });
  const authenticationRef = { name, kind: "ClusterTriggerAuthentication" };
  const trigger = toTrigger(`${world.metricsOrigin}/secret`, { metadata: { authModes: "bearer" }, authenticationRef });
  putHostile(world, { name: "hostile-credential", triggers: [trigger] });
  await repeat(EDIT_MS, signal, () => {});
}

async function attackByTarpit(world: NoisyWorld, { signal }: Parameters<Attack>[1]): Promise<void> {
  for (let index = 0; index < 100; index++) {
    const triggers = Array.from(
      { length: 8 },
      (_, at) => toTrigger(`${world.metricsOrigin}/tarpit/${index}/${at}`, { metadata: { timeout: "15000" } }),
    );
    putHostile(world, { name: `hostile-tarpit-${index}`, triggers, spec: { pollingInterval: 1 } });
  }
  await repeat(EDIT_MS, signal, () => {});
}

async function attackByAnswers(world: NoisyWorld, { signal }: Parameters<Attack>[1]): Promise<void> {
  for (let index = 0; index < 3; index++) {
    const triggers = Array.from(
      { length: 50 },
      (_, at) =>
        toTrigger(`${world.metricsOrigin}/large/${index}/${at}`, {
          metadata: { format: "prometheus", valueLocation: "zz" },
        }),
    );
    putHostile(world, { name: `hostile-answers-${index}`, triggers, spec: { pollingInterval: 1 } });
  }
  await repeat(EDIT_MS, signal, () => {});
}

async function attackByResizes(world: NoisyWorld, { signal }: Parameters<Attack>[1]): Promise<void> {
  const app = "hostile-resizes";
  const policy = { pollInterval: "1s", cooldown: "0s", consecutiveSamples: 1 };
  world.cluster.addApp(app, { policy, bounds: { cpu: { requests: { min: "20m", max: "900m" } } }, namespace: HOSTILE });
  for (let index = 0; index < 1500; index++) {
    world.cluster.addPod({ name: `${app}-${index}`, app, node: `node-${index % 10}`, namespace: HOSTILE });
  }
  await repeat(EDIT_MS, signal, (round) => world.setHostileLoad(round % 2 === 0 ? HIGH : LOW));
}

/** A ScaledObject of the hostile namespace, and the Deployment that it scales. */
function putHostile(
  { cluster }: NoisyWorld,
  { hasDeployment = false, ...own }:
    & Omit<Parameters<typeof putScaledObject>[1], "namespace">
    & { readonly hasDeployment?: boolean },
): void {
  if (!hasDeployment && cluster.find("deployments", own.name, HOSTILE) === null) {
    putDeployment(cluster, { name: own.name, namespace: HOSTILE });
  }
  putScaledObject(cluster, { ...own, namespace: HOSTILE });
}

function putAutoscaler(cluster: PlainCluster, own: Json): void {
  const object = autoscalerObject({ target: undefined, containerName: undefined, ...own });
  object.metadata.namespace = HOSTILE;
  cluster.put("podresourceautoscalers", object);
}
