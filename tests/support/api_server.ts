/**
 * An API server in memory, as small as the daemon's stories need it: lists, watches, PATCH of pods/resize and of
 * status, events. `intercept` puts any other answer in its place: a recorded refusal, a delay, a dead connection.
 */
import type { ApiServer, Transport } from "../../lib/kube/transport.ts";
import { type Json, mergePatch, resizePod } from "./api_objects.ts";

export interface Call {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly contentType: string | null;
  readonly body: Json;
  readonly signal: AbortSignal;
}

interface Place {
  readonly namespace: string | null;
  readonly plural: string;
  readonly name: string | null;
  readonly subresource: string | null;
}

interface Watch {
  readonly isAsked: (change: Change) => boolean;
  readonly controller: ReadableStreamDefaultController<Uint8Array>;
}

interface Change {
  readonly version: number;
  readonly plural: string;
  readonly namespace: string | null;
  readonly line: Uint8Array;
}

const PATH = /^\/(?:api\/v1|apis\/[^/]+\/[^/]+)(?:\/namespaces\/([^/]+))?\/([a-z]+)(?:\/([^/]+))?(?:\/([a-z]+))?$/;

export class FakeApiServer {
  readonly origin = "http://api.test";
  readonly calls: Call[] = [];
  /** An answer here is the answer; `null` lets the request through. */
  intercept: (call: Call) => Response | Promise<Response | null> | null = () => null;
  readonly #now: () => number;
  readonly #objects = new Map<string, Json>();
  readonly #changes: Change[] = [];
  readonly #watches = new Set<Watch>();
  readonly #held = new Map<string, Change[]>();
  #version = 100;

  constructor(now: () => number) {
    this.#now = now;
  }

  get openWatches(): number {
    return this.#watches.size;
  }

