/** Which keys do the secrets have that triggers name? What is in them is let go at once. */
import { toApiError } from "../../../kube/api_error.ts";
import { createClient } from "../../../kube/client.ts";
import { systemClock } from "../../../runtime/clock.ts";
import type { Secrets } from "../checks/authentications.ts";
import type { Asking } from "./list.ts";

/** What came of asking for each. */
export interface ReadSecrets {
  readonly secrets: Secrets;
  /** `namespace/name` of those that may not be read. */
  readonly forbidden: readonly string[];
}

const REQUEST_MS = 15_000;

/** Gets each by its name; never lists. Rejects where the server does not answer, or not as it should. */
export async function readSecrets(
  names: readonly string[],
  { server, clock = systemClock, signal: ending }: Asking,
): Promise<ReadSecrets> {
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
