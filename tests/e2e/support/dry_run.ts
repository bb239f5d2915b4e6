/**
 * What does the API server say of a manifest? Thousands are asked over one connection, with nothing stored: a dry run
 * under strict field validation, or one that drops what it does not know.
 */
import { systemClock } from "../../../lib/runtime/clock.ts";
import { backend } from "./backend.ts";

export interface Verdict {
  readonly isAccepted: boolean;
  /** Names the fields; empty when it is accepted. */
  readonly message: string;
  /** It was no JSON that the server can hold, so that it looked at no field. */
  readonly isUnreadable: boolean;
  /** As it would be stored, or the refusal. */
  readonly object: unknown;
}

export interface DryRun extends AsyncDisposable {
  readonly ask: (text: string) => Promise<Verdict>;
}

export async function openDryRun(
  namespace: string,
  { fieldValidation = "Strict" }: { readonly fieldValidation?: "Strict" | "Warn" | "Ignore" } = {},
): Promise<DryRun> {
  const server = await backend().connect();
  const path = `/apis/keda.kedify.io/v1alpha1/namespaces/${namespace}/podresourceautoscalers`;
  const url = `${server.origin}${path}?dryRun=All&fieldValidation=${fieldValidation}`;
  return {
    async ask(text) {
      using timeout = systemClock.timeout(TIMEOUT_MS);
      const headers = { "content-type": "application/json" };
      const request = new Request(url, { method: "POST", headers, body: text, signal: timeout.signal });
      const response = await server.transport(request);
      const object = await response.json();
      if (response.ok) return { isAccepted: true, message: "", isUnreadable: false, object };
      const message = String(object.message);
      if (response.status !== 400 && response.status !== 422) throw new Error(`Cannot ask the API server: ${message}`);
      const isUnreadable = response.status === 400 && !message.includes("strict decoding error");
      return { isAccepted: false, message, isUnreadable, object };
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** A few at a time; gives what went wrong. */
export async function eachRow<Row>(
  rows: Iterable<Row>,
  check: (row: Row) => Promise<string | null>,
): Promise<readonly string[]> {
  const failures: string[] = [];
  const queue = Iterator.from(rows);
  const work = async () => {
    for (const row of queue) {
      const failure = await check(row);
      if (failure !== null) failures.push(failure);
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
  return failures;
}

/** A megabyte on a busy machine. */
const TIMEOUT_MS = 20_000;
const PARALLEL = 4;
