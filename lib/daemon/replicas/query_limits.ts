/**
 * When is a trigger asked, so that one namespace does not delay the triggers of the others?
 *
 * A query passes three places. Its namespace must be within its budget of time and bytes. It takes one of the places of
 * all queries, which namespaces share in turns. And its server must have answered: after three queries in a row that took
 * a second or more to fail, one query at a time probes the server, with growing waits. The others fail at once.
 *
 * A query that takes longer than a second moves to the places for slow ones, if its namespace may have another of them.
 * So servers that never answer fill the slow places of their own namespaces, and no others.
 */
import type { ExternalTrigger } from "../../model/scaled_object.ts";
import { CircuitBreaker, type Permit } from "../../runtime/backoff.ts";
import type { BudgetLimits, WorkBudget } from "../../runtime/budget.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { RunQueued } from "../../runtime/event_loop.ts";
import { Semaphore } from "../../runtime/limits.ts";
import { SLOW_MS } from "../../triggers/reader.ts";
import type { AnswerWork, AskedSource, AskTrigger, TriggerAnswer } from "../../triggers/value.ts";

interface QueryLimitsOptions {
  readonly ask: AskTrigger;
  readonly clock: Clock;
  readonly random: () => number;
  readonly compute: RunQueued;
  readonly budget: WorkBudget;
  /** How long a query of the namespace has waited, before it was sent. */
  readonly onWaited: (namespace: string, seconds: number) => void;
}

/**
 * What the triggers and formulas of one namespace may use. 2,000 objects with a trigger each need about 140 ms and 0.3
 * MiB in a second.
 */
export const TRIGGER_BUDGET: BudgetLimits = {
  msPerSecond: 200,
  burstMs: 4_000,
  bytesPerSecond: 2 * 2 ** 20,
  burstBytes: 32 * 2 ** 20,
};

/** What a request costs without the parsing of its answer, ms: about the time of sending it and of reading it. */
export const REQUEST_MS = 0.25;

/** For all objects of this process. A namespace alone has half of them. */
const MAX_CONCURRENT = 64;

/** Queries that took longer than a second, in addition. A namespace alone has half of them. */
const MAX_SLOW = 64;

/** For one object: an object with many triggers must not block the others. */
const MAX_PER_OBJECT = 8;

/** Returns a function that runs the namespace's jobs when it is their turn, and counts their time. Clauses: R50. */
export function createRunPaid(
  { clock, compute, budget }: Pick<QueryLimitsOptions, "clock" | "compute" | "budget">,
): (namespace: string) => AnswerWork["run"] {
  return (namespace) => (job) =>
    compute(() => {
      const startedMs = clock.monotonic();
      try {
        return job();
      } finally {
        budget.spend(namespace, { ms: clock.monotonic() - startedMs });
      }
    }, namespace);
}

/**
 * Returns a function that gives each object its own `ask`, which waits for its turn. It rejects with the signal's
 * reason only. Clauses: R50.
 */
export function createQueryLimits(options: QueryLimitsOptions): (namespace: string) => AskTrigger {
  const { ask, clock, compute, budget, onWaited } = options;
  const places = new Semaphore(MAX_CONCURRENT, { isShared: true });
  const slowPlaces = new Semaphore(MAX_SLOW, { isShared: true });
  const servers = new ServerBreakers(options);
  const runPaid = createRunPaid(options);

  async function askInTurn(
    trigger: AskedTrigger,
    namespace: string,
    query: Parameters<AskTrigger>[1],
  ): Promise<TriggerAnswer> {
    const waitedMs = clock.monotonic();
    await budget.wait(namespace, query.signal);
    using place = await places.acquire(query.signal, { lane: namespace });
    onWaited(namespace, (clock.monotonic() - waitedMs) / 1000);
    using server = servers.tryAcquire(namespace, trigger);
    if (server === null) return failUnasked(trigger);
    using _slow = moveWhenSlow(place, namespace);
    const work = {
      run: runPaid(namespace),
      countBytes: (bytes: number) => budget.spend(namespace, { bytes }),
    };
    budget.spend(namespace, { ms: REQUEST_MS });
    const sentMs = clock.monotonic();
    const { asking } = await compute(() => ({ asking: ask(trigger, { ...query, work }) }), namespace);
    const answer = await asking;
    if (query.signal.aborted) return answer;
    const isSlow = answer.kind === "failed" && clock.monotonic() - sentMs >= SLOW_MS;
    server.report(isSlow);
    return isSlow ? { ...answer, isSlow } : answer;
  }

  /** Gives the place to another query as soon as the query is slow, if the namespace may have another slow one. */
  function moveWhenSlow(place: Disposable, namespace: string): Disposable {
    const ended = new AbortController();
    let slow: Disposable | null = null;
    const move = () => {
      slow = slowPlaces.tryAcquire(namespace);
      if (slow !== null) place[Symbol.dispose]();
    };
    clock.sleep(SLOW_MS, ended.signal).then(move, () => {});
    return {
      [Symbol.dispose]() {
        ended.abort();
        slow?.[Symbol.dispose]();
      },
    };
  }

  return (namespace) => {
    const own = new Semaphore(MAX_PER_OBJECT);
    return async (trigger, query) => {
      using _own = await own.acquire(query.signal);
      return await askInTurn(trigger, namespace, query);
    };
  };
}

