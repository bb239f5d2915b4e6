/**
 * What must be so before a start makes sense: the API server answers, and knows the kinds that podfit goes by. What only a
 * person can mend is an error, one line with the command that helps. Missing rights are not fatal: they heal when they
 * are granted.
 */
import { toApiError } from "../../kube/api_error.ts";
import { type ApiClient, createClient, type UntypedAnswer } from "../../kube/client.ts";
import { isLasting } from "../../kube/network_error.ts";
import type { ApiServer } from "../../kube/transport.ts";
import { systemClock } from "../../runtime/clock.ts";
import { toStartError } from "./start_error.ts";

/** Why it is not so yet, where it may be so later. */
export interface NotYet {
  /** One line that says what to look at. */
  readonly reason: string;
  /** How long the server asks to wait; `null` when it does not say. */
  readonly retryAfterMs: number | null;
}

/** How long the question may take. */
export interface CheckOptions {
  readonly timeoutMs?: number;
  /** Does podfit set replicas, too? */
  readonly scaledObjects?: boolean;
  readonly signal?: AbortSignal;
}

/** `null` when all is so. Throws StartError where another try would be answered the same, and the signal's reason. */
export async function checkCluster(
  server: ApiServer,
  namespaces: readonly string[] | null,
  options: CheckOptions = {},
): Promise<NotYet | null> {
  const namespace = namespaces?.[0];
  const { scaledObjects = false, ...asking } = options;
  return await checkKind(server, AUTOSCALERS, { ...asking, namespace }) ??
    (scaledObjects ? await checkKind(server, SCALED_OBJECTS, { ...asking, namespace }) : null);
}

/** A kind that podfit goes by: how one of it is asked for, and what to do where the server does not know it. */
interface Kind {
  readonly list: (client: ApiClient, where: Asked) => Promise<ListAnswer>;
  readonly missing: string;
}

interface Asked {
  readonly namespace: string | undefined;
  readonly signal: AbortSignal;
}

type ListAnswer = Pick<UntypedAnswer, "response" | "error">;

const query = { limit: 1 };

const AUTOSCALERS: Kind = {
  list: ({ autoscalers }, { namespace, signal }) =>
    namespace === undefined
      ? autoscalers.GET("/apis/keda.kedify.io/v1alpha1/podresourceautoscalers", { params: { query }, signal })
      : autoscalers.GET("/apis/keda.kedify.io/v1alpha1/namespaces/{namespace}/podresourceautoscalers", {
        params: { path: { namespace }, query },
        signal,
      }),
  missing: "PodResourceAutoscalers; install them with `kubectl apply -f crds/podresourceautoscaler.yaml`",
};

const SCALED_OBJECTS: Kind = {
  list: ({ scaledObjects }, { namespace, signal }) =>
    namespace === undefined
      ? scaledObjects.GET("/apis/keda.sh/v1alpha1/scaledobjects", { params: { query }, signal })
      : scaledObjects.GET("/apis/keda.sh/v1alpha1/namespaces/{namespace}/scaledobjects", {
        params: { path: { namespace }, query },
        signal,
      }),
  missing: "ScaledObjects, which --scaled-objects is about; install them with `kubectl apply --server-side " +
    "-f crds/scaledobject.yaml -f crds/triggerauthentication.yaml -f crds/clustertriggerauthentication.yaml`, or leave " +
    "--scaled-objects out (or PODFIT_SCALED_OBJECTS)",
};

async function checkKind(server: ApiServer, kind: Kind, options: KindOptions): Promise<NotYet | null> {
  const { origin } = server;
  let answer: ListAnswer;
  try {
    answer = await listOne(server, kind, options);
  } catch (cause) {
    options.signal?.throwIfAborted();
    const error = toStartError(cause, `; the server is named by ${describeSource(server)}`);
    if (isLasting(cause)) throw error;
    return { reason: error.message, retryAfterMs: null };
  }
  const { response, error } = answer;
  if (response.ok || response.status === 403) return null;
  if (response.status === 404) {
    throw toStartError(`Cannot start: ${origin} does not know ${kind.missing}`);
  }
  const { message, retryAfterMs } = toApiError(response, error);
  if (response.status === 401) {
    throw toStartError(
      `Cannot start: ${origin} does not accept the credentials of ${describeSource(server)} (${message})`,
      "; check them with `kubectl auth whoami`",
    );
  }
  const { message: reason } = toStartError(
    `${origin} answered ${response.status}: ${message}`,
    "; try `kubectl get --raw /readyz`",
  );
  if (PASSING.has(response.status) || response.status >= 500) return { reason, retryAfterMs };
  throw toStartError(`Cannot start: ${reason}`);
}

/** Statuses below 500 that ask to come again: a request that took too long, or too many of them. */
const PASSING: ReadonlySet<number> = new Set([408, 429]);

interface KindOptions extends Omit<CheckOptions, "scaledObjects"> {
  readonly namespace: string | undefined;
}

async function listOne(
  server: ApiServer,
  { list }: Kind,
  { namespace, timeoutMs = 15_000, signal: ending }: KindOptions,
): Promise<ListAnswer> {
  using timeout = systemClock.timeout(timeoutMs);
  const signal = ending === undefined ? timeout.signal : AbortSignal.any([timeout.signal, ending]);
  return await list(createClient(server), { namespace, signal });
}

function describeSource({ source }: ApiServer): string {
  return source === "in-cluster" ? "the pod's own service account" : source;
}
