/**
 * What does the user ask about?
 *
 * A name without a kind is a pod's. Where no such pod exists, it is that of a workload, a ScaledObject or a
 * PodResourceAutoscaler. An autoscaler with a target is about that workload.
 */
import type { Subject, SubjectKind } from "../command/parse_values.ts";
import { fetchOne, getField, type Server, toPath } from "../connection/podfits.ts";
import { DebugError } from "../connection/records.ts";

/** What was typed, and where. */
export interface SubjectQuery {
  readonly subject: Subject;
  /** It was typed without a kind. */
  readonly isBare: boolean;
  readonly namespace: string;
}

interface FoundSubject {
  readonly subject: Subject;
  /** How the subject differs from what was typed; `null` = it is the same. */
  readonly note: string | null;
}

/** Where the objects of a kind are, in the order in which a bare name is searched. */
const PLACES: Readonly<Record<SubjectKind, readonly [prefix: string, plural: string]>> = {
  pod: ["/api/v1", "pods"],
  deployment: ["/apis/apps/v1", "deployments"],
  statefulset: ["/apis/apps/v1", "statefulsets"],
  daemonset: ["/apis/apps/v1", "daemonsets"],
  scaledobject: ["/apis/keda.sh/v1alpha1", "scaledobjects"],
  podresourceautoscaler: ["/apis/keda.kedify.io/v1alpha1", "podresourceautoscalers"],
};

const KINDS = Object.keys(PLACES) as readonly SubjectKind[];

/** Resolves to the subject. Rejects with a DebugError where there is none of that name, or where nothing answers. */
export async function findSubject(
  server: Server,
  { subject, isBare, namespace }: SubjectQuery,
  signal: AbortSignal,
): Promise<FoundSubject> {
  const { name } = subject;
  for (const kind of isBare ? KINDS : [subject.kind]) {
    const object = await fetchSubject(server, { kind, name }, { namespace, signal });
    if (object === null) continue;
    const found = kind === "podresourceautoscaler" ? toTarget(object) ?? { kind, name } : { kind, name };
    const isSame = found.kind === subject.kind && found.name === name;
    const why = kind === subject.kind
      ? `${kind}/${name} is about it`
      : `there is no ${subject.kind} "${namespace}/${name}"`;
    return { subject: found, note: isSame ? null : `Explaining ${found.kind}/${found.name}: ${why}` };
  }
  const what = isBare ? "pod or workload" : subject.kind;
  const how = isBare ? "; other kinds are written deployment/NAME" : "";
  throw new DebugError(
    "NoPod",
    `Cannot find ${what} "${name}" in namespace "${namespace}": there is none; name another with -n${how}`,
  );
}

/** `null` = there is none. An object that may not be read may be there: podfit may have records of it. */
async function fetchSubject(
  server: Server,
  { kind, name }: Subject,
  { namespace, signal }: { readonly namespace: string; readonly signal: AbortSignal },
): Promise<unknown> {
  const [prefix, plural] = PLACES[kind];
  try {
    return await fetchOne(server, `${prefix}${toPath`/namespaces/${namespace}/${plural}/${name}`}`, signal);
  } catch (error) {
    if (kind !== "pod" && error instanceof DebugError && error.reason === "NoRight") return kind;
    throw error;
  }
}

/** The workload that an autoscaler is about; `null` for one with a selector. */
function toTarget(autoscaler: unknown): Subject | null {
  const [kind, name] = [getField(autoscaler, "spec", "target", "kind"), getField(autoscaler, "spec", "target", "name")];
  const found = typeof kind === "string" ? KINDS.find((one) => one === kind.toLowerCase()) : undefined;
  return found === undefined || typeof name !== "string" ? null : { kind: found, name };
}
