/**
 * `podfit lint --cluster`: checks what is in the cluster, or compares files with it. It only reads.
 *
 * It fetches only the kinds that the checks need, and reports what it may not read.
 */
import { createClient } from "../../kube/client.ts";
import { toApiError } from "../../kube/errors.ts";
import { CollectionFailure, DEFAULT_PAGE_SIZE, fetchPage, MAX_PAGES, type Page } from "../../kube/list.ts";
import type { ApiServer } from "../../kube/transport.ts";
import type { NamedWarning } from "../../model/lint_rules.ts";
import type { ScaledObjectFacts } from "../../model/scaled_object.ts";
import { advise } from "../../resources/pod_resource_autoscaler/warnings.ts";
import { type Clock, systemClock } from "../../runtime/clock.ts";
import type { Problem } from "../../units/untrusted.ts";
import { listenForSignals, toStartError } from "../command/process.ts";
import { connectTo } from "../connection/api_server.ts";
import type { Source } from "../manifests/files.ts";
import type { Noun } from "./check_object.ts";
import { listSecrets, type Secrets, usesClusterSecrets } from "./checks/authentications.ts";
import { checkTogether } from "./checks/checks.ts";
import { listAutoscalers, listScaledObjects, toWorkloadKind } from "./checks/context.ts";
import {
  type Level,
  type LocatedStatement,
  type Relation,
  type Report,
  type Statement,
  type Subject,
  toSubjectKey,
} from "./findings.ts";
import {
  type GivenAutoscaler,
  KINDS,
  type KnownObjects,
  NO_OBJECTS,
  overlay,
  type ParsedObjects,
  type Plural,
  PLURALS,
} from "./known_objects.ts";
import { hasSubject, type LintedSources, type LintResult, lintSources, toLintResult } from "./lint_files.ts";
import type { ClusterOptions, LintOptions } from "./options.ts";

/** Never rejects because of the cluster: then `failures` has the reason, and only the files are checked. */
export async function lintCluster(
  sources: readonly Source[],
  options: ClusterOptions & Pick<LintOptions, "namespace">,
): Promise<Report> {
  using ending = listenForSignals();
  try {
    await using server = await connectTo(options, ending.signal);
    return await lintServer({ server, sources, options, signal: ending.signal });
  } catch (error) {
    const read = lintSources(sources, options.namespace ?? undefined);
    const relations = checkTogether({ known: { ...read.objects, listed: new Set() }, isSubject: () => true });
    return { ...toLintResult(read, relations), unchecked: [], failures: [toStartError(error).message] };
  }
}

/** A server that is open already. */
interface LintServerOptions {
  readonly sources: readonly Source[];
  readonly options: Pick<ClusterOptions, "isEveryNamespace"> & Pick<LintOptions, "namespace">;
  readonly server: Pick<ApiServer, "origin" | "transport" | "namespace">;
  readonly clock?: Clock;
  readonly signal: AbortSignal;
}

/** Resolves to the report. Rejects where the server does not answer, or not as the API requires. */
export async function lintServer({ server, sources, options, clock, signal }: LintServerOptions): Promise<Report> {
  const own = options.namespace ?? server.namespace;
  const read = sources.length === 0 ? null : lintSources(sources, own);
  const namespace = options.isEveryNamespace ? null : read === null ? own : findOnlyNamespace(read, own);
  const asking: ListOptions = { server, namespace, signal, ...(clock !== undefined && { clock }) };
  const first = await listKinds(["podresourceautoscalers", "scaledobjects"], asking);
  const scaling = overlay(first.known, read?.objects ?? NO_OBJECTS);
  const rest = await listKinds(listNeeded(scaling), asking);
  const listed = new Set<Plural>([...first.known.listed, ...rest.known.listed]);
  const { podresourceautoscalers, scaledobjects } = scaling;
  const known = { ...overlay(rest.known, read?.objects ?? NO_OBJECTS), podresourceautoscalers, scaledobjects, listed };
  const { secrets, forbidden } = await fetchSecrets(listSecrets(known), asking);
  const has = read === null ? () => true : hasSubject(read);
  const relations = checkTogether({ known, isSubject: (subject) => has(toSubjectKey(subject)) }, secrets);
  const absent = describeAbsent(new Set([...first.absent, ...rest.absent]), { known, isOfFiles: read !== null });
  const kinds = new Set([...first.forbidden, ...rest.forbidden]);
  const result = read === null ? toClusterResult(known, relations) : toLintResult(read, relations);
  return {
    ...result,
    findings: [...absent, ...result.findings],
    unchecked: describeUnchecked({ forbidden: kinds }, { known, secrets: forbidden, namespace }),
    failures: [],
  };
}