  readonly transport: Transport = async (request) => {
    const { pathname, searchParams } = new URL(request.url);
    const text = await request.text();
    const call: Call = {
      method: request.method,
      path: pathname,
      query: Object.fromEntries(searchParams),
      contentType: request.headers.get("content-type"),
      body: text === "" ? {} : JSON.parse(text),
      signal: request.signal,
    };
    this.calls.push(call);
    return await Promise.race([aborted(request.signal), this.#answer(call)]);
  };

  toServer(): ApiServer {
    return {
      origin: this.origin,
      transport: this.transport,
      caCerts: [],
      readToken: () => Promise.resolve(null),
      clientCertificate: null,
      namespace: "default",
      source: "memory",
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  }

  get(plural: string, name: string, namespace: string | null = "shop"): Json {
    const object = this.#objects.get(toKey({ plural, name, namespace }));
    if (object === undefined) throw new Error(`Cannot get ${plural} "${name}": not there`);
    return structuredClone(object);
  }

  list(plural: string): Json[] {
    return [...this.#objects].filter(([key]) => key.startsWith(`${plural}/`)).map(([, object]) => object);
  }

  /** Creates or replaces, with a new version, and tells every watch. */
  put(plural: string, object: Json): Json {
    const { name, namespace = null } = object.metadata;
    const key = toKey({ plural, name, namespace });
    const type = this.#objects.has(key) ? "MODIFIED" : "ADDED";
    const stored = structuredClone(object);
    stored.metadata.resourceVersion = String(++this.#version);
    this.#objects.set(key, stored);
    this.#tell(type, { plural, namespace, object: stored });
    return structuredClone(stored);
  }

  edit(plural: string, name: string, edit: (object: Json) => void): void {
    const object = this.get(plural, name);
    edit(object);
    this.put(plural, object);
  }

  remove(plural: string, name: string, namespace: string | null = "shop"): void {
    const object = this.get(plural, name, namespace);
    this.#objects.delete(toKey({ plural, name, namespace }));
    object.metadata.resourceVersion = String(++this.#version);
    this.#tell("DELETED", { plural, namespace, object });
  }

  /** What is done in it no watch tells of: all of them end as too old, and have to list again. */
  expire(unseen: () => void): void {
    const watches = [...this.#watches];
    this.#watches.clear();
    unseen();
    for (const { controller } of watches) {
      controller.enqueue(toLine("ERROR", { kind: "Status", code: 410, message: "too old resource version" }));
      controller.close();
    }
  }

  /** Watches tell nothing of these objects until what is returned is called: then all of it. */
  hold(plural: string): () => void {
    this.#held.set(plural, []);
    return () => {
      const changes = this.#held.get(plural) ?? [];
      this.#held.delete(plural);
      for (const change of changes) this.#pass(change);
    };
  }

  #tell(type: string, { plural, namespace, object }: { plural: string; namespace: string | null; object: Json }): void {
    const line = toLine(type, object);
    const change = { version: this.#version, plural, namespace, line };
    this.#changes.push(change);
    const held = this.#held.get(plural);
    if (held === undefined) this.#pass(change);
    else held.push(change);
  }

  #pass(change: Change): void {
    for (const { isAsked, controller } of this.#watches) if (isAsked(change)) controller.enqueue(change.line);
  }

  async #answer(call: Call): Promise<Response> {
    const other = await this.intercept(call);
    if (other !== null) return other;
    const [, namespace = null, plural = "", name = null, subresource = null] = PATH.exec(call.path) ?? [];
    const place: Place = { namespace, plural, name, subresource };
    if (call.method === "GET") return call.query.watch ? this.#watch(place, call) : this.#list(place);
    if (call.method === "POST") return this.#create(place, call);
    return this.#patch(place, call);
  }

  #list({ plural, namespace }: Place): Response {
    const items = this.list(plural).filter(({ metadata }) => namespace === null || metadata.namespace === namespace);
    return Response.json({ kind: "List", metadata: { resourceVersion: String(this.#version) }, items });
  }

  #watch({ plural, namespace }: Place, { query, signal }: Call): Response {
    const isAsked = (one: Change) => one.plural === plural && (namespace === null || one.namespace === namespace);
    let watch: Watch | null = null;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        const since = this.#changes.filter((one) => one.version > Number(query.resourceVersion) && isAsked(one));
        for (const { line } of since) controller.enqueue(line);
        watch = { isAsked, controller };
        this.#watches.add(watch);
        signal.addEventListener("abort", () => {
          if (watch !== null && this.#watches.delete(watch)) controller.error(signal.reason);
        }, { once: true });
      },
      cancel: () => void (watch !== null && this.#watches.delete(watch)),
    });
    return new Response(body, { headers: { "content-type": "application/json" } });
  }

  #create({ plural, namespace }: Place, { body }: Call): Response {
    const name = body.metadata.name;
    if (this.#objects.has(toKey({ plural, name, namespace }))) {
      return refuse(409, { message: `${plural} "${name}" already exists`, reason: "AlreadyExists" });
    }
    return Response.json(this.put(plural, body), { status: 201 });
  }

  #patch({ plural, namespace, name, subresource }: Place, { body, query }: Call): Response {
    const object = this.#objects.get(toKey({ plural, name: name ?? "", namespace }));
    if (object === undefined) {
      return refuse(404, {
        message: `${plural} "${name}" not found`,
        reason: "NotFound",
        details: { name, kind: plural },
      });
    }
    if (plural === "pods" && subresource === "resize") {
      const { uid, resourceVersion } = body.metadata;
      if (uid !== undefined && uid !== object.metadata.uid) {
        const causes = [{ field: "metadata.uid", reason: "FieldValueInvalid", message: "field is immutable" }];
        return refuse(422, { message: "field is immutable", reason: "Invalid", details: { name, causes } });
      }
      if (resourceVersion !== undefined && resourceVersion !== object.metadata.resourceVersion) {
        return refuse(409, {
          message: "the object has been modified",
          reason: "Conflict",
          details: { name, kind: plural },
        });
      }
      return Response.json(
        this.put(plural, resizePod(object, body, { manager: query.fieldManager ?? "", at: this.#now() })),
      );
    }
    const only = subresource === "status" ? { status: body.status } : body;
    return Response.json(this.put(plural, mergePatch(object, only)));
  }
}

/** A Status, as the server puts a refusal. */
export function refuse(code: number, status: Json): Response {
  return Response.json({ kind: "Status", apiVersion: "v1", status: "Failure", code, ...status }, { status: code });
}

function toLine(type: string, object: Json): Uint8Array {
  return new TextEncoder().encode(`${JSON.stringify({ type, object })}\n`);
}

function toKey({ plural, name, namespace }: { plural: string; name: string; namespace: string | null }): string {
  return `${plural}/${namespace ?? ""}/${name}`;
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) return reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
