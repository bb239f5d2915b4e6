/**
 * Replicas as the chart switches them on: podfit in its pods scales with exactly the rights that the values ask for, a second leader
 * goes on where the first one was, and KEDA's table of them is what people see (R1, R95).
 */
import { assertEquals } from "#assert";
import { applyManifests, deleteObject, find, patchObject, readPod, waitFor } from "./support/cluster.ts";
import { findPod } from "./support/pods.ts";
import { scenario } from "./support/needs.ts";
import { assertRightsAreUsed, installRelease, tellTwice, waitForNothingLeft } from "./support/release.ts";
import { hpa, scaledObject, waitForReplicas, waitForScaled } from "./support/scaled_objects.ts";
import { autoscaler, deployment, statefulSet } from "./support/workloads.ts";
import { quickSpec, waitForLastChange } from "./support/autoscalers.ts";

const JOBS = { type: "kubernetes-workload", metadata: { podSelector: "app=jobs", value: "1" } };

const BUSY = { requests: { cpu: "10m" }, cpuMillicores: 60 };
/** Coupled, and never above its target. */
const HIGH = { type: "cpu", metricType: "Utilization", metadata: { value: "2000" } };

scenario(
  "R95 the chart's scaledObjects sets replicas with exactly the rights that it asks for, and R1 without it does nothing",
  {
    needs: { images: "load", kubelet: "signed", podfitImage: true, auditLog: true, pods: 12, freeMillicores: 400 },
    realOnly: "podfit runs in a pod of its image",
    async run({ namespace }) {
      const [web, db] = [{ namespace, name: "web" }, { namespace, name: "db" }];
      await applyManifests(namespace, [
        deployment("sized", { containers: [BUSY] }),
        statefulSet("store", { containers: [BUSY] }),
        ...["sized", "store"].map((name) =>
          autoscaler(name, quickSpec({ selector: { matchLabels: { app: name } } }, { max: "20m" }))
        ),
        deployment("jobs", { replicas: 2 }),
        deployment("web", { replicas: 0 }),
        statefulSet("db", { replicas: 0 }),
        { apiVersion: "v1", kind: "Secret", metadata: { name: "key" }, stringData: { token: "t" } },
        { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "names" }, data: { user: "podfit" } },
        {
          apiVersion: "keda.sh/v1alpha1",
          kind: "TriggerAuthentication",
          metadata: { name: "basic", annotations: { "podfit.dev/allow-plain-http": "true" } },
          spec: {
            secretTargetRef: [{ parameter: "password", name: "key", key: "token" }],
            env: [{ parameter: "username", name: "USERNAME" }],
          },
        },
        scaledObject("web", { maxReplicaCount: 3, cooldownPeriod: 5, triggers: [JOBS] }),
        scaledObject("db", {
          scaleTargetRef: { kind: "StatefulSet", name: "db" },
          maxReplicaCount: 1,
          advanced: { restoreToOriginalReplicaCount: true },
          triggers: [JOBS],
        }),
      ]);
      await using release = await installRelease(namespace, {});
      // Off: nothing is written, and nothing is said.
      for (const name of ["sized", "store"]) {
        // Two more samples of the kubelet, which looks each 10 to 19 s.
        await waitForLastChange({ namespace, name }, "cpu.requests 10m -> 20m", { timeoutMs: 60_000 });
      }
      const { status } = await find<{ readonly status?: object }>(
        `/apis/keda.sh/v1alpha1/namespaces/${namespace}/scaledobjects/web`,
      ) ?? {};
      assertEquals(status, undefined);

      const on = { enabled: true, installDefinitions: false, secretNamespaces: [namespace], transferHpas: true };
      await release.upgrade({ scaledObjects: on, log: { level: "debug" } });
      await waitForReplicas(web, 2);
      // The sizes that these were born with are only in their revisions: this podfit has not seen them.
      await applyManifests(namespace, [
        scaledObject("sized", { minReplicaCount: 1, maxReplicaCount: 2, triggers: [HIGH] }),
        scaledObject("store", {
          scaleTargetRef: { kind: "StatefulSet", name: "store" },
          minReplicaCount: 1,
          maxReplicaCount: 2,
          triggers: [HIGH],
        }),
      ]);
      for (const name of ["sized", "store"]) {
        await waitForScaled({ namespace, name }, { HPAActive: { status: "True" } }, { timeoutMs: 90_000 });
      }
      await waitForScaled(db, { Ready: { status: "True" }, Active: { status: "True" } });

      const { status: page } = await readPod(await findPod(namespace, "sized"));
      const { podIP } = page as { readonly podIP?: string };
      // What is left of the rights: credentials, a pod of the target's template, an HPA that is taken over, a finalizer that is used.
      await applyManifests(namespace, [
        deployment("asked", {
          replicas: 1,
          containers: [{ requests: { cpu: "10m" }, fields: { env: [fromConfigMap("USERNAME", "names", "user")] } }],
        }),
        hpa("asked"),
        scaledObject("asked", {
          minReplicaCount: 1,
          maxReplicaCount: 2,
          advanced: { horizontalPodAutoscalerConfig: { name: "asked" } },
          triggers: [{
            type: "metrics-api",
            metadata: {
              url: `http://${podIP}:8080/limits`,
              valueLocation: "cgroupVersion",
              targetValue: "2",
              authMode: "basic",
            },
            authenticationRef: { name: "basic" },
          }, { type: "cpu", metricType: "Utilization", metadata: { value: "60" } }],
        }, { "scaledobject.keda.sh/transfer-hpa-ownership": "true" }),
      ]);
      // Its HPA is deleted once the trigger has answered.
      await waitForScaled({ namespace, name: "asked" }, { Ready: { status: "True" } });
      assertEquals(await find(`/apis/autoscaling/v2/namespaces/${namespace}/horizontalpodautoscalers/asked`), null);
      await patchObject({ namespace, object: "Deployment/jobs" }, { spec: { replicas: 0 } });
      await waitForReplicas(web, 0, { timeoutMs: 90_000 });
      await deleteObject(namespace, "ScaledObject/db");
      await waitFor("the finalizer to be gone", async () => {
        return await find(`/apis/keda.sh/v1alpha1/namespaces/${namespace}/scaledobjects/db`) === null;
      });
      await tellTwice(namespace);
      await assertRightsAreUsed(release, [release.name, "podfit-kubelet"]);
      await release.uninstall();
      await waitForNothingLeft(release);
    },
  },
);

function fromConfigMap(variable: string, name: string, key: string) {
  return { name: variable, valueFrom: { configMapKeyRef: { name, key } } };
}
