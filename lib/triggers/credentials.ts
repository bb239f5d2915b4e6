/**
 * Resolves what a TriggerAuthentication names into parameters (R16). Its secrets are in the ScaledObject's namespace; those of a
 * ClusterTriggerAuthentication are in podfit's own, and in no other: whoever may write ScaledObjects in a namespace chooses neither.
 * KEDA: pkg/scaling/resolver/scale_resolvers.go, resolveAuthRef.
 */
import type { Authentication } from "../scaled_object/authentication.ts";
import { quote } from "../units/untrusted.ts";
import { createFindVariable } from "./container_env.ts";
import { createFindEntry, type Found, type ReadObject } from "./lookup.ts";
import { readEnvContainers } from "./pod_template.ts";
import type { Credentials } from "./trigger_source.ts";

export interface ResolveOptions {
  /** The ScaledObject's. */
  readonly namespace: string;
  /** PODFIT_CLUSTER_OBJECT_NAMESPACE. */
  readonly clusterNamespace: string;
  readonly readSecret: ReadObject;
  readonly readConfigMap: ReadObject;
  /** Gives the ScaledObject's target, as the API has it; asked only where `env` is used. */
  readonly readTarget: (signal: AbortSignal) => Promise<TargetRead>;
  readonly signal: AbortSignal;
}

export type TargetRead =
  | { readonly kind: "found"; readonly object: unknown }
  | { readonly kind: "missing" }
  | { readonly kind: "failed"; readonly cause: string };

/** Messages name objects, keys and variables, and never quote what is in them. */
export type Resolved =
  | { readonly kind: "resolved"; readonly credentials: Credentials }
  /** Something is not there: nothing may be written until it is. */
  | { readonly kind: "missing"; readonly message: string }
  /** Something could not be read, such as for want of a right. */
  | { readonly kind: "failed"; readonly message: string };

/** Rejects with the signal's reason only. */
export async function resolveCredentials(authentication: Authentication, options: ResolveOptions): Promise<Resolved> {
  const { namespace, clusterNamespace } = options;
  const secretsIn = authentication.kind === "ClusterTriggerAuthentication" ? clusterNamespace : namespace;
  const findSecret = createFindEntry({ ...options, namespace: secretsIn });
  const findVariable = createFindTargetVariable(authentication, options);
  const credentials = new Map<string, string>();
  // As in KEDA, what is named later counts, and secrets come after variables.
  for (const { parameter, name, containerName } of authentication.env) {
    const found = await findVariable(name, containerName);
    if (found.kind !== "found") {
      return refuse(authentication, { parameter, found, absent: `its container has no variable ${quote(name)}` });
    }
    credentials.set(parameter, found.text);
  }
  for (const { parameter, name, key } of authentication.secrets) {
    const found = await findSecret({ kind: "secret", name, key });
    const absent = `secret "${secretsIn}/${name}" has no key ${quote(key)}`;
    if (found.kind !== "found") return refuse(authentication, { parameter, found, absent });
    credentials.set(parameter, found.text);
  }
  return { kind: "resolved", credentials: Object.fromEntries(credentials) };
}

type FindVariable = (name: string, containerName: string | null) => Promise<Found>;

/** The variables are the target's, so their secrets are in its namespace, whoever names them. */
function createFindTargetVariable({ env }: Authentication, options: ResolveOptions): FindVariable {
  const findEntry = createFindEntry(options);
  let reading: Promise<TargetRead> | null = null;
  if (env.length === 0) return () => Promise.resolve({ kind: "absent" });

  return async (name, containerName) => {
    reading ??= options.readTarget(options.signal);
    const target = await reading;
    if (target.kind === "missing") return { kind: "missing", cause: "its target is not there" };
    if (target.kind === "failed") return { kind: "failed", cause: `its target cannot be read: ${target.cause}` };
    const containers = readEnvContainers(target.object);
    const container = containerName === null ? containers[0] : containers.find((one) => one.name === containerName);
    if (container === undefined) {
      return { kind: "missing", cause: `its target has no container ${quote(containerName ?? "")}` };
    }
    return await createFindVariable(container, findEntry)(name);
  };
}

interface Refusal {
  readonly parameter: string;
  readonly found: Exclude<Found, { kind: "found" }>;
  /** What to say where nobody gives it. */
  readonly absent: string;
}

function refuse({ kind, name }: Authentication, { parameter, found, absent }: Refusal): Resolved {
  const cause = found.kind === "absent" ? absent : found.cause;
  const message = `Cannot resolve parameter ${quote(parameter)} of ${kind} "${name}": ${cause}`;
  return { kind: found.kind === "failed" ? "failed" : "missing", message };
}
