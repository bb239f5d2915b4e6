/** Asks prometheus and metrics-api triggers for their values over HTTP (R13 to R15). */
import type { Clock } from "../runtime/clock.ts";
import type { ExternalTrigger } from "../scaled_object/trigger.ts";
import { adviseOnStatus, describeFailure } from "./describe_failure.ts";
import { get } from "./get.ts";
import { readPrometheusAnswer } from "./prometheus_answer.ts";
import { readAuth } from "./read_auth.ts";
import { readLocated } from "./read_located.ts";
import { toTriggerRequest } from "./request.ts";
import type { AskedSource, AskTrigger, TriggerAnswer } from "./trigger_source.ts";
import type { SendToTrigger } from "./trigger_client.ts";
import type { ValueRead } from "./value_read.ts";

export interface AskTriggerOptions {
  readonly clock: Pick<Clock, "timeout">;
  readonly send: SendToTrigger;
  /** podfit's, for the User-Agent. */
  readonly version: string;
}

/** What it gives resolves always: a trigger that cannot be asked is a failed answer, which says why and names no secret. */
export function createAskTrigger(options: AskTriggerOptions): AskTrigger {
  return async (trigger, { credentials, now, signal }) => {
    const read = readAuth(trigger.source, credentials);
    if (!read.ok) return fail(trigger, read.cause);
    const { auth } = read;
    const built = toTriggerRequest(trigger.source, { auth, now, userAgent: `podfit/${options.version}` });
    if (!built.ok) return fail(trigger, built.cause);
    const { ca, isTlsUnverified } = auth;
    using timeout = options.clock.timeout(trigger.source.timeoutMs);
    try {
      const got = await get(built.request, {
        send: options.send,
        accepts: (status) => isAnswer(trigger.source, status),
        signal: AbortSignal.any([signal, timeout.signal]),
        ca,
        isTlsUnverified,
      });
      if (!got.ok) return fail(trigger, got.cause);
      if (isAnswer(trigger.source, got.status)) return toTriggerAnswer(trigger, got.text);
      return fail(trigger, `it answered ${got.status}${adviseOnStatus(got.status)}`);
    } catch (error) {
      if (signal.aborted) return fail(trigger, "stopped before it answered");
      const seconds = trigger.source.timeoutMs / 1000;
      if (timeout.signal.aborted) {
        return fail(trigger, `no answer within ${seconds} s; make it faster, or raise timeout`);
      }
      return fail(trigger, describeFailure(error));
    }
  };
}

type AskedTrigger = ExternalTrigger & { readonly source: AskedSource };

function isAnswer({ kind }: AskedSource, status: number): boolean {
  return kind === "metrics-api" ? status === 200 : status >= 200 && status <= 299;
}

function toTriggerAnswer(trigger: AskedTrigger, text: string): TriggerAnswer {
  const read: ValueRead & { readonly isEmpty?: boolean } = trigger.source.kind === "prometheus"
    ? readPrometheusAnswer(text, trigger.source)
    : readLocated(text, trigger.source);
  const { isEmpty = false } = read;
  return read.ok ? { kind: "value", value: read.value, isEmpty } : { ...fail(trigger, read.cause), isEmpty };
}

function fail({ metricName, source }: AskedTrigger, cause: string): Extract<TriggerAnswer, { kind: "failed" }> {
  const address = source.kind === "prometheus" ? source.serverAddress : source.url;
  return {
    kind: "failed",
    message: `Cannot read trigger "${metricName}" from ${toShown(address)}: ${cause}`,
    isEmpty: false,
  };
}

/** Without user, password, query and fragment, which may be secrets. */
function toShown(address: string): string {
  const url = URL.parse(address);
  return url === null || !/^https?:$/.test(url.protocol) ? "its address" : `"${url.origin}${url.pathname}"`;
}
