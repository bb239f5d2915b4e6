/**
 * May this client read the flight records? Yes, if it comes by the API server's `pods/proxy`, or with a token that has
 * the right.
 *
 * The API server passes neither the user nor a token on. So a client proves two things: it may read pods in podfit's
 * namespace, because it sends the UID of podfit's pod; and no pod has its address, so no pod asks directly. The API server
 * finds pods by their first address alone, and asks podfit's pod by its first one. So no other family of addresses counts.
 */
import type { ApiClient } from "../../kube/client.ts";
import { toApiError } from "../../kube/errors.ts";
import { AnswerCache, type CacheableAnswer } from "../../runtime/cache.ts";
import type { Clock } from "../../runtime/clock.ts";
import { findAddressPurpose, LOOPBACK } from "../../units/address.ts";
import type { Access, CheckReader } from "./reader_access.ts";

/** The header with the UID of podfit's pod. */
export const POD_UID_HEADER = "podfit-pod-uid";

/** What is known of a client. */
export interface RecordsReader {
  readonly authorization: string | null;
  /** The value of POD_UID_HEADER. */
  readonly podUid: string | null;
  /** The IP address. `null` = not known. */
  readonly address: string | null;
}

/** Never rejects. */
export type CheckRecordsReader = (reader: RecordsReader) => Promise<Access>;

/** Resolves to the name of the pod that has the address and is not the API server's; `null` = none. Rejects on failure. */
export type FindPodAt = (address: string) => Promise<string | null>;

interface RecordsAccessOptions {
  /** That of podfit's own pod. */
  readonly podUid: string;
  /** The first address of podfit's own pod; `null` = not known. */
  readonly podIp: string | null;
  readonly findPodAt: FindPodAt;
  /** `null` = no token is accepted. */
  readonly checkReader: CheckReader | null;
  readonly clock: Pick<Clock, "monotonic">;
}

/**
 * Returns the check. A pod's address is asked about once a minute, any other one every 5 seconds, and only for a client
 * that sends the UID.
 */
export function createRecordsAccess(options: RecordsAccessOptions): CheckRecordsReader {
  const { podUid, podIp, findPodAt, checkReader, clock } = options;
  const pods = new AnswerCache<string | null>({ clock, maxEntries: MAX_ADDRESSES });
  const ask = async (address: string): Promise<CacheableAnswer<string | null>> => {
    const pod = await findPodAt(address);
    return { value: pod, keepMs: pod === null ? NO_POD_MS : POD_MS };
  };
  return async ({ authorization, podUid: given, address }) => {
    if (checkReader !== null && authorization !== null) return await checkReader(authorization, RECORDS_PATH);
    if (given === null || !isSame(given, podUid)) return { kind: "outsider", why: BY_PROXY };
    const from = address === null ? "" : toPlainAddress(address);
    // A trigger of a ScaledObject could ask podfit's own address.
    if (from === "" || findAddressPurpose(from) === LOOPBACK) return { kind: "outsider", why: BY_PROXY };
    if (podIp !== null && isIpv6(podIp) !== isIpv6(from)) return { kind: "outsider", why: BY_PROXY };
    try {
      const pod = await pods.get(from, () => ask(from));
      return pod === null
        ? { kind: "allowed" }
        : { kind: "outsider", why: `the request comes from pod "${pod}", and ${BY_PROXY}` };
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      return { kind: "unanswered", why: `cannot ask the API server which pod has the address ${from}: ${why}` };
    }
  };
}

export const RECORDS_PATH = "/debug/records";

const BY_PROXY =
  "records are read through the API server (pods/proxy), by podfit explain, top and record of this version";

const POD_MS = 60_000;
/** The address of a pod that has just started is not in its status yet. */
const NO_POD_MS = 5000;

const MAX_ADDRESSES = 256;

/** Takes the same time for each text of one length. */
function isSame(a: string, b: string): boolean {
  let difference = a.length ^ b.length;
  for (let at = 0; at < a.length; at++) difference |= a.charCodeAt(at) ^ b.charCodeAt(at % b.length);
  return difference === 0;
}

/** An IPv4 address that a listener for IPv6 shows as `::ffff:10.0.0.1`. */
function toPlainAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, "");
}

function isIpv6(address: string): boolean {
  return address.includes(":");
}

interface FindPodOptions {
  readonly client: Pick<ApiClient, "untyped">;
  readonly clock: Pick<Clock, "timeout">;
  /** Where podfit may list pods; `null` = everywhere. */
  readonly namespaces: readonly string[] | null;
}

/**
 * Returns a search among the pods that podfit may list. A pod in the host's network has a node's address, which the API
 * server may have too. In many managed clusters the API server's requests come from the pods of konnectivity-agent.
 */
export function createFindPodAt({ client, clock, namespaces }: FindPodOptions): FindPodAt {
  const list = async (scope: string, address: string, signal: AbortSignal): Promise<readonly PodPeer[]> => {
    const query = new URLSearchParams({ fieldSelector: `status.podIP=${address}`, resourceVersion: "0" });
    const path = `/api/v1${scope}/pods?${query}`;
    const { data, error, response } = await client.untyped({ method: "GET", path, signal });
    if (!response.ok) throw toApiError(response, error);
    return (data as { readonly items?: readonly PodPeer[] }).items ?? [];
  };
  return async (address) => {
    using timeout = clock.timeout(TIMEOUT_MS);
    const scopes = namespaces?.map((one) => `/namespaces/${encodeURIComponent(one)}`) ?? [""];
    for (const scope of scopes) {
      const found = (await list(scope, address, timeout.signal)).find((pod) => !isOfApiServer(pod));
      if (found !== undefined) return `${found.metadata.namespace}/${found.metadata.name}`;
    }
    return null;
  };
}

const TIMEOUT_MS = 10_000;

/** What is read of a pod. */
interface PodPeer {
  readonly metadata: {
    readonly namespace?: string;
    readonly name?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly spec?: { readonly hostNetwork?: boolean };
  readonly status?: { readonly phase?: string };
}

function isOfApiServer({ metadata: { namespace, labels = {} }, spec, status }: PodPeer): boolean {
  // The address of a pod that has ended may be another's.
  if (status?.phase === "Succeeded" || status?.phase === "Failed") return true;
  if (spec?.hostNetwork === true) return true;
  return namespace === "kube-system" &&
    [labels["k8s-app"], labels["app"]].includes("konnectivity-agent");
}
