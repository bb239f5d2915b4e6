/** The HTTP or HTTPS listeners of the daemon: health and metrics, and on request the debug listener. */
import type { Metrics } from "../../daemon/metrics/metrics.ts";
import type { FlightRecords } from "../../daemon/recorder.ts";
import { type CheckReader, openReaderAccess } from "../../daemon/server/reader_access.ts";
import {
  type CheckRecordsReader,
  createRecordsAccess,
  type FindPodAt,
  RECORDS_PATH,
} from "../../daemon/server/records_access.ts";
import {
  createHandler,
  debugRoutes,
  type Handler,
  healthRoutes,
  type HealthRoutesOptions,
  metricsRoutes,
} from "../../daemon/server/routes.ts";
import { type GetIdentity, serve, type ServeOptions } from "../../daemon/server/serve.ts";
import { createClient } from "../../kube/client.ts";
import type { ApiServer } from "../../kube/transport.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { Log } from "../../runtime/log.ts";
import { toStartError } from "../command/process.ts";
import type { RunOptions } from "./options.ts";

/** The routes, and for how long they are served. */
interface ListenContext {
  readonly log: Log;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly signal: AbortSignal;
  readonly verdicts: HealthRoutesOptions;
  /** Used with `--debug-listen` only; `null` = there are none. */
  readonly records: FlightRecords | null;
  /** Used with `--metrics-auth` only. */
  readonly checkReader: CheckReader;
  /** Used with `--pod-uid` only. */
  readonly findPodAt: FindPodAt;
}

/** Resolves when it listens. Rejects with a StartError where it cannot, or where a file cannot be used. */
export async function listen(options: RunOptions, context: ListenContext): Promise<AsyncDisposable> {
  const { log, metrics, verdicts, records, clock } = context;
  const readIdentity = await openIdentity(options, { log, clock });
  const checkReader = options.metricsAuth ? context.checkReader : null;
  if (checkReader !== null && readIdentity === undefined) {
    log.warn(
      "Readers of /metrics send their tokens in clear (--metrics-auth without TLS): an attacker on the way can use " +
        "them; give --tls-cert-file and --tls-private-key-file, or send tokens of the audience podfit",
    );
  }
  await using listening = new AsyncDisposableStack();
  const main = createHandler([healthRoutes(verdicts, checkReader), metricsRoutes(metrics, { checkReader, clock })]);
  const common = { ...context, readIdentity, metricsAuth: options.metricsAuth };
  listening.use(serveOn(main, { ...common, ...options.listen, flag: "--listen", said: "Listening" }));
  const { debugListen } = options;
  if (debugListen !== null && records !== null) {
    const debug = createHandler([debugRoutes(records, toRecordsCheck(options, { ...context, checkReader }), clock)]);
    const said = "Listening for those who debug";
    listening.use(serveOn(debug, { ...common, ...debugListen, ...DEBUG_LIMITS, flag: "--debug-listen", said }));
  }
  return listening.move();
}

/** `null` = every client may read: the address is one of this machine. */
function toRecordsCheck(
  { podUid, environment: { podIps } }: RunOptions,
  context: Pick<ListenContext, "findPodAt" | "clock"> & { readonly checkReader: CheckReader | null },
): CheckRecordsReader | null {
  const { checkReader } = context;
  if (podUid !== null) return createRecordsAccess({ ...context, podUid, podIp: podIps[0] ?? null });
  return checkReader && (({ authorization }) => checkReader(authorization, RECORDS_PATH));
}

/** A client that follows a pod reads for long; there are few of them. */
const DEBUG_LIMITS = { answerMs: 24 * 3_600_000, mostConnections: 20 };

interface ListenerOptions extends ServeOptions, Pick<ListenContext, "log"> {
  readonly metricsAuth: boolean;
  readonly flag: string;
  /** What the log says about the certificate. */
  readonly said: string;
  readonly signal: AbortSignal;
}

function serveOn(handler: Handler, { log, flag, said, metricsAuth, ...options }: ListenerOptions): AsyncDisposable {
  try {
    const onAcceptError = (error: unknown) =>
      log.warn("Cannot accept connections, trying again: check the limit of open files (ulimit -n)", { error });
    const { hostname, port, signal, readIdentity, answerMs = 120_000, mostConnections = 100 } = options;
    const http = serve(handler, { hostname, port, signal, onAcceptError, readIdentity, answerMs, mostConnections });
    const host = http.hostname.includes(":") ? `[${http.hostname}]` : http.hostname;
    const scheme = readIdentity === undefined ? "http" : "https";
    log.info(said, { address: `${host}:${http.port}`, scheme, metricsAuth });
    return http;
  } catch (error) {
    throw toStartError(error, `; choose another with ${flag}`);
  }
}

async function openIdentity(
  { tls }: RunOptions,
  { log, clock }: Pick<ListenContext, "log" | "clock">,
): Promise<GetIdentity | undefined> {
  if (tls === null) return undefined;
  const { openCertificate } = await import("../../daemon/server/certificate.ts");
  try {
    return await openCertificate({
      ...tls,
      clock,
      onRenewed: () => log.info("Serving with a new certificate", { file: tls.certPath }),
      onRefused: (error) => log.error("Serving with the former certificate, as the new one cannot be used", { error }),
    });
  } catch (error) {
    throw toStartError(error);
  }
}

/** This API server decides about readers. A failure to ask it is logged at once, and again after a while. */
export async function openReaderCheck(
  server: Pick<ApiServer, "origin" | "transport">,
  { log, clock }: { readonly log: Log; readonly clock: Clock },
): Promise<CheckReader> {
  let saidMs = -Infinity;
  let isSaid = false;
  return await openReaderAccess({
    client: createClient(server),
    clock,
    onFailure({ kind, why }) {
      if (clock.monotonic() - saidMs < MIN_LOG_INTERVAL_MS) return;
      saidMs = clock.monotonic();
      isSaid = true;
      log[kind === "rightMissing" ? "error" : "warn"]("Cannot check who may read /metrics", { why });
    },
    onAnswered() {
      if (isSaid) log.info("Readers of /metrics are known again");
      isSaid = false;
    },
  });
}

/** Each scrape counts the one before it. */
const MIN_LOG_INTERVAL_MS = 600_000;
