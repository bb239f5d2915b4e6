/**
 * The typed clients of an API server: openapi-fetch over the server's transport. Paths, parameters and answers are
 * those of lib/api. A refusal is a value: `error` is always a Status, `toApiError` makes an Error of it.
 * A patch names its content type in `params.header`: the server refuses plain JSON with 415. Give its body a type
 * (`const body: PodPatch = ...`): in a literal inside the call the compiler lets misspelt fields pass.
 */
import createFetchClient, { type Client, defaultPathSerializer } from "openapi-fetch";
import type { paths as AutoscalerPaths } from "../api/autoscaler.ts";
import type { paths as KubernetesPaths, Status } from "../api/kubernetes.ts";
import { isRecord } from "../units/untrusted.ts";
import { BodyTooLarge, readText } from "./body.ts";
import type { ApiServer } from "./transport.ts";

export interface ApiClient {
  /** Kubernetes' own resources: core/v1, apps/v1 and /version. */
  readonly core: Client<KubernetesPaths>;
  /** PodResourceAutoscalers. */
  readonly autoscalers: Client<AutoscalerPaths>;
}

/** `params.header` of a patch that merges lists by their merge key; for Kubernetes' own resources only. */
export const STRATEGIC_MERGE = { "content-type": "application/strategic-merge-patch+json" } as const;

/** `params.header` of a patch that replaces lists whole (RFC 7386); for every resource. */
export const MERGE = { "content-type": "application/merge-patch+json" } as const;

export function createClient(server: Pick<ApiServer, "origin" | "transport">): ApiClient {
  const options = {
    baseUrl: server.origin,
    fetch: async (request: Request) => {
      const response = await server.transport(request);
      return response.ok ? response : await toStatusResponse(response, request.signal);
    },
    // Whatever the content type says, every body of this API is JSON.
    bodySerializer: (body: unknown) => JSON.stringify(body),
    pathSerializer,
    headers: { accept: "application/json" },
  };
  return {
    core: createFetchClient<KubernetesPaths>(options),
    autoscalers: createFetchClient<AutoscalerPaths>(options),
  };
}

const MAX_REFUSAL_BYTES = 64 * 1024;

/**
 * The refusal with a Status for a body, whatever it had. Otherwise openapi-fetch gives text, or no `error` at all when
 * the body is empty, and a refusal would pass for an answer.
 */
async function toStatusResponse(response: Response, signal: AbortSignal): Promise<Response> {
  const { status, statusText, headers } = response;
  const text = await readRefusal(response, signal);
  const failure: Status = { kind: "Status", apiVersion: "v1", status: "Failure", code: status };
  const body = parseStatus(text) ?? { ...failure, message: text.trim() || `HTTP ${status} ${statusText}`.trim() };
  const kept = new Headers(headers);
  kept.delete("content-length");
  kept.set("content-type", "application/json");
  return new Response(JSON.stringify(body), { status, statusText, headers: kept });
}

async function readRefusal(response: Response, signal: AbortSignal): Promise<string> {
  try {
    return await readText(response, { limitBytes: MAX_REFUSAL_BYTES, signal });
  } catch (error) {
    if (error instanceof BodyTooLarge) return "";
    throw error;
  }
}

function parseStatus(text: string): Status | null {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) && value["kind"] === "Status" ? value : null;
  } catch {
    return null;
  }
}

/** `{path}` at the end of nodes/{name}/proxy/{path} is a path of its own: its slashes stay. */
function pathSerializer(pathname: string, params: Record<string, unknown>): string {
  const { path, ...rest } = params;
  const segments = path === undefined ? "{path}" : String(path).split("/").map(encodeURIComponent).join("/");
  return defaultPathSerializer(pathname, rest).replace("{path}", () => segments);
}
