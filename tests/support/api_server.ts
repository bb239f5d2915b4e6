/**
 * The embedded API server as the daemon's stories use it: objects are put into it as they are, every request is kept,
 * and `intercept` puts any other answer in place of its own: a recorded refusal, a delay, a dead connection.
 */
import { setPodDefaults } from "../../lib/embedded/server/kinds/pods.ts";
import { idOf } from "../../lib/embedded/server/kinds/resource_type.ts";
import type { ApiServer, Transport } from "../../lib/kube/transport.ts";
import { abortable } from "../../lib/runtime/tasks.ts";
import { parse } from "../../lib/runtime/yaml.ts";
import type { Json } from "./api_objects.ts";
import { createFullApiServer } from "./embedded/full_cluster.ts";
import { ALL_KINDS } from "./embedded/kinds.ts";
import type { VirtualClock } from "./virtual_clock.ts";

export interface Call {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly contentType: string | null;
  readonly body: Json;
  readonly signal: AbortSignal;
}

const AUTOSCALERS = "keda.kedify.io/podresourceautoscalers";
const DEFINITION: Json = parse(
  await Deno.readTextFile(new URL("../../crds/podresourceautoscaler.yaml", import.meta.url)),
);

export class TestApiServer {
  readonly origin = "http://api.test";
  readonly calls: Call[] = [];
  /** An answer here is the answer; `null` lets the request through. */
  intercept: (call: Call) => Response | Promise<Response | null> | null = () => null;
  readonly #server: ReturnType<typeof createFullApiServer>;
  /** In which order objects came, by UID. */
  readonly #order = new Map<string, number>();

  /** `skewMs`: how far its clock is ahead. */
  constructor(clock: VirtualClock, { skewMs = 0 }: { readonly skewMs?: number } = {}) {
    this.#server = createFullApiServer({ clock, random: Math.random });
    this.#server.faults.skewMs = skewMs;
    for (const id of [...ALL_KINDS.map(idOf), AUTOSCALERS]) {
      this.#server.store.collection(id).listen(({ kind, entry }) => {
        if (kind === "ADDED") this.#order.set(uidOf(entry.object), this.#order.size);
      }, null);
    }
    this.put("customresourcedefinitions", DEFINITION);
    this.put("namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop", uid: "uid-shop" } });
  }

  get openWatches(): number {
    return this.#server.faults.openWatches;
  }

  readonly transport: Transport = async (request) => {
    const { pathname, searchParams } = new URL(request.url);
    const text = await request.clone().text();
    const call: Call = {
      method: request.method,
      path: pathname,
      query: Object.fromEntries(searchParams),
      contentType: request.headers.get("content-type"),
      body: text === "" ? {} : JSON.parse(text),
      signal: request.signal,
    };
    this.calls.push(call);
    const other = await abortable(Promise.resolve(this.intercept(call)), request.signal);
    return other ?? await this.#server.handle(request);
  };

  toServer(): ApiServer {
    return {
      origin: this.origin,
      transport: this.transport,
      caCerts: [],
      getCredential: () => Promise.resolve({ authorization: null, clientCertificate: null }),
      namespace: "default",
      source: "memory",
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  }

  get(plural: string, name: string, namespace: string | null = "shop"): Json {
    const entry = this.#collection(plural).get(namespace, name);
    if (entry === null) throw new Error(`Cannot get ${plural} "${name}": not there`);
    return structuredClone(entry.object);
  }

  /** In the order of their creation. */
  list(plural: string): Json[] {
    const objects: Json[] = this.#collection(plural).list().map(({ object }) => object);
    return objects.sort((a, b) => (this.#order.get(uidOf(a)) ?? 0) - (this.#order.get(uidOf(b)) ?? 0));
  }

  /** Creates or replaces, wrong as it may be, with a new version, and tells every watch. */
  put(plural: string, object: Json): Json {
    // As JSON, in which a field that is undefined is not there.
    const draft = JSON.parse(JSON.stringify(object));
    // No pod is stored without: the next update would be a change of its spec.
    if (plural === "pods") setPodDefaults(draft);
    return structuredClone(this.#server.store.put(toId(plural), draft).object);
  }

  edit(plural: string, name: string, edit: (object: Json) => void): void {
    const object = this.get(plural, name);
    edit(object);
    this.put(plural, object);
  }

  remove(plural: string, name: string, namespace: string | null = "shop"): void {
    this.#server.store.remove(toId(plural), this.get(plural, name, namespace));
  }

  /** What is done in it no watch tells of: all of them end, and have to list again. */
  expire(unseen: () => void): void {
    this.#server.faults.silenceWatches();
    unseen();
    this.#server.expireHistory();
    this.#server.faults.closeWatches();
  }

  /** Watches of these objects end in good order, and can be taken up again where they were. */
  closeWatches(plural: string): void {
    this.#server.faults.closeWatches(new RegExp(`/${plural}$`));
  }

  /** Watches tell nothing of these objects until what is returned is called: then all of it. */
  hold(plural: string): () => void {
    return this.#server.faults.holdWatches(new RegExp(`/${plural}$`));
  }

  #collection(plural: string) {
    return this.#server.store.collection(toId(plural));
  }
}

/** A Status, as the server puts a refusal. */
export function refuse(code: number, status: Json): Response {
  return Response.json({ kind: "Status", apiVersion: "v1", status: "Failure", code, ...status }, { status: code });
}

function toId(plural: string): string {
  const type = ALL_KINDS.find((one) => one.plural === plural);
  return type === undefined ? AUTOSCALERS : idOf(type);
}

function uidOf({ metadata }: Json): string {
  return metadata.uid;
}
