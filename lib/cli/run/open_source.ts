/**
 * Where does usage come from: kubelets, the proxy of the API server, cgroups or the metrics API?
 *
 * Every choice is logged, also the credential that kubelets get. Clauses: C54.
 */
import type { Scope } from "../../daemon/cluster/facts.ts";
import type { Metrics } from "../../daemon/metrics/metrics.ts";
import { createCaSource } from "../../kube/config/certificates.ts";
import type { GetCredential } from "../../kube/config/credential.ts";
import { createGivenCredential } from "../../kube/config/credential_sources.ts";
import type { ApiServer } from "../../kube/transport.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { Log } from "../../runtime/log.ts";
import { createAutoSource } from "../../usage/auto.ts";
import { type CgroupFiles, openCgroupFiles } from "../../usage/cgroup/files.ts";
import { watchCgroups } from "../../usage/cgroup/watch.ts";
import { createKubeletCredential, KUBELET_ACCOUNT } from "../../usage/kubelet/credential.ts";
import { createProxySource, openDirectSource, type SummarySource } from "../../usage/kubelet/fetch_summary.ts";
import { watchKubelets } from "../../usage/kubelet/watch.ts";
import { type MetricsApi, openMetricsApi } from "../../usage/metrics_api/watch.ts";
import type { WatchUsage } from "../../usage/source.ts";
import { toStartError } from "../command/process.ts";
import type { RunOptions } from "./options.ts";

/** Usage, and the resources that were opened for it. */
interface OpenedSource extends Disposable {
  readonly watchUsage: WatchUsage;
}

/** The inputs of every source. */
interface SourceContext {
  readonly server: ApiServer;
  readonly scope: Scope;
  readonly log: Log;
  readonly metrics: Pick<Metrics, "setUsageSource">;
  readonly clock: Clock;
}

/** Resolves to the source of `--stats-source`. Rejects with a StartError for an unusable file. */
export async function openSource(options: RunOptions, context: SourceContext): Promise<OpenedSource> {
  const { statsSource, node, cgroupRoot } = options;
  context.metrics.setUsageSource(statsSource);
  switch (statsSource) {
    case "cgroup":
      return openCgroups({ node: node ?? "", root: cgroupRoot ?? "" }, context);
    case "metrics-api":
      context.log.info("Reading usage", { source: statsSource });
      return openApi(context);
    case "auto": {
      const kubelets = await openKubelets(options, context);
      const api = openApi(context);
      return {
        watchUsage: createAutoSource(
          { name: "kubelet", watchUsage: kubelets.watchUsage },
          { name: "metrics-api", watchUsage: api.watchUsage },
          { clock: context.clock, random: Math.random },
        ),
        [Symbol.dispose]() {
          api[Symbol.dispose]();
          kubelets[Symbol.dispose]();
        },
      };
    }
    default:
      return await openKubelets(options, context);
  }
}

async function openKubelets(options: RunOptions, { server, log, clock }: SourceContext): Promise<OpenedSource> {
  const summaries = await openSummaries(options, { server, log, clock });
  return {
    watchUsage: watchKubelets(summaries, { clock, random: Math.random }),
    [Symbol.dispose]: () => summaries[Symbol.dispose](),
  };
}

function openApi({ server, scope, clock, log }: SourceContext): MetricsApi {
  return openMetricsApi({
    server,
    scope,
    clock,
    random: Math.random,
    onNamespace: (namespace, reason) =>
      reason === null
        ? log.info("Usage of namespace is read from metrics.k8s.io again", { namespace })
        : log.warn("Cannot read usage of namespace from metrics.k8s.io", { namespace, reason }),
  });
}

function openCgroups(
  { node, root }: { readonly node: string; readonly root: string },
  { log, clock }: SourceContext,
): OpenedSource {
  log.info("Reading usage", { source: "cgroup", node, root });
  const files = openFiles(root);
  return {
    watchUsage: watchCgroups(files, { node, root, clock }),
    [Symbol.dispose]: () => files[Symbol.dispose](),
  };
}

function openFiles(root: string): CgroupFiles & Disposable {
  try {
    return openCgroupFiles(root);
  } catch (error) {
    throw toStartError(error);
  }
}

/** The inputs of a source of summaries. */
interface SummariesContext {
  readonly server: ApiServer;
  readonly log: Log;
  readonly clock: Clock;
}

/** Resolves to kubelets, or the API server's proxy. Rejects with a StartError for an unusable file. */
export async function openSummaries(options: RunOptions, context: SummariesContext): Promise<SummarySource> {
  const { server, log, clock } = context;
  const { statsSource: source, kubeletCa: path, kubeletInsecureTls: insecureTls } = options;
  if (source === "proxy") {
    log.info("Reading usage", { source });
    return createProxySource(server, { clock });
  }
  if (insecureTls) {
    log.warn(
      "Kubelet certificates are not checked (--kubelet-insecure-tls): an attacker at a node's address gets the " +
        "token for kubelets; give their CA with --kubelet-ca instead",
    );
  }
  try {
    const { credential, readCredential } = await chooseKubeletCredential(options, context);
    log.info("Reading usage", { source, credential });
    const readCaCerts = path === null
      ? null
      : createCaSource({ kind: "file", path }, { what: "--kubelet-ca", now: clock.now });
    await readCaCerts?.(null);
    const addressTypes = options.kubeletPreferredAddressTypes;
    return openDirectSource(server, {
      clock,
      getCaCerts: readCaCerts,
      insecureTls,
      getCredential: readCredential,
      addressTypes,
    });
  } catch (error) {
    throw toStartError(error);
  }
}

/** The credential for kubelets. */
interface KubeletCredential {
  /** For the log. */
  readonly credential: string;
  readonly readCredential: GetCredential;
}

/**
 * Chooses the credential for kubelets. In a pod, the token with the right to resize is sent to a kubelet only if
 * --kubelet-own-credential says so. Rejects when a file cannot be read.
 */
export async function chooseKubeletCredential(
  { kubeletTokenFile: path, kubeletOwnCredential }: RunOptions,
  { server, clock }: SummariesContext,
): Promise<KubeletCredential> {
  if (path !== null) {
    const authorization = { kind: "tokenFile", path } as const;
    const readCredential = createGivenCredential({ kind: "given", authorization, certificate: null }, clock);
    await readCredential(null);
    return { credential: `the token file "${path}"`, readCredential };
  }
  if (kubeletOwnCredential || server.source !== "in-cluster") {
    return { credential: `that of ${server.source}`, readCredential: server.getCredential };
  }
  const account = `${server.namespace}/${KUBELET_ACCOUNT}`;
  return {
    credential: `tokens of service account "${account}"`,
    readCredential: createKubeletCredential(server, clock),
  };
}
