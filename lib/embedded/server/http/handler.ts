/**
 * How does the embedded API server answer a request? A function from Request to Response over objects in memory.
 * kubectl, podfit and the embedded kubelets use it like a real server of Kubernetes 1.36, under any clock. Not
 * imitated: protobuf, OpenAPI schemas and strict field validation of built-in kinds, webhooks, lists at exact old
 * versions, events.k8s.io, the token volume of service accounts, pod priority, merging of metadata through
 * subresources, client certificates, impersonation, priority and fairness. Controllers are clients: the server deletes
 * nothing by itself.
 */
import type { Clock } from "../../../runtime/clock.ts";
import { abortable } from "../../../runtime/tasks.ts";
import { isObject, type JsonObject } from "../../json.ts";
import { Catalog, type CatalogOptions } from "../kinds/catalog.ts";
import { Refusal } from "../refusal.ts";
import { Store } from "../store.ts";
import { type Admission, CAPACITY_ADMISSION } from "../write/admission.ts";
import { seed } from "../write/objects.ts";
import { APPLY, MERGE } from "../write/patch.ts";
import type { Apply, PatchFormats } from "../write/write.ts";
import { answerResource } from "./answer.ts";
import { describe } from "./discovery.ts";
import { Lister } from "./list.ts";
import {
  type Answer,
  type Authorize,
  type AuthorizeParts,
  type Caller,
  type Interception,
  type Interceptor,
  parsePath,
  readBody,
  type Target,
  toVerb,
} from "./request.ts";

/** What an API server is made of. */
export interface ApiServerOptions extends CatalogOptions {
  readonly clock: Clock;
  /** A number in [0, 1), such as Math.random gives. */
  readonly random: () => number;
  /** By default every caller may do everything. */
  readonly createAuthorize?: (parts: AuthorizeParts) => Authorize;
  /** By default a resize beyond the node is refused, and nothing else. */
  readonly admission?: Admission;
  /** None by default: patches are merge patches and strategic merge patches. */
  readonly patchFormats?: PatchFormats;
  /** By default an apply is refused as any other unknown patch is. */
  readonly apply?: Apply;
  /** By default nothing is disturbed. */
  readonly interceptor?: Interceptor;
  /** Changes that a watch can start from, per resource. */
  readonly historyLimit?: number;
  /** Answers `nodes/NAME/proxy/PATH` and `pods/NAME/proxy/PATH`, which are 503 without it. */
  readonly proxy?: Proxy;
  /** Answers for the groups of other servers, whose rights are checked here; `null` for one that is none's. */
  readonly aggregate?: (target: Target) => JsonObject | null;
}

/** What a request through the API server's proxy is for. */
interface ProxyTarget {
  readonly plural: string;
  readonly namespace: string | null;
  readonly name: string;
  /** The path without its leading slash. */
  readonly path: string;
}

/** Answers requests that go through the API server to a kubelet or a pod. */
export type Proxy = (target: ProxyTarget, request: Request) => Promise<Response>;

/** An API server in this process. */
export interface EmbeddedApiServer {
  /** Answers a request. It rejects when the request's signal aborts or the interceptor breaks the connection. */
  readonly handle: (request: Request) => Promise<Response>;
  readonly store: Store;
  /** From then on no watch and no page can go on from an earlier version. */
  readonly expireHistory: () => void;
}

