/** How podfit listens: over HTTP or HTTPS, with the metrics for everybody or for those whom the API server knows. */
import { openCertificate, type ReadIdentity } from "../../daemon/http/certificate.ts";
import { createHandler } from "../../daemon/http/handler.ts";
import { healthRoutes, type HealthRoutesOptions } from "../../daemon/http/health_routes.ts";
import { metricsRoutes } from "../../daemon/http/metrics_routes.ts";
import { type CheckReader, createReaderAccess } from "../../daemon/http/reader_access.ts";
import { serve } from "../../daemon/http/serve.ts";
import type { Metrics } from "../../daemon/metrics/metrics.ts";
import { createClient } from "../../kube/client.ts";
import type { ApiServer } from "../../kube/transport.ts";
import { type Clock, systemClock } from "../../runtime/clock.ts";
import type { Log } from "../../runtime/log.ts";
import type { RunOptions } from "./options.ts";
import { toStartError } from "./start_error.ts";

/** What is answered, and how long. */
export interface ListenContext {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly signal: AbortSignal;
  readonly verdicts: HealthRoutesOptions;
  /** Asked with `--metrics-auth` alone. */
  readonly checkReader: CheckReader;
}

/** Resolves when it listens. Rejects with a StartError where it cannot, or where a file cannot be used. */
export async function listen(options: RunOptions, context: ListenContext): Promise<AsyncDisposable> {
  const { log, metrics, signal, verdicts } = context;
  const readIdentity = await openIdentity(options, log);
  const checkReader = options.metricsAuth ? context.checkReader : null;
  if (checkReader !== null && readIdentity === undefined) {
    log.warn(
      "Readers of /metrics send their tokens in clear (--metrics-auth without TLS): whoever hears one on the way can " +
        "use it; give --tls-cert-file and --tls-private-key-file",
    );
  }
  try {
    const handler = createHandler([healthRoutes(verdicts), metricsRoutes(metrics, { checkReader })]);
    const onAcceptError = (error: unknown) =>
      log.warn("Cannot accept connections, trying again: check the limit of open files (ulimit -n)", { error });
    const http = serve(handler, { ...options.listen, signal, onAcceptError, readIdentity });
    const host = http.hostname.includes(":") ? `[${http.hostname}]` : http.hostname;
    const scheme = readIdentity === undefined ? "http" : "https";
    log.info("Listening", { address: `${host}:${http.port}`, scheme, metricsAuth: options.metricsAuth });
    return http;
  } catch (error) {
    throw toStartError(error, "; choose another with --listen");
  }
}

async function openIdentity({ tls }: RunOptions, log: Log): Promise<ReadIdentity | undefined> {
  if (tls === null) return undefined;
  try {
    return await openCertificate({
      ...tls,
      clock: systemClock,
      onRenewed: () => log.info("Serving with a new certificate", { file: tls.certPath }),
      onRefused: (error) => log.error("Serving with the former certificate, as the new one cannot be used", { error }),
    });
  } catch (error) {
    throw toStartError(error);
  }
}

/** Who may read is asked of this API server; that it cannot be asked is said when it begins, and after a while again. */
export function askAboutReaders(
  server: Pick<ApiServer, "origin" | "transport">,
  { log, clock }: { readonly log: Log; readonly clock: Clock },
): CheckReader {
  let saidMs = -Infinity;
  let isSaid = false;
  return createReaderAccess({
    client: createClient(server),
    clock,
    onFailure({ kind, why }) {
      if (clock.monotonic() - saidMs < LEAST_BETWEEN_MS) return;
      saidMs = clock.monotonic();
      isSaid = true;
      log[kind === "rightMissing" ? "error" : "warn"]("Cannot tell who may read /metrics", { why });
    },
    onAnswered() {
      if (isSaid) log.info("Readers of /metrics are known again");
      isSaid = false;
    },
  });
}

/** Each scrape meets what the one before it has met. */
const LEAST_BETWEEN_MS = 600_000;
