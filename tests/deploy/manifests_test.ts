/** Are the committed manifests, and the copies in the chart, what `deno task render` makes? */
import { assert, assertEquals } from "#assert";
import { createSampleCommand, type SampleOptions } from "../../lib/cli/sample/options.ts";
import { parseAll } from "../../lib/runtime/yaml.ts";
import { parseAmount } from "../../lib/units/quantity.ts";
import project from "../../deno.json" with { type: "json" };
import { COPIES, MANIFESTS, renderManifest } from "../../tools/render.ts";
import { parseObjects } from "../../tools/helm.ts";
import type { Json } from "../support/api_objects.ts";
import { chartTest } from "../support/needs_helm.ts";

const ROOT = new URL("../../", import.meta.url);

chartTest("what is applied without Helm is what the chart renders: `deno task render` makes it", async () => {
  for (const path of Object.keys(MANIFESTS)) assertEquals(await readText(path), await renderManifest(path) ?? "", path);
});

Deno.test("the chart's copies are what they are copied from: `deno task render` makes them", async () => {
  for (const [copy, source] of Object.entries(COPIES)) assertEquals(await readText(copy), await readText(source), copy);
});

Deno.test("each manifest makes what its mode is made of", async () => {
  const kinds = async (path: string) => {
    const objects = parseObjects(await readText(path));
    return objects.map(({ kind, metadata: { name } }) => `${kind} ${name}`).sort();
  };
  const definition = "CustomResourceDefinition podresourceautoscalers.keda.kedify.io";
  const account = [
    "ClusterRole podfit",
    "ClusterRoleBinding podfit",
    "Role podfit",
    "Role podfit-records-reader",
    "RoleBinding podfit",
  ];
  const kubelet = ["ClusterRole podfit-kubelet", "ClusterRoleBinding podfit-kubelet", "ServiceAccount podfit-kubelet"];
  const priority = ["FlowSchema podfit-leases", "FlowSchema podfit-writes", "ResourceQuota podfit-critical-pods"];
  const policy = (name: string) =>
    ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"].map((kind) => `${kind} ${name}`);
  assertEquals(
    await kinds("deploy/install.yaml"),
    [definition, ...account, ...kubelet, "ServiceAccount podfit", "Namespace podfit", "Deployment podfit"]
      .concat("PodDisruptionBudget podfit", policy("podfit-central"), priority).sort(),
  );
  assertEquals(
    await kinds("deploy/node-local.yaml"),
    [definition, ...account, "ServiceAccount podfit", "Namespace podfit", "DaemonSet podfit"]
      .concat(policy("podfit-node-local"), priority).sort(),
  );
  assertEquals(
    await kinds("deploy/sidecar.yaml"),
    [
      definition,
      "Role podfit-sidecar",
      "RoleBinding podfit-sidecar",
      ...policy("podfit-sidecar"),
    ].sort(),
  );
});

Deno.test("the namespace admits what its mode needs and no more", async () => {
  const level = async (path: string) => {
    const namespace = parseObjects(await readText(path)).find(({ kind }) => kind === "Namespace");
    return namespace?.metadata.labels?.["pod-security.kubernetes.io/enforce"];
  };
  assertEquals(await level("deploy/install.yaml"), "restricted");
  assertEquals(await level("deploy/node-local.yaml"), "privileged");
});

Deno.test("the example of a sidecar runs by the account, the image and the label that deploy/sidecar.yaml is about", async () => {
  const objects = parseAll(await readText("deploy/sidecar-example.yaml")) as Json[];
  const { metadata: { labels }, spec } = objects.find(({ kind }) => kind === "Deployment").spec.template;
  const [podfit] = spec.initContainers;
  assertEquals([spec.serviceAccountName, labels["podfit.dev/mode"]], ["podfit-sidecar", "sidecar"]);
  assertEquals([podfit.restartPolicy, podfit.image], ["Always", `localhost/podfit:${project.version}`]);
  const names: readonly string[] = podfit.env.map(({ name }: Json) => name);
  assertEquals(names.slice(-5), ["POD_NAMESPACE", "POD_NAME", "PODFIT_POD", "PODFIT_POD_UID", "PODFIT_POD_IPS"]);
  // The app gets no token.
  const [volume] = spec.volumes;
  assertEquals([spec.automountServiceAccountToken, spec.containers[0].volumeMounts], [false, undefined]);
  assertEquals(podfit.volumeMounts, [
    { name: volume.name, mountPath: "/var/run/secrets/kubernetes.io/serviceaccount", readOnly: true },
  ]);
  assertEquals(volume.projected.sources.flatMap((source: Json) => Object.keys(source)), [
    "serviceAccountToken",
    "configMap",
    "downwardAPI",
  ]);
  const { spec: autoscaler } = objects.find(({ kind }) => kind === "PodResourceAutoscaler");
  assertEquals(autoscaler.excludeContainers, [podfit.name]);
});

Deno.test("the quick start and the example of a sidecar need no image but podfit's, and the program takes their flags", async () => {
  for (const path of ["deploy/quickstart.yaml", "deploy/sidecar-example.yaml"]) {
    const objects = parseAll(await readText(path)) as Json[];
    const { initContainers = [], containers } = objects.find(({ kind }) => kind === "Deployment").spec.template.spec;
    const images = [...initContainers, ...containers].map(({ image }: Json) => image);
    assertEquals(new Set(images), new Set([`localhost/podfit:${project.version}`]), path);
    const [{ args: [command, ...flags], securityContext, resources }] = containers;
    assertEquals(command, "sample");
    const taken: SampleOptions[] = [];
    const sample = createSampleCommand(CONTEXT, (options) => Promise.resolve(void taken.push(options)));
    await sample.parseAsync(flags, { from: "user" });
    assertEquals(taken.map(({ start }) => start), [{ cpuMillicores: 40, memoryBytes: 0 }], path);
    // The load that a request may set fits the memory limit, next to what the program needs itself.
    const limit = parseAmount(resources.limits.memory, "memory");
    assert(limit.ok && (taken[0]?.max.memoryBytes ?? Infinity) + 128 * 2 ** 20 <= limit.amount, path);
    assertEquals([securityContext.runAsNonRoot, securityContext.capabilities], [true, { drop: ["ALL"] }], path);
  }
});

const CONTEXT = { toComplaint: (text: string) => text, getEnv: () => undefined };

function readText(path: string): Promise<string> {
  return Deno.readTextFile(new URL(path, ROOT));
}
