/**
 * A service account for podfit in a scenario: with the rights of deploy/rbac.yaml, or with some of them left out.
 */
import { parseAll } from "@std/yaml";
import { backend } from "./backend.ts";
import { applyManifests, deleteObject } from "./cluster.ts";
import type { Manifest } from "./workloads.ts";

/** The rule by which it sees limit ranges and quotas. */
export const LIMITS = `- { apiGroups: [""], resources: [limitranges, resourcequotas], verbs: [list, watch] }`;

const RBAC = new URL("../../../deploy/rbac.yaml", import.meta.url);

export interface Account extends AsyncDisposable {
  /** For podfit's command line. */
  readonly args: readonly string[];
}

/** deploy/rbac.yaml, edited, under names of its own, and a way in for its service account. */
export async function createAccount(namespace: string, edit: (text: string) => string): Promise<Account> {
  const manifests = parseAll(rename(edit(await Deno.readTextFile(RBAC)), namespace)) as readonly Manifest[];
  // The namespace is there already.
  const own = manifests.filter(({ kind }) => kind !== "Namespace");
  await applyManifests(namespace, own);
  const roles = {
    async [Symbol.asyncDispose]() {
      await deleteObject(namespace, `ClusterRole/${namespace}`);
      await deleteObject(namespace, `ClusterRoleBinding/${namespace}`);
    },
  };
  try {
    const opened = await backend().openAccount({ namespace, name: namespace });
    return {
      args: ["--kubeconfig", opened.kubeconfig],
      async [Symbol.asyncDispose]() {
        await opened[Symbol.asyncDispose]();
        await roles[Symbol.asyncDispose]();
      },
    };
  } catch (error) {
    await roles[Symbol.asyncDispose]();
    throw error;
  }
}

/** Everything in the file is called podfit; a test's namespace is a name that nothing else has. */
function rename(text: string, name: string): string {
  return text.replaceAll(/\b(name|namespace): podfit$/gm, `$1: ${name}`);
}

/** The rules without that one. Throws where it is not there. */
export function without(text: string, rule: string): string {
  const rest = text.replace(`  ${rule}\n`, "");
  if (rest === text) throw new Error(`Cannot find the rule "${rule}" in deploy/rbac.yaml`);
  return rest;
}
