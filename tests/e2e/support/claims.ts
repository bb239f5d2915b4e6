/** A scenario's share of a cluster that others use at the same time: see `tools/claims.ts`. */
import { systemClock } from "../../../lib/runtime/clock.ts";
import type { Claim } from "../../../tools/claims.ts";

/** Longer than any whole run. */
const TIMEOUT_MS = 4 * 60 * 60_000;

/** Resolves once the scenario may begin; at once where nobody hands out shares. Disposal gives the share back. */
export async function claimShare(claim: Claim): Promise<AsyncDisposable> {
  const url = Deno.env.get("E2E_CLAIMS") ?? "";
  if (url === "") return { [Symbol.asyncDispose]: () => Promise.resolve() };
  const path = await send(url, { method: "POST", body: JSON.stringify(claim) });
  return { [Symbol.asyncDispose]: async () => void await send(url + path, { method: "DELETE" }) };
}

async function send(url: string, options: RequestInit): Promise<string> {
  using timeout = systemClock.timeout(TIMEOUT_MS);
  const response = await fetch(url, { ...options, signal: timeout.signal });
  const text = await response.text();
  if (!response.ok) throw new Error(`Cannot claim a share of the cluster: ${response.status} ${text}`);
  return text;
}
