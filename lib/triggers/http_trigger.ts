/**
 * Asks a prometheus or metrics-api trigger for its value: sends the request within the timeout, and parses the answer
 * to one number.
 *
 * The answer is a Prometheus API response, or a text in which located.ts finds the value.
 */
import type { ExternalTrigger } from "../model/scaled_object.ts";
import type { Clock } from "../runtime/clock.ts";
import { parseGoFloat } from "../units/numbers.ts";
import { isRecord } from "../units/untrusted.ts";
import { adviseOnStatus, describeFailure, fetchText, type SendToTrigger } from "./http_client.ts";
import { parseLocatedValue } from "./located.ts";
import {
  type Auth,
  parseToken,
  resolveAuth,
  type Token,
  toTokenRequests,
  toTriggerRequest,
  type TriggerRequest,
  withToken,
} from "./request.ts";
import {
  type AnswerWork,
  type AskTrigger,
  type HttpTriggerSource,
  type TriggerAnswer,
  type TriggerParameters,
  UNCOUNTED,
  type ValueResult,
} from "./value.ts";

interface AskTriggerOptions {
  readonly clock: Pick<Clock, "timeout" | "monotonic">;
  readonly send: SendToTrigger;
  /** podfit's version, for the User-Agent. */
  readonly version: string;
  /** Larger answers are failures. */
  readonly maxAnswerBytes?: number;
}

/** The default of `--max-trigger-answer`. A page with the metrics of one process is smaller, as one series is. */
export const DEFAULT_MAX_ANSWER_BYTES = 128 * 1024;

/**
 * The returned function always resolves: a failed query is a failed answer, which says why and names no secret.
 * Clauses: R13, R14, R15, R100.
 */
export function createAskTrigger(options: AskTriggerOptions): AskTrigger<HttpTriggerSource> {
  const { maxAnswerBytes = DEFAULT_MAX_ANSWER_BYTES, clock } = options;
  const userAgent = `podfit/${options.version}`;
  /** As long as the credentials are kept: they are fetched again when a query fails. */
  const tokens = new WeakMap<TriggerParameters, KeptToken>();

  /** Returns why there is none as a text. */
  async function getToken(auth: Auth, credentials: TriggerParameters, way: TokenWay): Promise<Token | string> {
    const { isTlsUnverified } = auth;
    const kept = tokens.get(credentials);
    if (kept?.isTlsUnverified === isTlsUnverified && kept.untilMs > clock.monotonic()) return kept;
    const token = await fetchToken(toTokenRequests(auth, userAgent), way);
    if (typeof token === "string") return token;
    const seconds = token.expiresInSeconds;
    const untilMs = seconds === null ? Infinity : clock.monotonic() + (seconds - EARLY_SECONDS) * 1000;
    tokens.set(credentials, { ...token, isTlsUnverified, untilMs });
    return token;
  }

  return async (trigger, asked) => {
    const { credentials, now, signal, namespace = "", isNodeAddress = () => false, service, work = UNCOUNTED } = asked;
    const resolved = resolveAuth(trigger.source, credentials);
    if (!resolved.ok) return failTrigger(trigger, resolved.cause);
    const { auth } = resolved;
    const { ca, isTlsUnverified, oauth } = auth;
    using timeout = clock.timeout(trigger.source.timeoutMs);
    const way = {
      send: options.send,
      limitBytes: maxAnswerBytes,
      onBytes: work.countBytes,
      signal: AbortSignal.any([signal, timeout.signal]),
      ca,
      isTlsUnverified,
      namespace,
      isNodeAddress,
      ...(service !== undefined && { service: new URL(service) }),
      run: work.run,
    };
    try {
      const token = oauth === null ? null : await getToken(auth, credentials, way);
      if (typeof token === "string") return failTrigger(trigger, `there is no token for it: ${token}`);
      const signed = token === null ? auth : withToken(auth, token);
      const built = toTriggerRequest(trigger.source, { auth: signed, now, userAgent });
      if (!built.ok) return failTrigger(trigger, built.cause);
      const accepts = (status: number) => isAnswer(trigger.source, status);
      const got = await fetchText(built.request, { ...way, accepts });
      if (!got.ok) return failTrigger(trigger, got.cause);
      if (isAnswer(trigger.source, got.status)) return await work.run(() => toTriggerAnswer(trigger, got.text));
      return failTrigger(trigger, `it answered ${got.status}${adviseOnStatus(got.status)}`);
    } catch (error) {
      if (signal.aborted) return failTrigger(trigger, "stopped before it answered");
      const seconds = trigger.source.timeoutMs / 1000;
      if (timeout.signal.aborted) {
        return failTrigger(trigger, `no answer within ${seconds} s; make it faster, or raise timeout`);
      }
      return failTrigger(trigger, describeFailure(error));
    }
  };
}

interface KeptToken extends Token {
  readonly isTlsUnverified: boolean;
  readonly untilMs: number;
}

/** A token is not used in its last seconds, as in Go. */
const EARLY_SECONDS = 10;

