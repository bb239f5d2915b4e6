/** Do the authentications of triggers exist, and the secrets that they name? Clauses: R16. */
import type { AuthenticationRef, ScaledObject, TriggerSource } from "../../../model/scaled_object.ts";
import type {
  Authentication,
  AuthenticationFacts,
} from "../../../resources/trigger_authentication/trigger_authentication.ts";
import {
  findDestinationFault,
  findNamespaceFault,
  SAFE_RULES,
  toAudience,
} from "../../../resources/trigger_authentication/use.ts";
import type { Relation } from "../findings.ts";
import type { KnownObjects } from "../known_objects.ts";
import { listScaledObjects, toScaledSubject } from "./context.ts";

/** Names of the keys of secrets by `namespace/name`; `null` = the secret does not exist. Unreadable ones are missing. */
export type Secrets = ReadonlyMap<string, readonly string[] | null>;

/** A ScaledObject's trigger with the authentication that it names. */
interface Reference {
  readonly object: ScaledObject;
  readonly path: string;
  readonly ref: AuthenticationRef;
  readonly source: TriggerSource;
}

/** For each trigger: a missing authentication, the first missing secret, and credentials that may not go there. */
export function checkAuthentications(known: KnownObjects, secrets: Secrets): readonly Relation[] {
  return listReferences(known).flatMap(({ object, path, ref, source }): readonly Relation[] => {
    const found = findAuthentication(known, ref, object.namespace);
    const of = toScaledSubject(object);
    if (found === null) {
      if (!known.listed.has(PLURALS[ref.kind])) return [];
      const message = `there is no ${
        describeRef(ref, object)
      }, and the trigger is not asked until there is: create it, or correct the name`;
      return [{ of, level: "error", rule: "authentication-missing", path, message }];
    }
    if (found.authentication === null) return [];
    const refusal = findUseFault(found.authentication, object.namespace, source);
    const fault = findSecretFault(found.authentication, secrets);
    return [
      ...(refusal === null
        ? []
        : [{ of, level: "warning", rule: "authentication-refused", path, message: refusal } as const]),
      ...(fault === null ? [] : [{ of, level: "error", rule: "secret-missing", path, message: fault } as const]),
    ];
  });
}

/** The secrets that triggers need, each once, as `namespace/name`. Those of cluster authentications are in the operator's namespace. */
export function listSecrets(known: KnownObjects): readonly string[] {
  return [
    ...new Set(
      listReferences(known).flatMap(({ object, ref }) => {
        const found = findAuthentication(known, ref, object.namespace);
        const { namespace = null, secrets = [] } = found?.authentication ?? {};
        return namespace === null ? [] : secrets.map(({ name }) => `${namespace}/${name}`);
      }),
    ),
  ];
}

/** Whether a trigger names an authentication of the cluster, whose secrets are in the operator's namespace. */
export function usesClusterSecrets(known: KnownObjects): boolean {
  return listReferences(known).some(({ ref, object }) => {
    const found = findAuthentication(known, ref, object.namespace);
    return ref.kind === "ClusterTriggerAuthentication" && (found?.authentication?.secrets.length ?? 0) > 0;
  });
}

function listReferences(known: KnownObjects): readonly Reference[] {
  return listScaledObjects(known).flatMap((object) =>
    object.triggers.flatMap((trigger) =>
      trigger.kind !== "external" || trigger.authentication === null ? [] : [{
        object,
        path: `spec.triggers[${trigger.index}].authenticationRef`,
        ref: trigger.authentication,
        source: trigger.source,
      }]
    )
  );
}

const PLURALS = {
  TriggerAuthentication: "triggerauthentications",
  ClusterTriggerAuthentication: "clustertriggerauthentications",
} as const;

function findAuthentication(
  known: KnownObjects,
  { kind, name }: AuthenticationRef,
  namespace: string,
): AuthenticationFacts | null {
  return known[PLURALS[kind]].find((one) =>
    one.name === name && (kind !== "TriggerAuthentication" || (one.namespace ?? "default") === namespace)
  ) ?? null;
}

/** By the daemon's defaults. Servers that the authentication names by a parameter are known to the daemon alone. */
function findUseFault(authentication: Authentication, namespace: string, source: TriggerSource): string | null {
  const refusal = findNamespaceFault(authentication, namespace, SAFE_RULES);
  if (refusal !== null || (source.kind !== "prometheus" && source.kind !== "metrics-api")) return refusal;
  const url = URL.parse(source.kind === "prometheus" ? source.serverAddress : source.url);
  const given = [...authentication.secrets, ...authentication.env].map(({ parameter }) => parameter);
  const isElsewhere = given.some((parameter) => parameter === "url" || parameter === "serverAddress");
  if (url === null || isElsewhere || (source.authModes ?? []).length === 0) return null;
  return findDestinationFault(toAudience(authentication, { rules: SAFE_RULES, parameters: {} }), url);
}

function findSecretFault({ namespace, secrets: parameters }: Authentication, secrets: Secrets): string | null {
  for (const { parameter, name, key } of parameters) {
    const keys = secrets.get(`${namespace}/${name}`);
    if (keys === undefined || keys?.includes(key)) continue;
    const what = keys === null
      ? `there is no secret "${namespace}/${name}"`
      : `secret "${namespace}/${name}" has no key "${key}"`;
    return `${what}, from which parameter "${parameter}" comes, and the trigger is not asked until there is: create it`;
  }
  return null;
}

function describeRef({ kind, name }: AuthenticationRef, { namespace }: ScaledObject): string {
  return kind === "TriggerAuthentication" ? `${kind} "${name}" in namespace "${namespace}"` : `${kind} "${name}"`;
}
