/**
 * How does an embedded kubelet work? It watches the pods of its node, runs them in the model, and writes statuses and
 * Events.
 * It is a client of any API server: it registers a Node, runs the bound pods in the model, writes their statuses and
 * events, and answers `/stats/summary`. Not imitated: images that have to be pulled, volumes, networks, probes that
 * fail, exec and logs, static pods, eviction under pressure, and the pods of an earlier process.
 */
import type { Pod } from "../../api/kubernetes.ts";
import type { ApiServer } from "../../kube/transport.ts";
import { watchList } from "../../kube/watch.ts";
import type { Clock } from "../../runtime/clock.ts";
import { formatTime } from "../../units/time.ts";
import type { JsonObject } from "../json.ts";
import type { KubeletEvent } from "../model/event.ts";
import type { NodeState, PodStatus } from "../model/state.ts";
import { formatSummary } from "../model/summary.ts";
import { createObjectsClient, findErrorCode, type ObjectsClient } from "../objects_client.ts";
import { Machine, type Share } from "./machine.ts";
import { keepRegistered, type NodeOptions } from "./register.ts";
import { toGated, toStatusPatch, WriteQueue } from "./status_writer.ts";

/** What a kubelet works with. */
export interface KubeletOptions {
  readonly server: Pick<ApiServer, "origin" | "transport">;
  readonly node: NodeOptions;
  readonly clock: Clock;
  readonly random: () => number;
  /** Receives each failure; what failed is tried again. */
  readonly onError?: (error: unknown) => void;
  /** How far its clock is ahead of the others', in ms. */
  readonly skewMs?: number;
  /** By default every caller may read. */
  readonly checkAccess?: CheckAccess;
  /** More paths that it answers. */
  readonly answers?: KubeletAnswers;
}

/** Resolves with a refusal, or with `null` for a caller that is allowed to read. */
export type CheckAccess = (request: Request, node: string) => Promise<Response | null>;

/** The default: every caller may read. */
export const ADMIT_ALL: CheckAccess = () => Promise.resolve(null);

/** The answers of a kubelet to GET, by path. */
export type KubeletAnswers = Readonly<Record<string, (machine: Machine) => Response>>;

/** The kubelet of one node. It does nothing until it is run. */
export interface Kubelet {
  /** Runs until the signal aborts. Then it reports nothing more, and containers run on, as on a lost machine. */
  readonly run: (signal: AbortSignal) => Promise<void>;
  /** Answers a request to its own server. */
  readonly handle: (request: Request) => Promise<Response>;
  /** The pods that it runs. */
  readonly machine: Machine;
  /** Looks again at what is due; call it after a change of the machine. */
  readonly wake: () => void;
  /** Gives a pod its parts of shared loads from now on; nothing for a pod that is not on it. */
  readonly share: (uid: string, shares: readonly Share[]) => void;
  /** Returns the whole model of now, for tests. */
  readonly getState: () => NodeState;
}

