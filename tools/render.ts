// deno-lint-ignore-file no-console
/**
 * Renders what an operator applies without Helm out of the chart, and copies into the chart what it holds of other files.
 *   deno task render   needs helm: `tests/cluster/build helm`
 */
import { CHART, renderText, type Values } from "./helm.ts";

const ROOT = new URL("../", import.meta.url);

interface Manifest {
  /** What stands above the objects. */
  readonly head: string;
  readonly values: Values;
}

/** By path: manifests that are made of the chart. */
export const MANIFESTS: Readonly<Record<string, Manifest>> = {
  "deploy/install.yaml": {
    head: `podfit for the whole cluster: two replicas, of which one acts.
  kubectl apply --server-side -f deploy/install.yaml`,
    values: { namespace: { create: true } },
  },
  "deploy/node-local.yaml": {
    head:
      `podfit on each node. It reads usage from the cgroups of the node each second, and has no right to read kubelets.
  kubectl apply --server-side -f deploy/node-local.yaml`,
    values: { namespace: { create: true }, mode: "node-local" },
  },
  "deploy/sidecar.yaml": {
    head:
      `For podfits inside pods: rights for the service account podfit-sidecar in the namespace default, and the policy that
restricts a sidecar to its pod. For other accounts, use Helm (sidecar.serviceAccounts), or change both namespaces.
  kubectl apply --server-side -f deploy/sidecar.yaml`,
    values: { mode: "sidecar", sidecar: { serviceAccounts: [{ namespace: "default", name: "podfit-sidecar" }] } },
  },
};

/** By path: copies in the chart, as an archive of it can hold nothing from outside of it. */
export const COPIES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ["podresourceautoscaler", "scaledobject", "triggerauthentication", "clustertriggerauthentication"]
      .map((name) => [`deploy/helm/files/${name}.yaml`, `crds/${name}.yaml`]),
  ),
  ...Object.fromEntries(
    ["central", "node-local", "sidecar"]
      .map((name) => [`deploy/helm/files/policies/${name}.yaml`, `deploy/policies/${name}.yaml`]),
  ),
};

/** The text of a manifest, or `null` where there is none of that path. `chart`: a folder with another copy of the chart. */
export async function renderManifest(path: string, chart = CHART): Promise<string | null> {
  const manifest = MANIFESTS[path];
  if (manifest === undefined) return null;
  const head = `${manifest.head}\nGenerated from deploy/helm by \`deno task render\`. Edit the chart instead.`;
  const text = await renderText({ values: manifest.values, chart });
  return `${head.split("\n").map((line) => `# ${line}`).join("\n")}\n${text.trimEnd()}\n`;
}

async function main(): Promise<void> {
  for (const [copy, source] of Object.entries(COPIES)) {
    await Deno.copyFile(new URL(source, ROOT), new URL(copy, ROOT));
  }
  for (const path of Object.keys(MANIFESTS)) {
    await Deno.writeTextFile(new URL(path, ROOT), await renderManifest(path) ?? "");
    console.log(path);
  }
}

if (import.meta.main) await main();
