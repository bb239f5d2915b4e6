/** `--from prometheus URL QUERY` and `--for`: what they say. */
import { quote } from "../../units/untrusted.ts";
import { parseMs } from "../run/parse_values.ts";
import { StartError } from "../run/start_error.ts";

/** What the flags say. */
export interface AskedPrometheus {
  readonly url: string;
  readonly query: string;
  /** `null` = none, or made of the selector. */
  readonly memoryQuery: string | null;
}

/** Reads `--from` and `--memory-query`. Throws a StartError for anything but Prometheus. */
export function parseFrom(from: readonly string[] | undefined, bytes: string | undefined): AskedPrometheus | null {
  const memoryQuery = bytes ?? null;
  if (from === undefined) {
    if (memoryQuery !== null) throw new StartError("Cannot use --memory-query without --from prometheus");
    return null;
  }
  const [source, url, query, more] = from;
  if (source === "prometheus" && url !== undefined && query !== undefined && more === undefined) {
    return { url, query, memoryQuery };
  }
  const given = quote(from.join(" "));
  throw new StartError(`Cannot read --from ${given}: write --from prometheus URL QUERY, the query quoted`);
}

const DAY_HOURS = 24;

/** Reads `--for`: days too, which people think in and Go's durations lack. */
export function parseSpan(text: string): number {
  const [, days] = /^(\d{1,3})d$/.exec(text) ?? [];
  const ms = parseMs({ name: "--for", text: days === undefined ? text : `${Number(days) * DAY_HOURS}h` });
  if (ms < 60_000) throw new StartError(`Cannot use --for ${quote(text)}: a minute is the least that says anything`);
  return ms;
}
