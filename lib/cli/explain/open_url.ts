/** A podfit's debug listener by its address, such as that of `kubectl port-forward`. */
import { readText } from "../../kube/body.ts";
import { DebugError, type DebugQuery, type DebugSource, NOTHING_KNOWN, toSearch } from "./debug_source.ts";
import { readLines } from "./read_lines.ts";

export interface UrlOptions {
  readonly url: string;
  /** For a listener with --metrics-auth; `null` = none is sent. */
  readonly token: string | null;
  readonly fetch?: typeof fetch;
}

/** Throws a DebugError for what is no http or https address. */
export function openUrl({ url, token, fetch: send = fetch }: UrlOptions): DebugSource {
  const base = toBase(url);
  const headers = token === null ? {} : { authorization: `Bearer ${token}` };
  return {
    name: base,
    async *read(query: DebugQuery, signal: AbortSignal) {
      let response: Response;
      try {
        response = await send(`${base}/debug/records${toSearch(query)}`, { headers, signal });
      } catch (cause) {
        signal.throwIfAborted();
        const why = cause instanceof Error ? cause.message : String(cause);
        throw new DebugError(
          "Unreachable",
          `Cannot reach podfit at "${base}": ${why}; is it --debug-listen's address?`,
          { cause },
        );
      }
      if (response.ok && response.body !== null) return yield* readLines(response.body);
      throw toError(response, await readText(response, { limitBytes: LONGEST, signal }).catch(() => ""), base);
    },
  };
}

const LONGEST = 16_384;

function toBase(url: string): string {
  const parsed = URL.parse(url.includes("://") ? url : `http://${url}`);
  if (parsed !== null && /^https?:$/.test(parsed.protocol)) {
    return `${parsed.origin}${parsed.pathname.replace(/\/+$/, "")}`;
  }
  throw new DebugError("Unreachable", `Cannot use --url "${url}": it must be such as http://127.0.0.1:8081`);
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
