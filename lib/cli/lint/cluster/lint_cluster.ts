/** `podfit lint --cluster`: what is in the cluster by itself, or files held against it. */
import type { ApiServer } from "../../../kube/transport.ts";
import type { Clock } from "../../../runtime/clock.ts";
import { connectTo, readServerEnvironment } from "../../connect_to.ts";
import { listenForSignals } from "../../signals.ts";
import { toStartError } from "../../run/start_error.ts";
import { listSecrets } from "../checks/authentications.ts";
import { checkTogether } from "../checks/checks.ts";
import { toSubjectKey } from "../finding.ts";
import { lay, NOTHING, type Plural } from "../known.ts";
import { hasSubject, type ReadManifests, readSources, type Source, toLintResult } from "../manifests.ts";
import type { ClusterOptions } from "../options.ts";
import type { Report } from "../report.ts";
import { describeAbsent } from "./absent.ts";
import { toClusterResult } from "./in_cluster.ts";
import { type Asking, listKinds } from "./list.ts";
import { listNeeded } from "./needed.ts";
import { readSecrets } from "./secrets.ts";
import { describeUnchecked } from "./unchecked.ts";

/** What is asked for. */
export interface LintClusterOptions {
  readonly sources: readonly Source[];
  readonly options: ClusterOptions;
  readonly getEnv: (name: string) => string | undefined;
}

/** Never rejects for a cluster: `failures` says why it could not be asked, and the files are looked at by themselves. */
export async function lintCluster({ sources, options, getEnv }: LintClusterOptions): Promise<Report> {
  using ending = listenForSignals();
  const environment = readServerEnvironment(getEnv);
  try {
    await using server = await connectTo({ ...options, environment }, ending.signal);
    return await lintServer({ server, sources, options, signal: ending.signal });
  } catch (error) {
    const read = readSources(sources, options.namespace ?? undefined);
    const relations = checkTogether({ known: { ...read.objects, listed: new Set() }, isSubject: () => true });
    return { ...toLintResult(read, relations), unchecked: [], failures: [toStartError(error).message] };
  }
}

/** A server that is open already. */
export interface LintServerOptions extends Pick<LintClusterOptions, "sources" | "options"> {
  readonly server: Pick<ApiServer, "origin" | "transport" | "namespace">;
  readonly clock?: Clock;
  readonly signal: AbortSignal;
}

/** Rejects where the server does not answer, or not as the API has it. */
export async function lintServer({ server, sources, options, clock, signal }: LintServerOptions): Promise<Report> {
  const own = options.namespace ?? server.namespace;
  const read = sources.length === 0 ? null : readSources(sources, own);
  const namespace = options.isEveryNamespace ? null : read === null ? own : readOnlyNamespace(read, own);
  const asking: Asking = { server, namespace, signal, ...(clock !== undefined && { clock }) };
  const first = await listKinds(["podresourceautoscalers", "scaledobjects"], asking);
  const scaling = lay(first.known, read?.objects ?? NOTHING);
  const rest = await listKinds(listNeeded(scaling), asking);
  const listed = new Set<Plural>([...first.known.listed, ...rest.known.listed]);
  const { podresourceautoscalers, scaledobjects } = scaling;
  const known = { ...lay(rest.known, read?.objects ?? NOTHING), podresourceautoscalers, scaledobjects, listed };
  const { secrets, forbidden } = await readSecrets(listSecrets(known), asking);
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

/** The one that all files' objects are of; `null` = there are several. */
function readOnlyNamespace({ objects }: ReadManifests, own: string): string | null {
  const all = new Set([...objects.podresourceautoscalers, ...objects.scaledobjects].map(({ namespace }) => namespace));
  return all.size === 0 ? own : all.size === 1 ? [...all][0] ?? own : null;
}
