/**
 * The watches that keep the inventory current, one task per resource and namespace; each says when it is in sync.
 * Failures are logged with the right or object they need, and retried for ever: a right that is granted later heals.
 */
import type { Transport } from "../../kube/transport.ts";
import { CollectionFailure } from "../../kube/collection_failure.ts";
import { watchList } from "../../kube/watch.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { Log } from "../../runtime/log.ts";
import { Contacts } from "./contacts.ts";
import type { Source } from "./source.ts";
import { listSources, type SourceTargets } from "./sources.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { OnTrouble } from "../report/trouble.ts";

/** What is watched, and what it keeps current. */
export interface FeedOptions extends SourceTargets {
  readonly origin: string;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  readonly metrics: Pick<Metrics, "watchEvent" | "watchFailed" | "setContactAges">;
  readonly onTrouble: OnTrouble;
}

/** The watches of one scope; `run` runs them. */
export class Feed {
  /** How old what it has learned is. */
  readonly contacts: Pick<Contacts, "unlisted" | "stale" | "isListed" | "isKnown">;
  readonly #options: FeedOptions;
  readonly #sources: readonly Source<unknown>[];
  readonly #contacts: Contacts;

  constructor(options: FeedOptions) {
    this.#options = options;
    this.#sources = listSources(options);
    this.contacts = this.#contacts = new Contacts({ ...options, lists: this.#sources });
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#contacts.run(signal), ...this.#sources.map((source) => this.#watch(source, signal))]);
  }

  async #watch(source: Source<unknown>, signal: AbortSignal): Promise<void> {
    const { origin, transport, clock, random, log, metrics, onTrouble } = this.#options;
    const { resource, path, fieldSelector, project } = source;
    let isListed = false;
    let isForbidden = false;
    let isFailing = false;
    const hearOfAll = () => {
      this.#contacts.hearOfAll(source);
      if (isFailing) onTrouble({ kind: "recovered", what: WHAT, subject: path });
      isFailing = false;
    };
    const onError = (error: Error, failures: number) => {
      if (source.isOptional === true && isNoRight(error)) {
        if (isForbidden) return;
        isForbidden = true;
        source.replaceAll([]);
        this.#contacts.forget(source);
        return log.info("Not watched without the right to: refusals are believed", { resource, path });
      }
      metrics.watchFailed(resource);
      isFailing = true;
      const fields = { resource, path, failures, error };
      const topic = { what: WHAT, reason: toReason(error), subject: path };
      onTrouble({ kind: "failure", level: "warn", message: `${WHAT}, retrying`, autoscaler: null, fields, topic });
    };
    const events = watchList(transport, {
      origin,
      path,
      ...(fieldSelector === null ? {} : { fieldSelector }),
      clock,
      random,
      signal,
      project,
      onCurrent: hearOfAll,
      onQuiet: () => log.debug("Nothing was heard of a watch since it began, listing anew", { resource, path }),
      onError,
    });
    for await (const event of events) {
      metrics.watchEvent({ resource, type: event.kind });
      if (event.kind === "listed") {
        isForbidden = false;
        source.replaceAll(event.objects);
        hearOfAll();
        if (!isListed && source.isOptional !== true) {
          log.info("In sync", { resource, path, objects: event.objects.length });
        }
        isListed = true;
        continue;
      }
      this.#contacts.hearOfChange(source);
      if (event.kind === "deleted") source.remove(event.object);
      else source.set(event.object);
    }
  }
}

const WHAT = "Cannot watch";

function toReason(error: Error): string {
  return error instanceof CollectionFailure ? String(error.code ?? error.kind) : "Unreadable";
}

function isNoRight(error: Error): boolean {
  return error instanceof CollectionFailure && error.code === 403;
}
