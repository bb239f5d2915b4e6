/** A request as podfit's pod would send it: with a token that its kubelet could have mounted, which names pod and node. */
import { kubectl, kubectlJson, tryKubectl } from "./kubectl.ts";
import type { PodName } from "./pod_faults.ts";

/** Whose token, and what it is to resize. */
export interface ForeignResize {
  readonly account: string;
  /** The pod that the token is bound to. */
  readonly bearer: PodName;
  readonly target: PodName & { readonly container: string };
}

/** What the API server says to a resize to 33m with that token; empty where it takes it. */
export async function resizeAs({ account, bearer, target }: ForeignResize): Promise<string> {
  const bound = ["--bound-object-kind", "Pod", "--bound-object-name", bearer.name];
  const token = (await kubectl(["create", "token", account, "-n", bearer.namespace, ...bound])).trim();
  const config = await kubectlJson<KubeconfigJson>(["config", "view", "--minify", "--raw", "--flatten"]);
  const users = config.users.map(({ name }) => ({ name, user: { token } }));
  const path = await Deno.makeTempFile({ prefix: "podfit-e2e-", suffix: ".kubeconfig" });
  try {
    await Deno.writeTextFile(path, JSON.stringify({ ...config, users }));
    const patch = { spec: { containers: [{ name: target.container, resources: { requests: { cpu: "33m" } } }] } };
    const { code, stderr } = await tryKubectl([
      ...["--kubeconfig", path, "patch", "--subresource=resize", "--type=strategic"],
      ...["pod", target.name, "-n", target.namespace, "-p", JSON.stringify(patch)],
    ]);
    return code === 0 ? "" : stderr.trim();
  } finally {
    await Deno.remove(path);
  }
}

interface KubeconfigJson {
  readonly users: readonly { readonly name: string }[];
}
