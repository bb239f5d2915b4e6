/**
 * Which credentials does a trigger have?
 *
 * A TriggerAuthentication names secrets and variables of the target's containers. They are fetched at first use, kept,
 * and fetched again after a failure.
 */
import type { AuthenticationRef, ExternalTrigger } from "../model/scaled_object.ts";
import type { Authentication } from "../resources/trigger_authentication/trigger_authentication.ts";
import {
  type Audience,
  type CredentialRules,
  findDestinationFault,
  findNamespaceFault,
  toAudience,
} from "../resources/trigger_authentication/use.ts";
import { quote } from "../units/untrusted.ts";
import {
  createFindEntry,
  createFindVariable,
  type FetchObject,
  type Found,
  listEnvContainers,
} from "./container_env.ts";
import { resolveAuth, toTriggerRequest } from "./request.ts";
import type { TriggerParameters } from "./value.ts";

/**
 * Finds and resolves the authentication; also `missing` if the authentication does not exist. Rejects only with the
 * signal's reason.
 */
export type FetchCredentials = (
  of: { readonly namespace: string; readonly ref: AuthenticationRef },
  signal: AbortSignal,
) => Promise<ResolvedCredentials>;

export interface TriggerCredentials {
  /** Returns the credentials of a query. */
  get(trigger: ExternalTrigger, signal: AbortSignal): Promise<ResolvedCredentials>;
  /** Makes the next use fetch the credentials of this trigger again. */
  forget(trigger: ExternalTrigger): void;
}

/**
 * Keeps the credentials of one ScaledObject's triggers: fetched at first use, and again after a failure. Clauses: R70.
 */
export function createTriggerCredentials(namespace: string, fetchCredentials: FetchCredentials): TriggerCredentials {
  const held = new Map<string, Promise<ResolvedCredentials>>();

  async function resolve(ref: AuthenticationRef, signal: AbortSignal): Promise<ResolvedCredentials> {
    const id = toId(ref);
    const known = held.get(id);
    if (known !== undefined) return await known;
    const reading = fetchCredentials({ namespace, ref }, signal);
    held.set(id, reading);
    const drop = () => void (held.get(id) === reading && held.delete(id));
    try {
      const resolved = await reading;
      if (resolved.kind !== "resolved") drop();
      return resolved;
    } catch (error) {
      drop();
      throw error;
    }
  }

  function forget({ authentication }: ExternalTrigger): void {
    if (authentication !== null) held.delete(toId(authentication));
  }

  async function get(trigger: ExternalTrigger, signal: AbortSignal): Promise<ResolvedCredentials> {
    const { authentication } = trigger;
    const resolved = authentication === null ? NO_CREDENTIALS : await resolve(authentication, signal);
    if (resolved.kind !== "resolved") return resolved;
    const checked = checkParameters(trigger, resolved);
    if (checked.kind === "missing") forget(trigger);
    return checked;
  }

  return { get, forget };
}

const NO_CREDENTIALS: ResolvedCredentials = { kind: "resolved", credentials: {}, audience: null };

function toId({ kind, name }: AuthenticationRef): string {
  return `${kind} ${name}`;
}

/**
 * A missing parameter of its authentication mode is treated like a missing secret, and so are credentials that may not
 * go where the trigger asks.
 */
function checkParameters(
  { source, metricName }: ExternalTrigger,
  resolved: ResolvedCredentials & { kind: "resolved" },
): ResolvedCredentials {
  if (source.kind !== "prometheus" && source.kind !== "metrics-api") return resolved;
  const refuse = (cause: string): ResolvedCredentials => {
    return { kind: "missing", message: `Cannot read trigger "${metricName}": ${cause}` };
  };
  const resolution = resolveAuth(source, resolved.credentials);
  if (!resolution.ok) return refuse(resolution.cause);
  const { auth } = resolution;
  const { audience } = resolved;
  if (audience === null || (auth.headers.length === 0 && auth.query === null && auth.oauth === null)) return resolved;
  const tokenFault = auth.oauth && findDestinationFault(audience, auth.oauth.url);
  if (tokenFault !== null) return refuse(tokenFault);
  const built = toTriggerRequest(source, { auth, now: 0, userAgent: "" });
  const fault = built.ok ? findDestinationFault(audience, built.request.url) : built.cause;
  return fault === null ? resolved : refuse(fault);
}

interface ResolveOptions {
  /** The namespace of the ScaledObject. */
  readonly namespace: string;
  /** PODFIT_CLUSTER_OBJECT_NAMESPACE. */
  readonly clusterNamespace: string;
  readonly rules: CredentialRules;
  readonly fetchSecret: FetchObject;
  readonly fetchConfigMap: FetchObject;
  /** Fetches the ScaledObject's target; called only if `env` is used. */
  readonly fetchTarget: (signal: AbortSignal) => Promise<TargetResult>;
  /** Lets other work of the process run. */
  readonly pause: () => Promise<void>;
  readonly signal: AbortSignal;
}