/** A kubelet for a node that need not be registered yet. */
export function createKubelet(options: KubeletOptions): Kubelet {
  const { server, node, clock, random, onError = () => {}, skewMs = 0, checkAccess = ADMIT_ALL, answers = {} } =
    options;
  const { name } = node.config;
  const ending = { signal: new AbortController().signal };
  const client = createObjectsClient({
    server,
    clock,
    agent: "kubelet",
    /** The signal of the present run. */
    get signal() {
      return ending.signal;
    },
  });
  // Whole milliseconds, which a clock that runs faster does not always have.
  const now = () => Math.floor(clock.now() + skewMs);
  const written = new Map<string, Written>();
  let wake = () => {};
  const machine = new Machine({
    config: node.config,
    now,
    onStep({ changed, events: reported, gone }) {
      for (const { uid, status } of changed) statuses.put(uid, status);
      for (const event of reported) events.put(`${toEventKey(event)}\n${event.at}`, event);
      for (const uid of gone) removals.put(uid, null);
    },
  });
  const box = { clock, random, onError };
  const statuses = new WriteQueue<PodStatus>({ ...box, send: (status, uid) => writeStatus(uid, status) });
  const events = new WriteQueue<KubeletEvent>({
    ...box,
    maxTries: 5,
    maxKeys: 1000,
    width: 1,
    send: createEventWriter({ node: name, client }),
  });
  const removals = new WriteQueue<null>({ ...box, send: (_, uid) => removePod(uid) });

  async function writeStatus(uid: string, status: PodStatus): Promise<void> {
    const known = machine.findPod(uid);
    if (known === null) return;
    const last = written.get(uid) ?? null;
    const pod = last !== null && isNewer(last.pod, known) ? last.pod : known;
    const context = { pod, written: last?.status ?? null, now: now() };
    const patch = toStatusPatch(status, context);
    if (patch === null) return;
    try {
      const answer = await client.patch(`${toPath(pod)}/status`, "strategic", patch);
      written.set(uid, { status: toGated(status, context), pod: answer as Pod });
    } catch (error) {
      if (!isGone(error)) throw error;
    }
  }

  async function removePod(uid: string): Promise<void> {
    const pod = machine.findPod(uid);
    if (pod === null) return;
    // The last status has to be reported first.
    const status = machine.getStatus(uid);
    if (status !== null) await writeStatus(uid, status);
    try {
      await client.delete(toPath(pod), { gracePeriodSeconds: 0, preconditions: { uid } });
    } catch (error) {
      if (!isGone(error)) throw error;
    }
  }

  function put(pod: Pod): void {
    machine.put(pod);
    const uid = pod.metadata?.uid ?? "";
    const status = (pod.spec?.readinessGates ?? []).length === 0 ? null : machine.getStatus(uid);
    if (status !== null) statuses.put(uid, status);
  }

  function remove(uid: string): void {
    machine.remove(uid);
    written.delete(uid);
    statuses.forget(uid);
    removals.forget(uid);
  }

  async function watchPods(signal: AbortSignal): Promise<void> {
    const changes = watchList(server.transport, {
      origin: server.origin,
      path: "/api/v1/pods",
      fieldSelector: `spec.nodeName=${name}`,
      clock,
      random,
      signal,
      onError,
      project: (object) => object as unknown as Pod,
    });
    for await (const change of changes) {
      // Up to now it was as before.
      machine.advance();
      if (change.kind === "listed") {
        const uids = new Set(change.objects.map(({ metadata }) => metadata?.uid));
        for (const { metadata } of machine.pods) if (!uids.has(metadata?.uid)) remove(metadata?.uid ?? "");
        for (const pod of change.objects) put(pod);
      } else if (change.kind === "deleted") remove(change.object.metadata?.uid ?? "");
      else put(change.object);
      wake();
    }
  }

  async function moveOn(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      machine.advance();
      const woken = new AbortController();
      wake = () => woken.abort("woken");
      // Never zero: something that stays due would keep all other tasks from running.
      const waitMs = Math.max(1, machine.nextAt - now());
      await clock.sleep(waitMs, AbortSignal.any([signal, woken.signal])).catch(() => {});
    }
  }

  async function run(signal: AbortSignal): Promise<void> {
    ending.signal = signal;
    const registered = Promise.withResolvers<void>();
    signal.addEventListener("abort", () => registered.resolve(), { once: true });
    const registering = keepRegistered(
      { node, client, clock, now, random, onError, onRegistered: registered.resolve },
      signal,
    );
    await registered.promise;
    const parts = [watchPods, moveOn, ...[statuses, events, removals].map((box) => (one: AbortSignal) => box.run(one))];
    await Promise.all([registering, ...parts.map((part) => part(signal))]);
  }

  return {
    run,
    handle: createAnswer({ name, machine, now, checkAccess, answers }),
    machine,
    wake: () => wake(),
    share(uid, shares) {
      machine.advance();
      machine.share(uid, shares);
      wake();
    },
    getState: () => machine.getState(),
  };
}

/** The handler of a kubelet's own server. It rejects when the request's signal aborts. */
export function createAnswer(options: AnswerOptions): (request: Request) => Promise<Response> {
  const { name, now, checkAccess } = options;
  return async (request) => {
    request.signal.throwIfAborted();
    const response = await checkAccess(request, name) ?? answerPath(request, options);
    request.signal.throwIfAborted();
    response.headers.set("date", new Date(now()).toUTCString());
    return response;
  };
}

interface Written {
  readonly status: PodStatus;
  readonly pod: Pod;
}

function toPath({ metadata }: Pod): string {
  return `/api/v1/namespaces/${metadata?.namespace}/pods/${metadata?.name}`;
}

