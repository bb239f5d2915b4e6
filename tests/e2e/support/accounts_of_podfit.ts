/**
 * A service account for podfit in a scenario: with the rights of deploy/install.yaml, or with some of them left out.
 */
import { parseAll } from "../../../lib/runtime/yaml.ts";
import { readRightsText } from "../../support/rights.ts";
import { backend } from "./backend.ts";
import { applyManifests, deleteObject } from "./cluster.ts";
import type { Manifest } from "./workloads.ts";

/** The rule by which it sees limit ranges and quotas. */
export const LIMITS = `- { apiGroups: [""], resources: [limitranges, resourcequotas], verbs: [list, watch] }`;

export interface Account extends AsyncDisposable {
  /** For podfit's command line: the account's own credential, and that of the other one for kubelets. */
  readonly args: readonly string[];
  /** The same without the other one's, for sources that ask no kubelet. */
  readonly ownArgs: readonly string[];
}

/** The rights of deploy/install.yaml, edited, under names of its own, and a way in for its service account. */
export async function createAccount(namespace: string, edit: (text: string) => string): Promise<Account> {
  return await createAccountWith(namespace, edit(await readRightsText()));
}

/** The same with the rights of any manifest that the chart makes for the release `podfit` in the namespace `podfit`. */
export async function createAccountWith(namespace: string, rights: string): Promise<Account> {
  const manifests = parseAll(rename(rights, namespace)) as readonly Manifest[];
  // The namespace is there already.
  const own = manifests.filter(({ kind }) => kind !== "Namespace");
  await applyManifests(namespace, own);
  await using building = new AsyncDisposableStack();
  for (const name of [namespace, `${namespace}-kubelet`]) {
    building.defer(() => deleteObject(namespace, `ClusterRole/${name}`));
    building.defer(() => deleteObject(namespace, `ClusterRoleBinding/${name}`));
  }
  const podfit = building.use(await backend().openAccount({ namespace, name: namespace }));
  const kubelet = building.use(await backend().openAccount({ namespace, name: `${namespace}-kubelet` }));
  const built = building.move();
  const ownArgs = ["--kubeconfig", podfit.kubeconfig];
  return {
    args: [...ownArgs, "--kubelet-token-file", kubelet.tokenFile],
    ownArgs,
    [Symbol.asyncDispose]: () => built.disposeAsync(),
  };
}

/** Every account and role is called podfit or podfit-kubelet; a test's namespace is a name that nothing else has. */
function rename(text: string, name: string): string {
  return text.replaceAll(/\b(name|namespace): "?podfit(-kubelet)?"?$/gm, `$1: ${name}$2`)
    .replace("resourceNames: [podfit-kubelet]", `resourceNames: [${name}-kubelet]`);
}

/** The rules without that one. Throws where it is not there. */
export function without(text: string, rule: string): string {
  const rest = text.replace(`  ${rule}\n`, "");
  if (rest === text) throw new Error(`Cannot find the rule "${rule}" in deploy/install.yaml`);
  return rest;
}
