/**
 * Which event is written next? Namespaces take turns, so that a burst in one holds up no other. What is the same is
 * counted where it waits, and of many alike the later ones become one, as client-go's correlator has it
 * (tools/record/events_cache.go). The queue is bounded: what does not fit is dropped where most wait.
 */
import type { NoticeContext, Publication } from "./event_object.ts";

/** An event that waits to be written. */
export interface QueuedEvent {
  readonly notice: Publication;
  readonly context: NoticeContext;
  /** When it was last published, epoch ms. */
  readonly at: number;
  /** The name of the Event: the same at each try, so that one whose answer did not arrive is not created twice. */
  readonly name: string;
  /** What is counted on one Event; `null` = it has an Event of its own. */
  readonly key: string | null;
  /** How often it was published since it was last written. */
  readonly times: number;
}

/** How much is kept. */
export interface EventQueueOptions {
  readonly most: number;
  /** So many events of one autoscaler and name wait by themselves, the others as one. */
  readonly mostAlike: number;
}

const COMBINED = "(combined from similar events): ";

/** In order of arrival within a namespace. */
export class EventQueue {
  readonly #options: EventQueueOptions;
  /** By namespace; the first is served next. */
  readonly #lanes = new Map<string, QueuedEvent[]>();
  readonly #byKey = new Map<string, QueuedEvent>();
  readonly #alike = new Map<string, number>();
  #size = 0;

  constructor(options: EventQueueOptions) {
    this.#options = options;
  }

  /** Takes an event; gives the one that had to be dropped, this or another, `null` = none. */
  put(event: QueuedEvent): QueuedEvent | null {
    if (event.key !== null && this.#merge(event.key, event)) return null;
    const kind = toKind(event);
    const mostAlike = this.#size < this.#options.most ? this.#options.mostAlike : 1;
    if ((this.#alike.get(kind) ?? 0) < mostAlike) return this.#add(event);
    const combined = { ...event, key: `${kind}\n${COMBINED}`, notice: combine(event.notice) };
    return this.#merge(combined.key, combined) ? null : this.#add(combined, 2 * this.#options.most);
  }

  /** `null` when nothing waits. */
  take(): QueuedEvent | null {
    for (const [namespace, lane] of this.#lanes) {
      const event = lane.shift();
      this.#lanes.delete(namespace);
      if (lane.length > 0) this.#lanes.set(namespace, lane);
      if (event === undefined) continue;
      return this.#remove(event);
    }
    return null;
  }

  #merge(key: string, { notice, context, at }: QueuedEvent): boolean {
    const waiting = this.#byKey.get(key);
    if (waiting === undefined) return false;
    const merged = { ...waiting, notice, context, at, times: waiting.times + 1 };
    const lane = this.#lanes.get(context.autoscaler.namespace) ?? [];
    lane[lane.indexOf(waiting)] = merged;
    this.#byKey.set(key, merged);
    return true;
  }

  /** One that stands for many has a place beside them. */
  #add(event: QueuedEvent, most = this.#options.most): QueuedEvent | null {
    const { namespace } = event.context.autoscaler;
    const longest = this.#size < most ? null : this.#findLongest();
    const isOwn = longest !== null && longest.length <= (this.#lanes.get(namespace)?.length ?? 0);
    if (isOwn) return event;
    const dropped = longest?.pop() ?? null;
    if (dropped !== null) this.#remove(dropped);
    const lane = this.#lanes.get(namespace) ?? [];
    lane.push(event);
    this.#lanes.set(namespace, lane);
    if (event.key !== null) this.#byKey.set(event.key, event);
    this.#alike.set(toKind(event), (this.#alike.get(toKind(event)) ?? 0) + 1);
    this.#size++;
    return dropped;
  }

  #remove(event: QueuedEvent): QueuedEvent {
    const kind = toKind(event);
    const left = (this.#alike.get(kind) ?? 1) - 1;
    if (left === 0) this.#alike.delete(kind);
    else this.#alike.set(kind, left);
    if (event.key !== null) this.#byKey.delete(event.key);
    this.#size--;
    return event;
  }

  #findLongest(): QueuedEvent[] | null {
    let longest: QueuedEvent[] | null = null;
    for (const lane of this.#lanes.values()) if (lane.length > (longest?.length ?? 0)) longest = lane;
    return longest;
  }
}

function toKind({ notice, context: { autoscaler } }: QueuedEvent): string {
  return `${autoscaler.uid}\n${notice.name}`;
}

/** The newest message stands for all. */
function combine(notice: Publication): Publication {
  return { ...notice, message: COMBINED + notice.message };
}