/** The only namespace of all files' objects; `null` = there are several. */
function findOnlyNamespace({ objects }: LintedSources, own: string): string | null {
  const all = new Set([...objects.podresourceautoscalers, ...objects.scaledobjects].map(({ namespace }) => namespace));
  return all.size === 0 ? own : all.size === 1 ? [...all][0] ?? own : null;
}

/** In the form of files; by kind, namespace and name. */
function toClusterResult(
  known: KnownObjects,
  relations: readonly Relation[],
): Pick<LintResult, "checked" | "others"> & { readonly findings: readonly LocatedStatement[] } {
  const { podresourceautoscalers, scaledobjects } = known;
  const alone = [
    ...podresourceautoscalers.flatMap((facts) =>
      toShown(checkAutoscaler(facts), toSubject("PodResourceAutoscaler", facts))
    ),
    ...scaledobjects.flatMap((facts) => toShown(checkScaledObject(facts), toSubject("ScaledObject", facts))),
  ];
  const together = relations.flatMap(({ of, ...statement }) => toShown([statement], of));
  const counts = [["autoscaler", podresourceautoscalers.length], ["scaled object", scaledobjects.length]] as const;
  return {
    findings: [...alone, ...together].toSorted(bySubject),
    checked: new Map<Noun, number>(counts.filter(([, count]) => count > 0)),
    others: 0,
  };
}

function checkAutoscaler({ problems, warnings, autoscaler, spec }: GivenAutoscaler): readonly Statement[] {
  return [
    ...toStatements("error", problems),
    ...toStatements("warning", warnings),
    ...toStatements("advice", autoscaler === null ? [] : advise(autoscaler, spec)),
  ];
}

function checkScaledObject({ problems, warnings }: ScaledObjectFacts): readonly Statement[] {
  return [...toStatements("error", problems), ...toStatements("warning", warnings)];
}

function toStatements(level: Level, problems: readonly (Problem & Partial<NamedWarning>)[]): readonly Statement[] {
  const fallback = level === "error" ? "invalid" : "no-effect";
  return problems.map(({ rule = fallback, path, message }) => ({ level, rule, path, message }));
}

function toSubject(kind: string, { namespace, name }: Omit<Subject, "kind">): Subject {
  return { kind, namespace, name };
}

function toShown(statements: readonly Statement[], { kind, namespace, name }: Subject): readonly LocatedStatement[] {
  return statements.map((one) => ({ ...one, file: null, place: null, kind, object: `${namespace}/${name}` }));
}

function bySubject(a: LocatedStatement, b: LocatedStatement): number {
  const [one, other] = [a, b].map(({ kind, object }) => `${kind} ${object}`);
  return one === other ? 0 : (one ?? "") < (other ?? "") ? -1 : 1;
}

/** How a cluster is asked. */
interface ListOptions {
  readonly server: Pick<ApiServer, "origin" | "transport">;
  /** `null` = all. */
  readonly namespace: string | null;
  readonly clock?: Clock;
  readonly signal: AbortSignal;
}

/** The result of a request for a kind. */
interface ListedKinds {
  readonly known: KnownObjects;
  /** Kinds that the server does not know. */
  readonly absent: ReadonlySet<Plural>;
  /** Kinds that may not be listed. */
  readonly forbidden: ReadonlySet<Plural>;
}

