/**
 * Reads kubeconfig files. Missing files of a list are skipped, as kubectl does. A list without any file that exists is
 * an error, because podfit would otherwise act on a cluster that nobody named.
 */
import { delimiter } from "node:path";
import { type Kubeconfig, mergeKubeconfigs } from "./kubeconfig.ts";
import { describeReadError } from "./pem.ts";

/** Gives the paths in the value of KUBECONFIG. Empty parts are ignored. */
export function splitPaths(variable: string): readonly string[] {
  return variable.split(delimiter).filter((path) => path !== "");
}

/**
 * Reads and merges kubeconfig files. With `mustExist` each of them must exist, otherwise one is enough. Rejects with an
 * error that names the file.
 */
export async function loadKubeconfigs(
  paths: readonly string[],
  options: { readonly mustExist: boolean },
): Promise<Kubeconfig> {
  const files = await Promise.all(paths.map(async (path) => ({ path, text: await readIfThere(path) })));
  // Loaded on request: in a cluster podfit needs no YAML parser.
  const { parseKubeconfig } = await import("./parse_kubeconfig.ts");
  const found = files.flatMap(({ path, text }) => text === null ? [] : [parseKubeconfig({ path, text })]);
  if (found.length === 0 || (options.mustExist && found.length < paths.length)) {
    const missing = files.filter(({ text }) => text === null).map(({ path }) => `"${path}"`).join(", ");
    throw new Error(
      `Cannot read kubeconfig ${missing}: no such file; name one with --kubeconfig or KUBECONFIG ` +
        "and see `kubectl config get-contexts`",
    );
  }
  return mergeKubeconfigs(found);
}

async function readIfThere(path: string): Promise<string | null> {
  try {
    return await Deno.readTextFile(path);
  } catch (cause) {
    if (cause instanceof Deno.errors.NotFound) return null;
    throw new Error(`Cannot read kubeconfig "${path}": ${describeReadError(cause)}`, { cause });
  }
}