export type TargetResult =
  | { readonly kind: "found"; readonly object: unknown }
  | { readonly kind: "missing" }
  | { readonly kind: "failed"; readonly cause: string };

/** Messages name objects, keys and variables, and never quote their values. */
export type ResolvedCredentials =
  | {
    readonly kind: "resolved";
    readonly credentials: TriggerParameters;
    /** `null` = there are no credentials. */
    readonly audience: Audience | null;
  }
  /** Something does not exist, or may not be used: nothing is written until that changes. */
  | { readonly kind: "missing"; readonly message: string }
  /** Something could not be read, for example because a right is missing. */
  | { readonly kind: "failed"; readonly message: string };

/**
 * Returns the parameters of an authentication. Secrets are in the ScaledObject's namespace; those of a
 * ClusterTriggerAuthentication are only in the operator's. Rejects only with the signal's reason. Clauses: R16.
 */
export async function resolveCredentials(
  authentication: Authentication,
  options: ResolveOptions,
): Promise<ResolvedCredentials> {
  const { namespace, clusterNamespace, rules } = options;
  const fault = findNamespaceFault(authentication, namespace, rules);
  if (fault !== null) return { kind: "missing", message: fault };
  const secretsIn = authentication.kind === "ClusterTriggerAuthentication" ? clusterNamespace : namespace;
  const findSecret = createFindEntry({ ...options, namespace: secretsIn });
  const findVariable = createFindTargetVariable(authentication, options);
  const credentials = new Map<string, string>();
  const secrets = new Map<string, string>();
  // As in KEDA, the last entry counts, and secrets have priority over variables.
  for (const { parameter, name, containerName } of authentication.env) {
    const found = await findVariable(name, containerName);
    if (found.kind !== "found") {
      return refuseParameter(authentication, {
        parameter,
        found,
        absent: `its container has no variable ${quote(name)}`,
      });
    }
    credentials.set(parameter, found.text);
  }
  for (const { parameter, name, key } of authentication.secrets) {
    const found = await findSecret({ kind: "secret", name, key });
    const absent = `secret "${secretsIn}/${name}" has no key ${quote(key)}`;
    if (found.kind !== "found") return refuseParameter(authentication, { parameter, found, absent });
    credentials.set(parameter, found.text);
    secrets.set(parameter, found.text);
  }
  // The author of the target sets its variables, and does not decide where the operator's secrets may go.
  const own = authentication.kind === "ClusterTriggerAuthentication" ? secrets : credentials;
  const audience = toAudience(authentication, { rules, parameters: Object.fromEntries(own) });
  return { kind: "resolved", credentials: Object.fromEntries(credentials), audience };
}

type FindVariable = (name: string, containerName: string | null) => Promise<Found>;

/** The variables are the target's, so their secrets are in the target's namespace. */
function createFindTargetVariable({ env }: Authentication, options: ResolveOptions): FindVariable {
  const findEntry = createFindEntry(options);
  const finders = new Map<string | null, (name: string) => Promise<Found>>();
  let target: TargetResult | null = null;
  if (env.length === 0) return () => Promise.resolve({ kind: "absent" });

  return async (name, containerName) => {
    const known = finders.get(containerName);
    if (known !== undefined) return await known(name);
    target ??= await options.fetchTarget(options.signal);
    if (target.kind === "missing") return { kind: "missing", cause: "its target is not there" };
    if (target.kind === "failed") return { kind: "failed", cause: `its target cannot be read: ${target.cause}` };
    const containers = listEnvContainers(target.object);
    const container = containerName === null ? containers[0] : containers.find((one) => one.name === containerName);
    if (container === undefined) {
      return { kind: "missing", cause: `its target has no container ${quote(containerName ?? "")}` };
    }
    const find = createFindVariable(container, { findEntry, pause: options.pause });
    finders.set(containerName, find);
    return await find(name);
  };
}

interface RefusedParameter {
  readonly parameter: string;
  readonly found: Exclude<Found, { kind: "found" }>;
  /** The cause if it is not defined. */
  readonly absent: string;
}

function refuseParameter(
  { kind, name }: Authentication,
  { parameter, found, absent }: RefusedParameter,
): ResolvedCredentials {
  const cause = found.kind === "absent" ? absent : found.cause;
  const message = `Cannot resolve parameter ${quote(parameter)} of ${kind} "${name}": ${cause}`;
  return { kind: found.kind === "failed" ? "failed" : "missing", message };
}