/** Lists these kinds, one after the other. Rejects with a CollectionFailure where the server does not answer. */
async function listKinds(plurals: readonly Plural[], asking: ListOptions): Promise<ListedKinds> {
  const objects: Record<string, unknown> = { ...NO_OBJECTS };
  const [listed, absent, forbidden] = [new Set<Plural>(), new Set<Plural>(), new Set<Plural>()];
  for (const plural of PLURALS.filter((one) => plurals.includes(one))) {
    try {
      objects[plural] = await listAll(plural, asking);
      listed.add(plural);
    } catch (error) {
      const code = error instanceof CollectionFailure ? error.code : null;
      if (code === 404) absent.add(plural);
      else if (code === 403) forbidden.add(plural);
      else throw error;
    }
  }
  return { known: { ...objects as unknown as KnownObjects, listed }, absent, forbidden };
}

async function listAll<K extends Plural>(
  plural: K,
  { server, namespace, clock = systemClock, signal }: ListOptions,
): Promise<readonly ParsedObjects[K][]> {
  const { root, isNamespaced, read } = KINDS[plural];
  const prefix = isNamespaced && namespace !== null ? `/namespaces/${namespace}` : "";
  const all: ParsedObjects[K][] = [];
  let token: string | null = null;
  for (let page = 0; page < MAX_PAGES; page++) {
    const { objects, continueToken }: Page<ParsedObjects[K]> = await fetchPage<ParsedObjects[K]>(
      server.transport,
      token,
      {
        origin: server.origin,
        path: `${root}${prefix}/${plural}`,
        pageSize: DEFAULT_PAGE_SIZE,
        project: (object) => read(object),
        clock,
        signal,
      },
    );
    all.push(...objects);
    token = continueToken;
    if (token === null) break;
  }
  return all;
}

const WORKLOAD_PLURALS = { deployment: "deployments", statefulset: "statefulsets", daemonset: "daemonsets" } as const;

const AUTHENTICATION_PLURALS = {
  TriggerAuthentication: "triggerauthentications",
  ClusterTriggerAuthentication: "clustertriggerauthentications",
} as const;

/** Returns each kind once. */
function listNeeded(known: KnownObjects): readonly Plural[] {
  const autoscalers = listAutoscalers(known);
  const objects = listScaledObjects(known);
  const targets = [
    ...autoscalers.map(({ target }) => target?.kind ?? null),
    ...objects.map(({ target }) => toWorkloadKind(target.kind)),
  ];
  const refs = objects.flatMap(({ triggers }) =>
    triggers.flatMap((one) => one.kind === "external" ? one.authentication ?? [] : [])
  );
  const isBounded = autoscalers.some(({ sides }) =>
    sides.some(({ bounds: { min, max } }) => min !== null || max !== null)
  );
  const needed: readonly (readonly [Plural, boolean])[] = [
    ...targets.flatMap((kind) => kind === null ? [] : [[WORKLOAD_PLURALS[kind], true] as const]),
    ...refs.map(({ kind }) => [AUTHENTICATION_PLURALS[kind], true] as const),
    ["pods", autoscalers.length > 0],
    ["horizontalpodautoscalers", autoscalers.length + objects.length > 0],
    ["verticalpodautoscalers", autoscalers.length > 0],
    ["limitranges", isBounded],
    ["nodes", isBounded],
  ];
  return [...new Set(needed.filter(([, isNeeded]) => isNeeded).map(([plural]) => plural))];
}

/** The results by kind. */
interface FetchedSecrets {
  readonly secrets: Secrets;
  /** `namespace/name` of those that may not be read. */
  readonly forbidden: readonly string[];
}

const REQUEST_MS = 15_000;

