/** Which Kubernetes this is, and what its version cannot do yet (L33). */
import { createClient } from "../../kube/client.ts";
import type { ApiServer } from "../../kube/transport.ts";
import type { Clock } from "../../runtime/clock.ts";

/** Who is asked. */
export interface VersionOptions extends Pick<ApiServer, "origin" | "transport"> {
  readonly clock: Clock;
}

const TIMEOUT_MS = 10_000;

/** The API server's version as `v1.36.3`; `null` where it does not say. Never rejects. */
export async function fetchServerVersion(options: VersionOptions, signal: AbortSignal): Promise<string | null> {
  try {
    using timeout = options.clock.timeout(TIMEOUT_MS);
    const { data } = await createClient(options).core.GET("/version/", {
      signal: AbortSignal.any([signal, timeout.signal]),
    });
    return data?.gitVersion ?? null;
  } catch {
    // It is asked once: without an answer, refusals are believed.
    return null;
  }
}

/** In place, memory limits go down since this minor of Kubernetes 1 (KEP-1287). */
const LOWERS_MEMORY_SINCE = 34;

/** Whether API server and kubelet of these versions (`v1.36.3`) lower a memory limit; an unknown one is believed to. */
export function lowersMemoryLimits(...versions: readonly (string | null)[]): boolean {
  return versions.every((version) => {
    const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(version ?? "") ?? [];
    return major === undefined || Number(major) > 1 || Number(minor) >= LOWERS_MEMORY_SINCE;
  });
}
