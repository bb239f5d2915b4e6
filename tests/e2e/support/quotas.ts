/**
 * What a namespace allows its pods: LimitRange and ResourceQuota. The server refuses by a quota only once its controller
 * has counted what is there.
 */
import { assertEquals } from "#assert";
import { type Manifest, toPath } from "./backend.ts";
import { find, waitFor } from "./cluster.ts";

type Quantities = Readonly<Record<string, string>>;

interface LimitRangeItem {
  readonly type: "Container" | "Pod";
  readonly min?: Quantities;
  readonly max?: Quantities;
}

export function limitRange(name: string, ...limits: readonly LimitRangeItem[]): Manifest {
  return { apiVersion: "v1", kind: "LimitRange", metadata: { name }, spec: { limits } };
}

/** `hard`: e.g. `{ "requests.memory": "1Gi" }`. */
export function quota(name: string, hard: Quantities): Manifest {
  return { apiVersion: "v1", kind: "ResourceQuota", metadata: { name }, spec: { hard } };
}

interface QuotaJson {
  readonly status?: { readonly used?: Quantities };
}

/** Until the quota has counted exactly this as used. */
export function waitForQuota(namespace: string, name: string, used: Quantities): Promise<true> {
  return waitFor(`quota "${name}" to have counted`, async () => {
    const found = await find<QuotaJson>(toPath({ kind: "ResourceQuota", namespace, name }));
    assertEquals(found?.status?.used, used);
    return true;
  }, { timeoutMs: 20_000 });
}
