/** podfit's commands as people type them, in a process of its own that asks the cluster of KUBECONFIG. */
import { runPodfit, type RunSettings } from "../../support/podfit_process.ts";

/** For `realOnly` of scenarios that run one. */
export const OWN_PROCESS = "the command is a process of its own, which asks the cluster of KUBECONFIG";

/** Runs one to its end: `runCommand(["top", "-n", "shop"])`. */
export function runCommand(
  args: readonly string[],
  settings: Pick<RunSettings, "stdin" | "timeoutMs"> = {},
): ReturnType<typeof runPodfit> {
  return runPodfit({ ...settings, args, env: { KUBECONFIG: Deno.env.get("KUBECONFIG") ?? "" } });
}