/** Returns the token of the first request that gets an answer, or why there is none. Rejects with the signal's reason. */
async function fetchToken(requests: readonly TriggerRequest[], way: TokenWay): Promise<Token | string> {
  let cause = "";
  for (const request of requests) {
    try {
      const got = await fetchText(request, { ...way, accepts: (status) => status >= 200 && status <= 299 });
      if (!got.ok) return `oauthTokenURI: ${got.cause}`;
      if (got.status >= 200 && got.status <= 299) {
        return await way.run(() => parseToken(got.text)) ?? "the answer of oauthTokenURI has no access_token";
      }
      cause = `oauthTokenURI answered ${got.status}; check clientID, clientSecret and scopes`;
    } catch (error) {
      way.signal.throwIfAborted();
      return `oauthTokenURI: ${describeFailure(error)}`;
    }
  }
  return cause;
}

type TokenWay = Omit<Parameters<typeof fetchText>[1], "accepts"> & Pick<AnswerWork, "run">;

type AskedTrigger = ExternalTrigger & { readonly source: HttpTriggerSource };

function isAnswer({ kind }: HttpTriggerSource, status: number): boolean {
  return kind === "metrics-api" ? status === 200 : status >= 200 && status <= 299;
}

function toTriggerAnswer(trigger: AskedTrigger, text: string): TriggerAnswer {
  const parsed: ValueResult & { readonly isEmpty?: boolean } = trigger.source.kind === "prometheus"
    ? parsePrometheusAnswer(text, trigger.source)
    : parseLocatedValue(text, trigger.source);
  const { isEmpty = false } = parsed;
  return parsed.ok
    ? { kind: "value", value: parsed.value, isEmpty }
    : { ...failTrigger(trigger, parsed.cause), isEmpty };
}

function failTrigger({ metricName, source }: AskedTrigger, cause: string): Extract<TriggerAnswer, { kind: "failed" }> {
  const address = source.kind === "prometheus" ? source.serverAddress : source.url;
  return {
    kind: "failed",
    message: `Cannot read trigger "${metricName}" from ${toSafeAddress(address)}: ${cause}`,
    isEmpty: false,
  };
}

/** Without user, password, query and fragment, which may contain secrets. */
function toSafeAddress(address: string): string {
  const url = URL.parse(address);
  return url === null || !/^https?:$/.test(url.protocol) ? "its address" : `"${url.origin}${url.pathname}"`;
}

/** `isEmpty`: no series, or none with a value. */
type PrometheusValue = ValueResult & { readonly isEmpty: boolean };

/**
 * Returns the value of an instant query. Quotes nothing of the text. Never throws.
 * https://prometheus.io/docs/prometheus/latest/querying/api/#instant-queries
 * Clauses: R14.
 */
export function parsePrometheusAnswer(text: string, { ignoresNullValues }: PrometheusOptions): PrometheusValue {
  const series = parseSeries(text);
  if (series === null) {
    return failPrometheus("the answer is not a list of series; the query must give an instant vector, not a scalar");
  }
  const [first, second] = series;
  if (second !== undefined) return failPrometheus("the query gave several series; aggregate them to one");
  if (first === undefined || first.length === 0) {
    if (ignoresNullValues) return { ok: true, value: 0, isEmpty: true };
    return { ok: false, cause: "the query gave no value, and ignoreNullValues is false", isEmpty: true };
  }
  if (first.length === 1) return failPrometheus("the query gave a time without a value");
  const value = toSampleValue(first[1]);
  if (value === null) return failPrometheus("the value of the series is not a number");
  if (Number.isFinite(value)) return { ok: true, value, isEmpty: false };
  if (ignoresNullValues) return { ok: true, value: 0, isEmpty: false };
  return failPrometheus("the query gave NaN or an infinite value, and ignoreNullValues is false");
}

interface PrometheusOptions {
  readonly ignoresNullValues: boolean;
}

function failPrometheus(cause: string): PrometheusValue {
  return { ok: false, cause, isEmpty: false };
}

/** Returns the value of each series, which is [time, value]; `null` if Go's decoder would fail. */
function parseSeries(text: string): readonly (readonly unknown[])[] | null {
  const answer = parseJson(text);
  const body = answer === null ? {} : answer;
  if (!isRecord(body) || !isStringOrAbsent(body["status"])) return null;
  const answered = body["data"] ?? {};
  if (!isRecord(answered) || !isStringOrAbsent(answered["resultType"])) return null;
  const result = answered["result"] ?? [];
  if (!Array.isArray(result)) return null;
  const series = result.map(parseOneSeries);
  return series.includes(null) ? null : series.filter((one) => one !== null);
}

function parseOneSeries(element: unknown): readonly unknown[] | null {
  const one = element ?? {};
  if (!isRecord(one) || !isRecord(one["metric"] ?? {})) return null;
  const value = one["value"] ?? [];
  return Array.isArray(value) ? value : null;
}

/** Returns `undefined` for a text that is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isStringOrAbsent(value: unknown): boolean {
  return value === undefined || value === null || typeof value === "string";
}

/** A null value is -1, as in KEDA. */
function toSampleValue(value: unknown): number | null {
  if (value === null) return -1;
  return typeof value === "string" ? parseGoFloat(value) : null;
}
