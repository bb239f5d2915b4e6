/** A podfit's debug listener by its address, such as that of `kubectl port-forward`. */
import { readErrorText } from "../../kube/body.ts";
import { toStartError } from "../run/start_error.ts";
import { DebugError, type DebugListener, NOTHING_KNOWN, toSearch } from "./debug_source.ts";
import { createListener } from "./listener.ts";

export interface UrlOptions {
  /** Without a slash at its end. */
  readonly url: string;
  /** For a listener with --metrics-auth; `null` = none is sent. */
  readonly token: string | null;
}

export function openUrl({ url, token }: UrlOptions): DebugListener {
  const headers = token === null ? {} : { authorization: `Bearer ${token}` };
  return createListener(url, async (query, signal) => {
    const response = await orUnreachable(
      fetch(`${url}/debug/records${toSearch(query)}`, { headers, signal, redirect: "error" }),
      { url, signal },
    );
    if (response.ok) return response;
    throw toError(response, await readErrorText(response, signal), url);
  });
}

async function orUnreachable(
  asked: Promise<Response>,
  { url, signal }: { readonly url: string; readonly signal: AbortSignal },
): Promise<Response> {
  try {
    return await asked;
  } catch (cause) {
    signal.throwIfAborted();
    const why = toStartError(cause).message;
    throw new DebugError("Unreachable", `Cannot reach podfit at "${url}": ${why}; is it --debug-listen's address?`, {
      cause,
    });
  }
}

function toError({ status }: Response, text: string, base: string): DebugError {
  const says = text.trim().split("\n")[0] ?? "";
  if (status === 404 && NOTHING_KNOWN.test(says)) return new DebugError("NothingKnown", says);
  if (status === 404) {
    const why = "it has no /debug/records there; name the address of --debug-listen, not that of --listen";
    return new DebugError("NoListener", `Cannot read records of "${base}": ${why}`);
  }
  if (status === 401 || status === 403) {
    const why = `it wants the token of somebody who may read it (--metrics-auth), and answered ${status}`;
    return new DebugError("NeedsToken", `Cannot read records of "${base}": ${why}; give --token-file`);
  }
  return new DebugError("BadAnswer", `Cannot read records of "${base}": it answered ${status} ${says}`.trim());
}
