/**
 * Answers lists: in order, page by page from one snapshot, at the versions that a real server accepts.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks
 */
import type { Collection } from "../store/collection.ts";
import {
  badMatch,
  badOptions,
  badRequest,
  expired,
  notAVersion,
  tooLargeVersion,
  unsupportedValue,
} from "../refusal.ts";
import type { Selection } from "./selectors.ts";
import type { Entry } from "../store/entry.ts";

/** A page of a list. */
export interface ListPage {
  readonly entries: readonly Entry[];
  readonly version: number;
  readonly continueToken: string | null;
  readonly remaining: number | null;
}

/** The entries that were there when a paged list began. They are kept for five minutes, as etcd does. */
interface Snapshot {
  readonly entries: readonly Entry[];
  readonly version: number;
  /** True without a selector: only then a page says how many remain. */
  readonly isWhole: boolean;
  readonly expiresAt: number;
}

const SNAPSHOT_MS = 300_000;
const MAX_SNAPSHOTS = 64;

/** Lists collections, page by page where a limit is asked for. */
export class Lister {
  readonly #now: () => number;
  readonly #snapshots = new Map<string, Snapshot>();
  #made = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  list(
    collection: Collection,
    { query, selection, version }: {
      readonly query: URLSearchParams;
      readonly selection: Selection;
      /** The newest. */
      readonly version: number;
    },
  ): ListPage {
    const limit = readLimit(query.get("limit"));
    const token = query.get("continue") ?? "";
    checkMatch(query);
    if (token !== "") return this.#page(token, limit);
    checkVersion(query, version);
    const entries = collection.list(selection).filter(({ object }) => selection.isSelected(object));
    if (limit === 0 || entries.length <= limit) return { entries, version, continueToken: null, remaining: null };
    const id = String(++this.#made);
    const isWhole = !query.get("labelSelector") && !query.get("fieldSelector");
    this.#snapshots.set(id, { entries, version, isWhole, expiresAt: this.#now() + SNAPSHOT_MS });
    this.#forget();
    return this.#page(toToken({ id, start: 0 }), limit);
  }

  /** Every list under way has to begin anew. */
  expire(): void {
    this.#snapshots.clear();
  }

  #page(token: string, limit: number): ListPage {
    const { id, start } = readToken(token);
    this.#forget();
    const snapshot = this.#snapshots.get(id);
    if (snapshot === undefined) throw expired(TOO_OLD);
    const { entries, version, isWhole } = snapshot;
    const end = limit === 0 ? entries.length : start + limit;
    const remaining = Math.max(0, entries.length - end);
    const continueToken = remaining === 0 ? null : toToken({ id, start: end });
    const told = isWhole && remaining > 0 ? remaining : null;
    return { entries: entries.slice(start, end), version, continueToken, remaining: told };
  }

  #forget(): void {
    for (const [id, { expiresAt }] of this.#snapshots) {
      if (expiresAt <= this.#now() || this.#snapshots.size > MAX_SNAPSHOTS) this.#snapshots.delete(id);
    }
  }
}

const TOO_OLD = "The provided continue parameter is too old to display a consistent list result. You can start a new " +
  "list without the continue parameter, or use the continue token in this response to retrieve the remainder of the " +
  "results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, " +
  "or deleted between the time the first chunk was returned and now may show up in the list.";

function readLimit(text: string | null): number {
  if (text === null || text === "") return 0;
  if (!/^\d+$/.test(text)) throw badRequest(`strconv.ParseInt: parsing "${text}": invalid syntax`);
  return Number(text);
}

function checkMatch(query: URLSearchParams): void {
  const [match, asked] = [query.get("resourceVersionMatch") ?? "", query.get("resourceVersion") ?? ""];
  if (match === "") return;
  if (query.get("continue")) throw badMatch("resourceVersionMatch is forbidden when continue is provided");
  if (asked === "") throw badMatch("resourceVersionMatch is forbidden unless resourceVersion is provided");
  if (!MATCHES.includes(match)) throw badOptions(unsupportedValue("resourceVersionMatch", match, [...MATCHES, ""]));
  if (match === "Exact" && asked === "0") {
    throw badMatch('resourceVersionMatch "exact" is forbidden for resourceVersion "0"');
  }
}

const MATCHES = ["Exact", "NotOlderThan"];

/** Only the newest version is kept. It serves a request for some version at least; an exact older one is gone. */
function checkVersion(query: URLSearchParams, version: number): void {
  const asked = query.get("resourceVersion") ?? "";
  const match = query.get("resourceVersionMatch") ?? "";
  if (asked === "" || asked === "0") return;
  if (!/^\d+$/.test(asked)) throw badRequest(`invalid resource version: ${notAVersion(asked)}`);
  if (Number(asked) > version) throw tooLargeVersion(asked, version);
  const isExact = match === "Exact" || (match === "" && query.get("limit") !== null);
  if (isExact && Number(asked) < version) throw expired("The resourceVersion for the provided list is too old.");
}

function toToken(place: { readonly id: string; readonly start: number }): string {
  return btoa(JSON.stringify(place)).replace(/=+$/, "");
}

function readToken(token: string): { readonly id: string; readonly start: number } {
  try {
    const { id, start } = JSON.parse(atob(token));
    if (typeof id === "string" && Number.isSafeInteger(start)) return { id, start };
  } catch {
    // The refusal below says so.
  }
  throw badRequest("invalid continue token: continue key is not valid");
}
