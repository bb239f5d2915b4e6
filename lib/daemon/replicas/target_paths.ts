/**
 * Where is the scale of a target? Deployments and StatefulSets are known; any other kind is looked up in the API server's discovery (R6).
 * https://kubernetes.io/docs/concepts/extend-kubernetes/api-extension/custom-resources/#subresources
 */
import { toApiError } from "../../kube/api_error.ts";
import type { ApiClient } from "../../kube/client.ts";
import { abortable } from "../../runtime/abortable.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { Target } from "../../scaled_object/scaled_object.ts";
import { isRecord } from "../../units/untrusted.ts";

/** A target's resource. `null`: the API server has no such kind, or no scale of it. */
export type FoundResource =
  | { readonly kind: "found"; readonly plural: string; readonly isKnown: boolean }
  | { readonly kind: "missing"; readonly message: string };

/** Rejects as the client does, and with an ApiError where the lookup is refused for another reason. */
export type FindResource = (target: Target, signal: AbortSignal) => Promise<FoundResource>;

const KNOWN: ReadonlyMap<string, string> = new Map([["Deployment", "deployments"], ["StatefulSet", "statefulsets"]]);

/** A kind may be installed, or get a scale, at any time. */
const KEPT_MS = 60_000;
/** Of so many versions of groups, which objects name, what was found is kept. */
const MOST_KEPT = 200;

/** Looks up each version of a group at most once a minute, and once for all who ask meanwhile. */
export function createFindResource({ client, clock, timeoutMs }: FindResourceOptions): FindResource {
  const running = new Map<string, Promise<Resources | null>>();
  const kept = new Map<string, { readonly atMs: number; readonly resources: Resources | null }>();
  async function lookUp(apiVersion: string): Promise<Resources | null> {
    using timeout = clock.timeout(timeoutMs);
    try {
      const resources = await fetchResources(client, { apiVersion, signal: timeout.signal });
      if (kept.size > MOST_KEPT) kept.clear();
      kept.set(apiVersion, { atMs: clock.monotonic(), resources });
      return resources;
    } finally {
      running.delete(apiVersion);
    }
  }

  function share(apiVersion: string): Promise<Resources | null> {
    const known = running.get(apiVersion);
    if (known !== undefined) return known;
    const looking = lookUp(apiVersion);
    running.set(apiVersion, looking);
    // Whoever asked may be gone by then.
    looking.catch(() => {});
    return looking;
  }

  return async (target, signal) => {
    const { apiVersion, kind } = target;
    const known = apiVersion === "apps/v1" ? KNOWN.get(kind) : undefined;
    if (known !== undefined) return { kind: "found", plural: known, isKnown: true };
    const last = kept.get(apiVersion);
    const isKept = last !== undefined && clock.monotonic() - last.atMs < KEPT_MS;
    return pick(isKept ? last.resources : await abortable(share(apiVersion), signal), target);
  };
}

interface FindResourceOptions {
  readonly client: Pick<ApiClient, "untyped">;
  readonly clock: Pick<Clock, "monotonic" | "timeout">;
  /** How long one lookup may take. */
  readonly timeoutMs: number;
}

/** Names of resources and subresources, such as `deployments/scale`, with the kind of each. */
type Resources = ReadonlyMap<string, string>;

/** `null` when there is no such version of a group. */
async function fetchResources(
  { untyped }: Pick<ApiClient, "untyped">,
  { apiVersion, signal }: { readonly apiVersion: string; readonly signal: AbortSignal },
): Promise<Resources | null> {
  const { data, error, response } = await untyped({ method: "GET", path: toVersionPath(apiVersion), signal });
  if (response.status === 404) return null;
  if (!response.ok) throw toApiError(response, error);
  const resources = isRecord(data) && Array.isArray(data.resources) ? data.resources : [];
  return new Map(
    resources.flatMap((one: unknown) =>
      isRecord(one) && typeof one.name === "string" && typeof one.kind === "string" && one.namespaced === true
        ? [[one.name, one.kind] as const]
        : []
    ),
  );
}

/** Below `/api` for the group without a name. */
export function toVersionPath(apiVersion: string): string {
  const path = apiVersion.split("/").map(encodeURIComponent).join("/");
  return apiVersion.includes("/") ? `/apis/${path}` : `/api/${path}`;
}

function pick(resources: Resources | null, { apiVersion, kind }: Target): FoundResource {
  const words = `Cannot scale kind "${kind}" of "${apiVersion}"`;
  const found = [...resources ?? []].find(([name, own]) => own === kind && !name.includes("/"));
  if (found === undefined) return { kind: "missing", message: `${words}: the API server has no such kind` };
  const [plural] = found;
  if (resources?.has(`${plural}/scale`) !== true) {
    return { kind: "missing", message: `${words}: it has no subresource scale; name a kind that has one` };
  }
  return { kind: "found", plural, isKnown: false };
}
