/**
 * Which kubeconfig files are there? Missing files of a list are skipped, as kubectl does; a list without any file that
 * exists is an error, as podfit would otherwise act somewhere nobody named.
 */
import { delimiter } from "node:path";
import { mergeKubeconfigs, parseKubeconfig } from "./kubeconfig.ts";
import type { Kubeconfig } from "./kubeconfig.ts";

/** The paths in the value of KUBECONFIG; empty parts mean nothing. */
export function splitPaths(variable: string): readonly string[] {
  return variable.split(delimiter).filter((path) => path !== "");
}

/** `mustExist`: each of the paths, and not only one of them. */
export async function loadKubeconfigs(
  paths: readonly string[],
  options: { readonly mustExist: boolean },
): Promise<Kubeconfig> {
  const files = await Promise.all(paths.map(async (path) => ({ path, text: await readIfThere(path) })));
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
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`Cannot read kubeconfig "${path}": ${reason}`, { cause });
  }
}