/** An API server with the namespaces of a new cluster and nothing else. */
export function createApiServer(options: ApiServerOptions): EmbeddedApiServer {
  const {
    clock,
    random,
    createAuthorize = () => () => ADMINISTRATOR,
    historyLimit = 10_000,
    proxy = null,
    aggregate = () => null,
    admission = CAPACITY_ADMISSION,
    patchFormats = {},
    apply = null,
    interceptor = { skewMs: 0, intercept: () => Promise.resolve(UNDISTURBED) },
  } = options;
  const store = new Store({ historyLimit });
  const now = () => clock.now() + interceptor.skewMs;
  const authorize = createAuthorize({ store, random, now });
  const context = {
    store,
    admission,
    patchFormats,
    apply,
    catalog: new Catalog(store, options),
    lister: new Lister(() => clock.monotonic()),
  };
  seed(store, { now: now(), random });
  return {
    store,
    async handle(request) {
      request.signal.throwIfAborted();
      const response = await abortable(answer(request), request.signal);
      response.headers.set("date", new Date(now()).toUTCString());
      return response;
    },
    expireHistory() {
      store.expireHistory();
      context.lister.expire();
    },
  };

  async function answer(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const isWatch = ["true", "1"].includes(url.searchParams.get("watch") ?? "");
    const { method, signal } = request;
    let interception = UNDISTURBED;
    try {
      interception = await interceptor.intercept({ method, path: url.pathname, isWatch }, signal);
      const caller = authorize(request.headers.get("authorization"));
      const answered = await respond(request, { url, caller, isWatch });
      return interception.change(toResponse(answered, interception.register));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return interception.change(toRefused(error));
    }
  }

  async function respond(
    request: Request,
    { url, caller, isWatch }: { readonly url: URL; readonly caller: Caller; readonly isWatch: boolean },
  ): Promise<Answer | Response> {
    const { pathname } = url;
    const target = parsePath(pathname);
    const body = await readBody(request);
    if (target !== null && request.method === "POST") {
      const answered = caller.answer(pathname, isObject(body.value) ? body.value : {});
      if (answered !== null) return { code: 201, text: JSON.stringify(answered) };
    }
    const description = target === null || target.name === ""
      ? describe(pathname, {
        types: context.catalog.all(),
        patchTypes: [...Object.keys(patchFormats), MERGE, ...(apply === null ? [] : [APPLY])],
      })
      : null;
    if (target === null || description !== null) {
      caller.check({ verb: request.method.toLowerCase(), path: pathname });
      if (description !== null) return { code: 200, text: JSON.stringify(description) };
      if (/^\/(healthz|livez|readyz)(\/|$)/.test(pathname)) return new Response("ok");
      return notServed();
    }
    const verb = toVerb(request.method, target, isWatch);
    const { group, plural, subresource, namespace, name } = target;
    const resource = subresource === "" ? plural : `${plural}/${subresource}`;
    caller.check({ verb, group, resource, namespace, name });
    if (subresource === "proxy" && proxy !== null) {
      return await proxy({ plural, namespace, name, path: target.rest }, request);
    }
    const aggregated = aggregate(target);
    if (aggregated !== null) return { code: 200, text: JSON.stringify(aggregated) };
    if (!context.catalog.hasVersion(target)) return notServed();
    const { signal, headers } = request;
    return answerResource({ ...context, now: now(), random, clock }, {
      target,
      verb,
      query: url.searchParams,
      body,
      accept: headers.get("accept"),
      signal,
      contentType: (headers.get("content-type") ?? "").split(";")[0]?.trim() ?? "",
      agent: headers.get("user-agent")?.split("/")[0] || "unknown",
    });
  }

  function toResponse(answered: Answer | Response, register: Parameters<NonNullable<Answer["open"]>>[0]): Response {
    if (answered instanceof Response) return answered;
    const headers = { "content-type": "application/json" };
    return new Response(answered.open === undefined ? answered.text : answered.open(register), {
      status: answered.code,
      headers,
    });
  }
}

const ADMINISTRATOR: Caller = { check() {}, answer: () => null };

const UNDISTURBED: Interception = { register: () => () => {}, change: (response) => response };

/** The answer for an unknown path or group is neither a Status nor JSON. */
function notServed(): Response {
  return new Response("404 page not found\n", {
    status: 404,
    headers: { "content-type": "text/plain; charset=utf-8" },
  });
}

function toRefused({ code, status }: Refusal): Response {
  const details = isObject(status.details) ? status.details : {};
  const seconds = details.retryAfterSeconds;
  const headers = new Headers({ "content-type": "application/json" });
  if (typeof seconds === "number") headers.set("retry-after", String(seconds));
  return new Response(JSON.stringify(status), { status: code, headers });
}
