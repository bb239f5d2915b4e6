/**
 * What is an account granted, and what of it does it use? Granted: the rules of the manifests that bind it. Used: what the
 * API server's audit log says it has asked for (see tests/cluster/up), and kubelets about it. A right is written
 * `patch pods/resize` or `list deployments.apps`; requests for paths that are no resources need none of these.
 */
import { parseAll } from "../../../lib/runtime/yaml.ts";
import { readKubeconfigFolder } from "./kubectl.ts";

/** A service account of the cluster. */
export interface AccountName {
  readonly namespace: string;
  readonly name: string;
}

/** What an account has done since some time. */
export interface Used {
  /** Sorted. */
  readonly rights: readonly string[];
  /** What it was refused, with the path. */
  readonly forbidden: readonly string[];
}

/** All rights that the manifests grant to the account, in whatever namespace, sorted. Throws for a role that is not there. */
export function listGranted(manifests: string, account: AccountName): readonly string[] {
  const objects = (parseAll(manifests) as readonly (RbacObject | null)[]).filter((object) => object !== null);
  const bindings = objects.filter(({ kind, subjects = [] }) =>
    (kind === "ClusterRoleBinding" || kind === "RoleBinding") &&
    subjects.some(({ kind, name, namespace }) =>
      kind === "ServiceAccount" && name === account.name && namespace === account.namespace
    )
  );
  const rules = bindings.flatMap(({ metadata, roleRef }) => {
    const role = objects.find(({ kind, metadata: { name, namespace } }) =>
      kind === roleRef?.kind && name === roleRef.name && (kind === "ClusterRole" || namespace === metadata.namespace)
    );
    if (role === undefined) throw new Error(`Cannot find ${roleRef?.kind} "${roleRef?.name}" in the manifests`);
    return role.rules ?? [];
  });
  return sortUnique(
    rules.flatMap(({ verbs, apiGroups = [], resources = [] }) =>
      verbs.flatMap((verb) =>
        apiGroups.flatMap((group) => resources.map((one) => toRight(verb, { group, resource: one })))
      )
    ),
  );
}

interface RbacObject {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly subjects?: readonly { readonly kind: string; readonly name: string; readonly namespace?: string }[];
  readonly roleRef?: { readonly kind: string; readonly name: string };
  readonly rules?: readonly {
    readonly verbs: readonly string[];
    readonly apiGroups?: readonly string[];
    readonly resources?: readonly string[];
  }[];
}

/** `resource` may have a subresource: `pods/resize`. */
function toRight(verb: string, { group, resource }: { readonly group: string; readonly resource: string }): string {
  const [name, subresource] = resource.split("/");
  const grouped = group === "" ? name : `${name}.${group}`;
  return `${verb} ${grouped}${subresource === undefined ? "" : `/${subresource}`}`;
}

/** What the account has asked for, as the audit log has it so far. Namespaces that are new have logs of their own past. */
export async function readUsed(account: AccountName): Promise<Used> {
  const user = `system:serviceaccount:${account.namespace}:${account.name}`;
  const rights: string[] = [];
  const forbidden: string[] = [];
  for (const entry of await readAuditLog()) {
    const asked = entry.user.username === user ? toAsked(entry) : toAskedByKubelet(entry, user);
    if (asked === null) continue;
    if (entry.responseStatus?.code === 403) forbidden.push(`${asked} (${entry.requestURI})`);
    else rights.push(asked);
  }
  return { rights: sortUnique(rights), forbidden: sortUnique(forbidden) };
}

const READS = ["get", "list", "watch"];

/** What the account has written to objects of this kind in the namespace: `patch queue`, `patch queue/status`. Sorted. */
export async function listWrites(
  account: AccountName,
  { namespace, resource }: { readonly namespace: string; readonly resource: string },
): Promise<readonly string[]> {
  const user = `system:serviceaccount:${account.namespace}:${account.name}`;
  const writes = (await readAuditLog()).flatMap(({ user: { username }, verb, objectRef = {} }) => {
    if (username !== user || READS.includes(verb)) return [];
    if (objectRef.namespace !== namespace || objectRef.resource !== resource) return [];
    return [`${verb} ${[objectRef.name, objectRef.subresource].filter((part) => part !== undefined).join("/")}`];
  });
  return sortUnique(writes);
}

/** https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/#audit-k8s-io-v1-Event */
interface AuditEvent {
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username: string };
  readonly objectRef?: {
    readonly resource?: string;
    readonly subresource?: string;
    readonly apiGroup?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code?: number };
  readonly requestObject?: {
    readonly spec?: {
      readonly user?: string;
      readonly resourceAttributes?: {
        readonly verb: string;
        readonly group?: string;
        readonly resource: string;
        readonly subresource?: string;
      };
    };
  };
}

/** Whether the cluster of KUBECONFIG has the log: only `tests/cluster/up` makes the API server write it. */
export function hasAuditLog(): Promise<boolean> {
  return Deno.stat(auditLogPath()).then(({ isFile }) => isFile, () => false);
}

function auditLogPath(): string {
  return `${readKubeconfigFolder()}/log/audit.log`;
}

async function readAuditLog(): Promise<readonly AuditEvent[]> {
  const text = await Deno.readTextFile(auditLogPath());
  // The last line may be half written.
  return text.slice(0, text.lastIndexOf("\n")).split("\n").map((line) => JSON.parse(line));
}

function toAsked({ verb, objectRef }: AuditEvent): string | null {
  const { resource, subresource, apiGroup: group = "" } = objectRef ?? {};
  if (resource === undefined) return null;
  return toRight(verb, { group, resource: subresource === undefined ? resource : `${resource}/${subresource}` });
}

/** A kubelet that is asked for usage asks the API server whether that is allowed. */
function toAskedByKubelet({ requestObject }: AuditEvent, user: string): string | null {
  const { user: about, resourceAttributes: asked } = requestObject?.spec ?? {};
  if (about !== user || asked === undefined) return null;
  const { verb, group = "", resource, subresource = "" } = asked;
  return toRight(verb, { group, resource: subresource === "" ? resource : `${resource}/${subresource}` });
}

function sortUnique(all: readonly string[]): readonly string[] {
  return [...new Set(all)].sort();
}
