/**
 * The credentials of one ScaledObject's triggers. They are read at first use, read again where a query has failed (R70), and held in between, as
 * KEDA holds them: a secret of a thousand objects is not fetched with each query. What is missing is asked for each time.
 */
import type { AuthenticationRef, ExternalTrigger } from "../scaled_object/trigger.ts";
import type { Resolved } from "./credentials.ts";
import { readAuth } from "./read_auth.ts";

/** Finds the authentication and resolves it; `missing` also where there is no such authentication. Rejects with the signal's reason only. */
export type ReadCredentials = (
  of: { readonly namespace: string; readonly ref: AuthenticationRef },
  signal: AbortSignal,
) => Promise<Resolved>;

export interface TriggerCredentials {
  /** What the trigger is asked with. */
  get(trigger: ExternalTrigger, signal: AbortSignal): Promise<Resolved>;
  /** Has those of this trigger read anew at their next use. */
  forget(trigger: ExternalTrigger): void;
}

export function createTriggerCredentials(namespace: string, readCredentials: ReadCredentials): TriggerCredentials {
  const held = new Map<string, Promise<Resolved>>();

  async function resolve(ref: AuthenticationRef, signal: AbortSignal): Promise<Resolved> {
    const id = toId(ref);
    const known = held.get(id);
    if (known !== undefined) return await known;
    const reading = readCredentials({ namespace, ref }, signal);
    held.set(id, reading);
    const drop = () => void (held.get(id) === reading && held.delete(id));
    try {
      const resolved = await reading;
      if (resolved.kind !== "resolved") drop();
      return resolved;
    } catch (error) {
      drop();
      throw error;
    }
  }

  function forget({ authentication }: ExternalTrigger): void {
    if (authentication !== null) held.delete(toId(authentication));
  }

  async function get(trigger: ExternalTrigger, signal: AbortSignal): Promise<Resolved> {
    const { authentication } = trigger;
    const resolved = authentication === null ? NONE : await resolve(authentication, signal);
    if (resolved.kind !== "resolved") return resolved;
    const checked = check(trigger, resolved);
    if (checked.kind === "missing") forget(trigger);
    return checked;
  }

  return { get, forget };
}

const NONE: Resolved = { kind: "resolved", credentials: {} };

function toId({ kind, name }: AuthenticationRef): string {
  return `${kind} ${name}`;
}

/** A parameter that its authentication mode needs is missing as a secret would be. */
function check({ source, metricName }: ExternalTrigger, resolved: Resolved & { kind: "resolved" }): Resolved {
  if (source.kind === "cron" || source.kind === "kubernetes-workload") return resolved;
  const read = readAuth(source, resolved.credentials);
  return read.ok ? resolved : { kind: "missing", message: `Cannot read trigger "${metricName}": ${read.cause}` };
}