type AskedTrigger = ExternalTrigger & { readonly source: AskedSource };

function toOrigin({ source }: AskedTrigger): string {
  if (source.kind === "metric" && source.of.kind !== "external") return "custom.metrics.k8s.io";
  if (source.kind === "keda" || source.kind === "metric") return "external.metrics.k8s.io";
  if (source.kind === "kubernetes-resource") return "the API server";
  return URL.parse(source.kind === "prometheus" ? source.serverAddress : source.url)?.origin ?? "";
}

/** KEDA asks another server for each object. */
function toServer(trigger: AskedTrigger): string {
  const origin = toOrigin(trigger);
  return trigger.source.kind === "keda" ? `${origin} ${trigger.source.object}` : origin;
}

function failUnasked(trigger: AskedTrigger): TriggerAnswer {
  const asker = trigger.source.kind === "keda" ? "object" : "namespace";
  const cause = `not asked, because the last ${MAX_SLOW_IN_ROW} queries of this ${asker} to it got no answer in time`;
  const message = `Cannot read trigger "${trigger.metricName}" from "${toOrigin(trigger)}": ${cause}; ` +
    "podfit tries one of them within 30 s";
  return { kind: "failed", message, isEmpty: false, isSlow: true };
}

const MAX_SLOW_IN_ROW = 3;

/** Servers with failures that are remembered. */
const MAX_SERVERS = 1_000;

interface Server {
  readonly breaker: CircuitBreaker;
  slowInRow: number;
}

/**
 * A circuit breaker for each server and namespace. A server is a scheme, host and port, and for KEDA each of its objects.
 * A tenant's queries to a server that many ask, with a timeout that is too short, must not stop the queries of the others.
 */
class ServerBreakers {
  readonly #options: ConstructorParameters<typeof CircuitBreaker>[0];
  /** Those that have failed, the oldest first. */
  readonly #failing = new Map<string, Server>();

  constructor(options: ConstructorParameters<typeof CircuitBreaker>[0]) {
    this.#options = options;
  }

  /** Returns the right to ask the server once; `null` while another query probes it, or until the next probe. */
  tryAcquire(namespace: string, trigger: AskedTrigger): Disposable & { report(isSlow: boolean): void } | null {
    const key = `${namespace} ${toServer(trigger)}`;
    const permit = this.#failing.get(key)?.breaker.tryAcquire();
    if (permit === null) return null;
    return {
      report: (isSlow) => {
        if (isSlow) this.#fail(key, permit);
        else this.#failing.delete(key);
      },
      [Symbol.dispose]: () => permit?.[Symbol.dispose](),
    };
  }

  /** `permit` is that of the query; `undefined` = its server had not failed before. */
  #fail(key: string, permit: Permit | undefined): void {
    const server = this.#failing.get(key) ?? { breaker: new CircuitBreaker(this.#options), slowInRow: 0 };
    this.#failing.set(key, server);
    server.slowInRow++;
    if (server.slowInRow >= MAX_SLOW_IN_ROW) (permit ?? server.breaker.tryAcquire())?.report({ waitMs: null });
    const [oldest = key] = this.#failing.keys();
    if (this.#failing.size > MAX_SERVERS) this.#failing.delete(oldest);
  }
}
