/** KEDA's own operator and metrics adapter next to the real cluster, for one scenario: see `tests/cluster/keda`. */
import { deleteObject, waitFor } from "./cluster.ts";
import { hasProgram, kubectl, kubectlJson, readKubeconfigFolder, runProgram, tryKubectl } from "./kubectl.ts";
import type { List, Metadata } from "./objects.ts";

const SCRIPT = new URL("../../cluster/keda", import.meta.url).pathname;
const OURS = new URL("../../../crds/", import.meta.url).pathname;

/** Whether `tests/cluster/build keda helm` has built them, and the cluster is one that `tests/cluster/up` started. */
export async function hasKeda(): Promise<boolean> {
  if (Deno.env.get("E2E_ADAPTERS") !== "1") return false;
  const isOurs = await Deno.stat(`${readKubeconfigFolder()}/pki/ca.key`).then(() => true, () => false);
  const programs = await Promise.all(["keda-operator", "keda-adapter", "helm"].map(hasProgram));
  return isOurs && programs.every(Boolean);
}

export type KedaProgram = "operator" | "adapter";

export interface Keda extends AsyncDisposable {
  stop(program: KedaProgram): Promise<void>;
  /** One that runs is started again. */
  start(program: KedaProgram): Promise<void>;
}

/** It looks at this namespace alone. Its own definitions take the place of podfit's until it is disposed of. */
export async function startKeda(namespace: string): Promise<Keda> {
  const run = (...args: readonly string[]) =>
    runProgram("env", [`KEDA_NAMESPACE=${namespace}`, SCRIPT, ...args], { timeoutMs: 150_000 });
  const end = async () => {
    // The last one first, and each of them even if another fails: other scenarios need the cluster as it was.
    await using steps = new AsyncDisposableStack();
    steps.defer(async () => void await kubectl(["apply", "--server-side", "--force-conflicts", "-f", OURS]));
    steps.defer(async () => void await run("down"));
    steps.defer(() => deleteScaledObjects(namespace));
  };
  try {
    await run("up");
  } catch (error) {
    await end();
    throw error;
  }
  return {
    stop: async (program) => void await run("stop", program),
    start: async (program) => void await run("start", program),
    [Symbol.asyncDispose]: end,
  };
}

/** While KEDA runs: its finalizer would keep them, and the namespace, for ever. One that it leaves is taken off. */
async function deleteScaledObjects(namespace: string): Promise<void> {
  const list = async () =>
    (await kubectlJson<List<{ readonly metadata: Metadata }>>(["get", "scaledobjects.keda.sh", "-n", namespace])).items;
  for (const { metadata: { name } } of await list()) await deleteObject(namespace, `ScaledObject/${name}`);
  const gone = async () => (await list()).length === 0;
  await waitFor("KEDA to let its objects go", gone, { timeoutMs: 30_000, everyMs: 1_000 }).catch(() => {});
  for (const { metadata: { name } } of await list()) {
    await tryKubectl([
      "patch",
      `scaledobject/${name}`,
      "-n",
      namespace,
      "--type=merge",
      "-p",
      '{"metadata":{"finalizers":null}}',
    ]);
  }
}
