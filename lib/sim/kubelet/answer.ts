/** A kubelet's own server answers with usage, health and its pods, and with a Date by the node's clock. */
import type { CheckAccess } from "./access.ts";
import type { Machine } from "./machine.ts";
import { RESOURCE_METRICS_TYPE, writeResourceMetrics } from "./resource_metrics.ts";

/** Whose machine is asked, and who may ask. */
export interface AnswerOptions {
  readonly name: string;
  readonly machine: Machine;
  /** The time of the node's clock. */
  readonly now: () => number;
  readonly checkAccess: CheckAccess;
}

/** The handler of a kubelet's own server. It rejects when the request's signal aborts. */
export function createAnswer(options: AnswerOptions): (request: Request) => Promise<Response> {
  const { name, now, checkAccess } = options;
  return async (request) => {
    request.signal.throwIfAborted();
    const response = await checkAccess(request, name) ?? tell(request, options);
    request.signal.throwIfAborted();
    response.headers.set("date", new Date(now()).toUTCString());
    return response;
  };
}

function tell({ method, url }: Request, { machine }: AnswerOptions): Response {
  const answer = ANSWERS[new URL(url).pathname];
  if (answer === undefined) return new Response("404 page not found\n", { status: 404, headers: TEXT });
  if (method !== "GET" && method !== "HEAD") {
    return new Response("405: Method Not Allowed", { status: 405, headers: { ...TEXT, allow: "GET, HEAD" } });
  }
  return answer(machine);
}

const TEXT = { "content-type": "text/plain; charset=utf-8" };

const ANSWERS: Readonly<Record<string, (machine: Machine) => Response>> = {
  "/healthz": () => new Response("ok", { headers: TEXT }),
  "/metrics/resource": (machine) =>
    new Response(writeResourceMetrics(machine.readSummary()), { headers: { "content-type": RESOURCE_METRICS_TYPE } }),
  "/pods": ({ pods }) => Response.json({ kind: "PodList", apiVersion: "v1", metadata: {}, items: pods }),
  "/stats/summary": (machine) => Response.json(machine.readSummary()),
};
