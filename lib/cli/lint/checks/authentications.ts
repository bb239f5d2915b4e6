/** Do the authentications of triggers exist, and the secrets that they name? Clauses: R16. */
import type { AuthenticationRef, ScaledObject } from "../../../model/scaled_object.ts";
import type {
  Authentication,
  AuthenticationFacts,
} from "../../../resources/trigger_authentication/trigger_authentication.ts";
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
}

/** One finding for each trigger: a missing authentication, or the first missing secret. */
export function checkAuthentications(known: KnownObjects, secrets: Secrets): readonly Relation[] {
  return listReferences(known).flatMap(({ object, path, ref }): readonly Relation[] => {
    const found = findAuthentication(known, ref, object.namespace);
    const of = toScaledSubject(object);
    if (found === null) {
      if (!known.listed.has(PLURALS[ref.kind])) return [];
      const message = `there is no ${
        describeRef(ref, object)
      }, and the trigger is not asked until there is: create it, or correct the name`;
      return [{ of, level: "error", rule: "authentication-missing", path, message }];
    }
    const fault = found.authentication === null ? null : findSecretFault(found.authentication, secrets);
    return fault === null ? [] : [{ of, level: "error", rule: "secret-missing", path, message: fault }];
  });
}

/** The secrets that triggers need, each once, as `namespace/name`. Those of cluster authentications are in podfit's namespace. */
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

/** Whether a trigger names an authentication of the cluster, whose secrets are in podfit's own namespace. */
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