/** Gets each by its name; never lists. Rejects where the server does not answer, or not as the API requires. */
async function fetchSecrets(
  names: readonly string[],
  { server, clock = systemClock, signal: ending }: ListOptions,
): Promise<FetchedSecrets> {
  const { core } = createClient(server);
  const secrets = new Map<string, readonly string[] | null>();
  const forbidden: string[] = [];
  for (const full of names) {
    const [namespace = "", name = ""] = full.split("/");
    using timeout = clock.timeout(REQUEST_MS);
    const signal = AbortSignal.any([ending, timeout.signal]);
    const { data, error, response } = await core.GET("/api/v1/namespaces/{namespace}/secrets/{name}", {
      params: { path: { namespace, name } },
      signal,
    });
    if (response.ok) secrets.set(full, Object.keys(data?.data ?? {}));
    else if (response.status === 404) secrets.set(full, null);
    else if (response.status === 403) forbidden.push(full);
    else throw toApiError(response, error);
  }
  return { secrets, forbidden };
}

const CRD_FILES: Readonly<Partial<Record<Plural, string>>> = {
  podresourceautoscalers: "podresourceautoscaler.yaml",
  scaledobjects: "scaledobject.yaml",
  triggerauthentications: "triggerauthentication.yaml",
  clustertriggerauthentications: "clustertriggerauthentication.yaml",
};

/** One error for each kind that a subject needs. Without ScaledObjects no rights for them are needed. */
function describeAbsent(
  absent: ReadonlySet<Plural>,
  { known, isOfFiles }: { readonly known: KnownObjects; readonly isOfFiles: boolean },
): readonly LocatedStatement[] {
  return [...absent].flatMap((plural): readonly LocatedStatement[] => {
    const file = CRD_FILES[plural];
    const isAsked = known[plural].length > 0 || plural.endsWith("triggerauthentications") ||
      (plural === "podresourceautoscalers" && !isOfFiles);
    if (file === undefined || !isAsked) return [];
    const message = `the cluster has no ${KINDS[plural].kind}: install its definition with ` +
      `\`kubectl apply --server-side -f crds/${file}\``;
    return [{
      level: "error",
      rule: "crd-missing",
      path: "",
      message,
      file: null,
      place: null,
      kind: null,
      object: null,
    }];
  });
}

/** Why a kind is needed. */
const PURPOSES: Readonly<Record<Plural, string>> = {
  podresourceautoscalers: "autoscalers of the cluster",
  scaledobjects: "ScaledObjects of the cluster",
  triggerauthentications: "authentications of triggers",
  clustertriggerauthentications: "authentications of the cluster",
  deployments: "targets that are Deployments",
  statefulsets: "targets that are StatefulSets",
  daemonsets: "targets that are DaemonSets",
  pods: "selectors, and containers that only live pods have",
  horizontalpodautoscalers: "HPAs of the same pods",
  verticalpodautoscalers: "VPAs of the same pods",
  limitranges: "bounds against limit ranges",
  nodes: "bounds against nodes",
};

/** One line for each kind that may not be listed, and for secrets. */
function describeUnchecked(
  { forbidden }: Pick<ListedKinds, "forbidden">,
  { known, secrets, namespace }: {
    readonly known: KnownObjects;
    /** `namespace/name` of those that may not be read. */
    readonly secrets: readonly string[];
    readonly namespace: string | null;
  },
): readonly string[] {
  const where = (plural: Plural) =>
    namespace === null || plural === "nodes" || plural === "clustertriggerauthentications"
      ? ""
      : ` in namespace "${namespace}"`;
  return [
    ...[...forbidden].map((plural) => `${PURPOSES[plural]}: grant list of ${plural}${where(plural)}`),
    ...secrets.map((name) => {
      const [of = "", secret = ""] = name.split("/");
      return `whether secret "${name}" is there: grant get of secrets in namespace "${of}" (to read ${secret})`;
    }),
    ...(usesClusterSecrets(known)
      ? [
        "secrets of ClusterTriggerAuthentications: they are in the namespace of podfit or KEDA, which lint does not know",
      ]
      : []),
  ];
}
