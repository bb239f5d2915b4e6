/**
 * The embedded API server under a virtual clock, with short ways to ask it something: one call is one request, in
 * process, and an answer is what came back.
 */
import { parseAll } from "../../lib/runtime/yaml.ts";
import { formatTime } from "../../lib/units/time.ts";
import type { Json } from "./api_objects.ts";
import { createFullApiServer, type FullApiServer, type FullApiServerOptions } from "./embedded/full_cluster.ts";
import { VIRTUAL_START_AT, VirtualClock } from "./virtual_clock.ts";

export const ORIGIN = "http://sim.test";
export const STRATEGIC = "application/strategic-merge-patch+json";
export const MERGE = "application/merge-patch+json";

export interface Answer {
  readonly code: number;
  readonly body: Json;
}

export interface CallOptions {
  readonly contentType?: string;
  readonly manager?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export class SimServer {
  readonly clock: VirtualClock;
  readonly api: FullApiServer;

  constructor(options: Partial<FullApiServerOptions> = {}) {
    this.clock = new VirtualClock();
    let seed = 1;
    // Any sequence of numbers, the same in each run.
    const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
    this.api = createFullApiServer({ clock: this.clock, random, ...options });
  }

  async call(method: string, path: string, body?: Json, options: CallOptions = {}): Promise<Answer> {
    const response = await this.send(method, path, body, options);
    const text = await response.text();
    return { code: response.status, body: text.startsWith("{") ? JSON.parse(text) : text };
  }

  send(method: string, path: string, body?: Json, options: CallOptions = {}): Promise<Response> {
    const { contentType = "application/json", manager, headers } = options;
    const url = new URL(path, ORIGIN);
    if (manager !== undefined) url.searchParams.set("fieldManager", manager);
    return this.api.handle(
      new Request(url, {
        method,
        headers: { "user-agent": "test/1", ...(body === undefined ? {} : { "content-type": contentType }), ...headers },
        ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      }),
    );
  }

  /** The answer's object; throws with the server's words when it refuses. */
  async get(path: string): Promise<Json> {
    return expectOk(await this.call("GET", path));
  }

  async create(path: string, object: Json, options: CallOptions = {}): Promise<Json> {
    return expectOk(await this.call("POST", path, object, options));
  }

  patch(path: string, patch: Json, options: CallOptions = {}): Promise<Answer> {
    return this.call("PATCH", path, patch, { contentType: STRATEGIC, ...options });
  }

  async createNamespace(name: string): Promise<void> {
    await this.create("/api/v1/namespaces", { metadata: { name } });
  }

  async createDefinition(): Promise<void> {
    const file = new URL("../../crds/podresourceautoscaler.yaml", import.meta.url);
    const [definition] = parseAll(await Deno.readTextFile(file));
    await this.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition);
  }
}

/** A pod "a" with one container "main" of these requests and limits. */
export function podManifest(name = "a", resources: Json = {}, spec: Json = {}): Json {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: { app: name } },
    spec: { containers: [{ name: "main", image: "localhost/load:1", resources }], ...spec },
  };
}

export function expectOk({ code, body }: Answer): Json {
  if (code >= 300) throw new Error(`Cannot use an answer of ${code}: ${body.message ?? body}`);
  return body;
}

export function secondsAfterStart(seconds: number): string {
  return formatTime(VIRTUAL_START_AT + seconds * 1000);
}
