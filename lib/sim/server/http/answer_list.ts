/** Answers lists and watches, as objects, as their metadata or as tables. */
import type { Answer, AnswerContext, ResourceRequest } from "./exchange.ts";
import type { JsonObject } from "../../json.ts";
import { toPartial, toPartialList, wantsMetadata } from "./partial.ts";
import { badMatch, notAVersion, Refusal } from "../refusal.ts";
import { apiVersionOf, idOf, type ResourceType } from "../kinds/resource_type.ts";
import { readSelection } from "./selectors.ts";
import type { Entry } from "../store/entry.ts";
import { toTable, wantsTable } from "./table.ts";
import { openWatch } from "./watch.ts";

/** Answers a list as objects, as metadata or as a table. Throws a Refusal. */
export function answerList(
  { store, lister, now }: AnswerContext,
  { target: { namespace }, query, accept }: ResourceRequest,
  type: ResourceType,
): Answer {
  const selection = readSelection(query, { type, namespace });
  const page = lister.list(store.collection(idOf(type)), { query, selection, version: store.version });
  const metadata: JsonObject = {
    resourceVersion: String(page.version),
    ...(page.continueToken === null ? {} : { continue: page.continueToken }),
    ...(page.remaining === null ? {} : { remainingItemCount: page.remaining }),
  };
  const readObjects = () => page.entries.map(({ object }) => object);
  if (wantsMetadata(accept)) return { code: 200, text: JSON.stringify(toPartialList(readObjects(), metadata)) };
  if (wantsTable(accept)) {
    const include = query.get("includeObject") ?? "Metadata";
    return { code: 200, text: JSON.stringify(toTable(readObjects(), { type, now, metadata, include })) };
  }
  return { code: 200, text: toListText(type, page.entries, metadata) };
}

/** The text of a list of these objects. */
export function toListText(type: ResourceType, entries: readonly Entry[], metadata: JsonObject): string {
  const { listKind, kind, isCustom } = type;
  // A list of custom resources says that it does not go on.
  const head = {
    kind: listKind,
    apiVersion: apiVersionOf(type),
    metadata: { ...(isCustom ? { continue: "" } : {}), ...metadata },
  };
  // Items of built-in kinds don't say their kind again: a client that relies on it would fail on a real server.
  const own = `{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersionOf(type))},`;
  const items = entries.map(({ text }) => !isCustom && text.startsWith(own) ? `{${text.slice(own.length)}` : text);
  return `${JSON.stringify(head).slice(0, -1)},"items":[${items.join(",")}]}`;
}

/** Answers a watch. Rejects with a Refusal. */
export async function answerWatch(
  { store, clock, random }: AnswerContext,
  { target: { namespace }, query, accept, signal }: ResourceRequest,
  type: ResourceType,
): Promise<Answer> {
  const selection = readSelection(query, { type, namespace });
  const fromVersion = readVersion(query.get("resourceVersion") ?? "");
  const marksInitialEnd = query.get("sendInitialEvents") === "true";
  if (marksInitialEnd && query.get("resourceVersionMatch") !== "NotOlderThan") {
    throw badMatch("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
  }
  const timeoutMs = Number(query.get("timeoutSeconds") ?? "0") * 1000 || LONGEST_MS * (1 + random());
  // A version of the future: no word, until it has come.
  for (
    let waitedMs = 0;
    fromVersion !== null && fromVersion > store.version && waitedMs < timeoutMs;
    waitedMs += 1000
  ) {
    await clock.sleep(1000, signal);
  }
  const hasBookmarks = ["true", "1"].includes(query.get("allowWatchBookmarks") ?? "");
  const isTable = wantsTable(accept);
  const isPartial = wantsMetadata(accept);
  const include = query.get("includeObject") ?? "Metadata";
  let hasHeader = true;
  const toRow = (object: JsonObject) => {
    const table = toTable([object], { type, now: clock.now(), metadata: {}, include, hasHeader });
    hasHeader = false;
    return table;
  };
  return {
    code: 200,
    text: "",
    open: (register) =>
      openWatch({
        collection: store.collection(idOf(type)),
        selection,
        timeoutMs,
        clock,
        signal,
        register,
        version: () => store.version,
        fromVersion: marksInitialEnd ? null : fromVersion,
        bookmark: hasBookmarks && !isTable ? isPartial ? toPartial({}) : toBookmarkObject(type) : null,
        marksInitialEnd,
        convert: isPartial ? toPartial : isTable ? toRow : null,
      }),
  };
}

const LONGEST_MS = 1_800_000;

/** `null` = from whatever is there now; throws a Refusal for what is no version. */
export function readVersion(text: string): number | null {
  if (text === "" || text === "0") return null;
  if (/^\d+$/.test(text)) return Number(text);
  throw new Refusal(500, { message: notAVersion(text) });
}

/** Bookmarks have nothing but a version, and what Go writes of an empty object. */
function toBookmarkObject(type: ResourceType): JsonObject {
  const empty = type.plural === "pods" ? { spec: { containers: null }, status: {} } : {};
  return { kind: type.kind, apiVersion: apiVersionOf(type), metadata: {}, ...empty };
}
