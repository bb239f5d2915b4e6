/**
 * How is a watch answered? Changes since a version, then each change as it happens, with bookmarks.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
 */
import type { Clock } from "../../../runtime/clock.ts";
import { type JsonObject, objectAt } from "../../json.ts";
import { expired } from "../refusal.ts";
import { type Change, type ChangeKind, type Collection, Entry, toEventLine } from "../store.ts";
import type { Selection } from "./list.ts";

/** What a watch starts from and how long it lasts. */
interface WatchOptions {
  readonly collection: Collection;
  readonly selection: Selection;
  /** `null`: all there is first, as added. */
  readonly fromVersion: number | null;
  readonly version: () => number;
  readonly timeoutMs: number;
  /** The object of a bookmark, without its version; `null` where none are wanted. */
  readonly bookmark: JsonObject | null;
  /** The objects that are there are followed by a bookmark that says so. */
  readonly marksInitialEnd: boolean;
  /** `null`: the object itself. */
  readonly convert: ((object: JsonObject) => JsonObject) | null;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Receives the stream while it is open, so that tests can break it. It returns how to end that. */
  readonly register: (watch: OpenWatch) => () => void;
}

/** A watch that is open, for tests to break. */
export interface OpenWatch {
  /** Ends it without an error. */
  readonly close: () => void;
  /** Breaks the connection. */
  readonly drop: (error: Error) => void;
  /** Sends nothing any more and stays open. */
  readonly silence: () => void;
  /** Keeps events back until the returned function is called. */
  readonly hold: () => () => void;
}

const BOOKMARK_MS = 60_000;

/** A reader that is this number of events behind is cut off, as by a real server. */
const MAX_QUEUED = 50_000;

/** The stream of a watch, one line of JSON for each event. */
export function openWatch(options: WatchOptions): ReadableStream<Uint8Array> {
  const { collection, selection, fromVersion, version, signal } = options;
  const since = fromVersion === null ? null : collection.changesAfter(fromVersion);
  const over = new AbortController();
  let isSilent = false;
  let held: Uint8Array[] | null = null;
  return new ReadableStream<Uint8Array>({
    start(controller) {
      const end = (how: () => void) => {
        if (over.signal.aborted) return;
        over.abort();
        how();
      };
      const send = (line: Uint8Array) => {
        if (isSilent || over.signal.aborted) return;
        if (held === null) controller.enqueue(line);
        else held.push(line);
      };
      const push = (change: Change) => {
        const line = toLine(change, options);
        if (line !== null) send(line);
        if ((controller.desiredSize ?? 0) < -MAX_QUEUED) end(() => controller.close());
      };
      if (fromVersion !== null && since === null) {
        const { status } = expired(`too old resource version: ${fromVersion} (${version()})`);
        send(toEventLine("ERROR", JSON.stringify(status)));
        return end(() => controller.close());
      }
      if (fromVersion === null) { for (const line of listAsAdded(options)) send(line); }
      for (const change of since ?? []) push(change);
      const stopListening = collection.listen(push, selection.node);
      const unregister = options.register({
        close: () => end(() => controller.close()),
        drop: (error) => end(() => controller.error(error)),
        silence: () => isSilent = true,
        hold: () => {
          held ??= [];
          return () => {
            const lines = held ?? [];
            held = null;
            lines.forEach(send);
          };
        },
      });
      const abort = () => end(() => controller.error(signal.reason));
      signal.addEventListener("abort", abort, { once: true });
      over.signal.addEventListener("abort", () => {
        stopListening();
        unregister();
        signal.removeEventListener("abort", abort);
      }, { once: true });
      if (signal.aborted) abort();
      // Bookmarks while it is open, then its end.
      passTime(options, over.signal, () => send(toBookmark(options, {}))).then(
        () => end(() => controller.close()),
        (error) => end(() => controller.error(error)),
      );
    },
    cancel: () => over.abort(),
  });
}

const INITIAL_END = "k8s.io/initial-events-end";

async function passTime(
  { clock, timeoutMs, bookmark }: WatchOptions,
  signal: AbortSignal,
  mark: () => void,
): Promise<void> {
  const endsAt = clock.monotonic() + timeoutMs;
  for (let leftMs = timeoutMs; leftMs > 0; leftMs = endsAt - clock.monotonic()) {
    await clock.sleep(bookmark === null ? leftMs : Math.min(leftMs, BOOKMARK_MS), signal).catch(() => {});
    if (signal.aborted) return;
    if (bookmark !== null && clock.monotonic() < endsAt) mark();
  }
}

function listAsAdded(options: WatchOptions): readonly Uint8Array[] {
  const { collection, selection, convert, marksInitialEnd } = options;
  const entries = collection.list(selection).filter(({ object }) => selection.isSelected(object));
  const lines = entries.map((entry) => encode("ADDED", entry, convert));
  return marksInitialEnd ? [...lines, toBookmark(options, { [INITIAL_END]: "true" })] : lines;
}

/** A change as one watcher sees it: an object that no longer matches its selector is deleted, in its former state. */
function toLine(change: Change, { selection: { isSelected }, convert }: WatchOptions): Uint8Array | null {
  const { kind, entry, previous } = change;
  const isNow = isSelected(entry.object);
  const wasBefore = previous !== null && isSelected(previous.object);
  if (kind === "MODIFIED" && isNow && !wasBefore) return encode("ADDED", entry, convert);
  if (kind === "MODIFIED" && !isNow && wasBefore) {
    const metadata = { ...objectAt(previous.object, "metadata"), resourceVersion: String(entry.version) };
    return encode("DELETED", new Entry({ ...previous.object, metadata }, entry.version), convert);
  }
  if (!isNow) return null;
  return convert === null ? change.line : encode(kind, entry, convert);
}

function encode(kind: ChangeKind, entry: Entry, convert: WatchOptions["convert"]): Uint8Array {
  return toEventLine(kind, convert === null ? entry.text : JSON.stringify(convert(entry.object)));
}

function toBookmark({ bookmark, version }: WatchOptions, annotations: JsonObject): Uint8Array {
  const metadata = {
    resourceVersion: String(version()),
    ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
  };
  return toEventLine("BOOKMARK", JSON.stringify({ ...bookmark, metadata }));
}