/** The pod is not there any more, or another one of its name is. */
function isGone(error: unknown): boolean {
  const code = findErrorCode(error);
  return code === 404 || ((code === 409 || code === 422) && /uid/i.test(String(error)));
}

/** Resource versions are numbers: https://kep.k8s.io/5504 */
function isNewer(one: Pod, other: Pod): boolean {
  return Number(one.metadata?.resourceVersion) > Number(other.metadata?.resourceVersion);
}

/** The machine that answers, and the check of the caller. */
interface AnswerOptions {
  readonly name: string;
  readonly machine: Machine;
  /** The time of the node's clock. */
  readonly now: () => number;
  readonly checkAccess: CheckAccess;
  readonly answers?: KubeletAnswers;
}

function answerPath({ method, url }: Request, { machine, answers = {} }: AnswerOptions): Response {
  const { pathname } = new URL(url);
  const answer = ANSWERS[pathname] ?? answers[pathname];
  if (answer === undefined) return new Response("404 page not found\n", { status: 404, headers: TEXT });
  if (method !== "GET" && method !== "HEAD") {
    return new Response("405: Method Not Allowed", { status: 405, headers: { ...TEXT, allow: "GET, HEAD" } });
  }
  return answer(machine);
}

const TEXT = { "content-type": "text/plain; charset=utf-8" };

const ANSWERS: KubeletAnswers = {
  "/healthz": () => new Response("ok", { headers: TEXT }),
  "/pods": ({ pods }) => Response.json({ kind: "PodList", apiVersion: "v1", metadata: {}, items: pods }),
  "/stats/summary": (machine) => {
    const bytes = new TextEncoder().encode(formatSummary(machine.computeSummary()));
    // Without a length, as Go sends what does not fit into its buffer: HTTP/1.1 then sends it in chunks.
    const body = bytes.length > BUFFER_BYTES ? ReadableStream.from([bytes]) : bytes;
    return new Response(body, { headers: { "content-type": "application/json" } });
  },
};

/** Of Go's net/http, for one answer. */
const BUFFER_BYTES = 2048;

/** Where events are written, and in whose name. */
interface EventWriterOptions {
  readonly node: string;
  readonly client: ObjectsClient;
}

/** Events that may still be counted up. */
const MAX_KNOWN = 1000;

/** Events with the same key are one event with a count. */
function toEventKey({ pod, reason, message, fieldPath }: KubeletEvent): string {
  return [pod.uid, fieldPath ?? "", reason, message].join("\n");
}

/** Throws when it is not taken; a namespace that is on its way out takes none. */
function createEventWriter({ node, client }: EventWriterOptions): (event: KubeletEvent) => Promise<void> {
  const known = new Map<string, { readonly path: string; readonly count: number }>();
  let written = 0;
  return async (event) => {
    const { pod: { namespace, name, uid }, at, type, reason, message, fieldPath } = event;
    const key = toEventKey(event);
    const collection = `/api/v1/namespaces/${namespace}/events`;
    const before = known.get(key);
    const time = formatTime(at);
    if (before !== undefined) {
      const count = before.count + 1;
      await client.patch(before.path, "merge", { count, lastTimestamp: time });
      known.set(key, { ...before, count });
      return;
    }
    // The time in nanoseconds, as real ones are named; the last six digits distinguish those of one moment.
    const eventName = `${name}.${(BigInt(Math.floor(at)) * 1_000_000n + BigInt(written++ % 1_000_000)).toString(16)}`;
    const involvedObject: JsonObject = {
      apiVersion: "v1",
      kind: "Pod",
      namespace,
      name,
      uid,
      ...(fieldPath === null ? {} : { fieldPath }),
    };
    await client.create(collection, {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: eventName, namespace },
      involvedObject,
      reason,
      message: message.slice(0, 1024),
      type,
      source: { component: "kubelet", host: node },
      firstTimestamp: time,
      lastTimestamp: time,
      count: 1,
      reportingComponent: "kubelet",
      reportingInstance: node,
    });
    known.set(key, { path: `${collection}/${eventName}`, count: 1 });
    const [oldest] = known.keys();
    if (known.size > MAX_KNOWN && oldest !== undefined) known.delete(oldest);
  };
}
