/** Lists what the cluster has, one request for each kind and page. It only reads. */
import { CollectionFailure } from "../../../kube/collection_failure.ts";
import { DEFAULT_PAGE_SIZE, fetchPage, MAX_PAGES, type Page } from "../../../kube/list.ts";
import type { ApiServer } from "../../../kube/transport.ts";
import { type Clock, systemClock } from "../../../runtime/clock.ts";
import { type Contents, KINDS, type Known, NOTHING, type Plural, PLURALS } from "../known.ts";

/** How a cluster is asked. */
export interface Asking {
  readonly server: Pick<ApiServer, "origin" | "transport">;
  /** `null` = all. */
  readonly namespace: string | null;
  readonly clock?: Clock;
  readonly signal: AbortSignal;
}

/** What came of it. */
export interface Listed {
  readonly known: Known;
  /** Kinds that the server does not know. */
  readonly absent: ReadonlySet<Plural>;
  /** Kinds that may not be listed. */
  readonly forbidden: ReadonlySet<Plural>;
}

/** Lists these kinds, one after the other. Rejects with a CollectionFailure where the server does not answer. */
export async function listKinds(plurals: readonly Plural[], asking: Asking): Promise<Listed> {
  const objects: Record<string, unknown> = { ...NOTHING };
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
  return { known: { ...objects as unknown as Known, listed }, absent, forbidden };
}

async function listAll<K extends Plural>(
  plural: K,
  { server, namespace, clock = systemClock, signal }: Asking,
): Promise<readonly Contents[K][]> {
  const { root, isNamespaced, read } = KINDS[plural];
  const prefix = isNamespaced && namespace !== null ? `/namespaces/${namespace}` : "";
  const all: Contents[K][] = [];
  let token: string | null = null;
  for (let page = 0; page < MAX_PAGES; page++) {
    const { objects, continueToken }: Page<Contents[K]> = await fetchPage<Contents[K]>(server.transport, token, {
      origin: server.origin,
      path: `${root}${prefix}/${plural}`,
      pageSize: DEFAULT_PAGE_SIZE,
      project: (object) => read(object),
      clock,
      signal,
    });
    all.push(...objects);
    token = continueToken;
    if (token === null) break;
  }
  return all;
}
