/** One request of a conversation with an API server, and short ways to write one. */

/** A request: a sentence, and what is sent. */
export interface ApiRequest {
  readonly sentence: string;
  readonly method: string;
  /** With its query. */
  readonly path: string;
  /** Text is sent as it is. */
  readonly body?: unknown;
  readonly contentType?: string;
}

export const MERGE = "application/merge-patch+json";
export const STRATEGIC = "application/strategic-merge-patch+json";
export const JSON_PATCH = "application/json-patch+json";
export const APPLY = "application/apply-patch+yaml";

export function send(sentence: string, method: string, path: string, body?: unknown): ApiRequest {
  return { sentence: `${method} ${sentence}`, method, path, ...(body === undefined ? {} : { body }) };
}

export function get(sentence: string, path: string): ApiRequest {
  return send(sentence, "GET", path);
}

export function post(sentence: string, path: string, body: unknown): ApiRequest {
  return send(sentence, "POST", path, body);
}

export function put(sentence: string, path: string, body: unknown): ApiRequest {
  return send(sentence, "PUT", path, body);
}

export function remove(sentence: string, path: string, options?: unknown): ApiRequest {
  return send(sentence, "DELETE", path, options);
}

export function patch(sentence: string, contentType: string, path: string, body: unknown): ApiRequest {
  return { ...send(sentence, "PATCH", path, body), contentType };
}
