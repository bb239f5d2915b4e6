/** Sends a trigger's request and reads the answer: within bounds, and with its credentials for nobody but the trigger's own host. */
import { BodyTooLarge, discard, readText } from "../kube/body.ts";
import type { StatusAnswer } from "../kube/unverified_https.ts";
import { findForbiddenPurpose } from "../units/address_purpose.ts";
import type { TriggerRequest } from "./request.ts";
import type { SendOptions, SendToTrigger } from "./trigger_client.ts";

/** `cause` ends a sentence and quotes nothing that was sent or answered. */
export type Got =
  | { readonly ok: true; readonly status: number; readonly text: string }
  | { readonly ok: false; readonly cause: string };

export interface GetOptions extends Pick<SendOptions, "ca" | "isTlsUnverified" | "signal"> {
  readonly send: SendToTrigger;
  /** Which statuses are answers; of any other only the number is read. */
  readonly accepts: (status: number) => boolean;
}

/** Rejects with what the sending rejects with, and with the signal's reason. */
export async function get(request: TriggerRequest, options: GetOptions): Promise<Got> {
  let next: Hop = { url: request.url, headers: request.headers };
  for (let redirects = 0;; redirects++) {
    const { ca, isTlsUnverified, signal } = options;
    const answer = await options.send(next.url, { headers: next.headers, signal, ca, isTlsUnverified });
    if (!REDIRECTS.has(answer.status)) return await read(answer, options);
    await discard(answer);
    if (redirects === MOST_REDIRECTS) return { ok: false, cause: `it redirects more than ${MOST_REDIRECTS} times` };
    const hop = followRedirect(answer, { request, from: next });
    if ("cause" in hop) return { ok: false, cause: hop.cause };
    next = hop;
  }
}

interface Hop {
  readonly url: URL;
  readonly headers: Headers;
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const MOST_REDIRECTS = 5;
const LIMIT_BYTES = 2 ** 20;

async function read(answer: StatusAnswer, { accepts, signal }: GetOptions): Promise<Got> {
  const { status } = answer;
  if (!accepts(status)) {
    await discard(answer);
    return { ok: true, status, text: "" };
  }
  try {
    return { ok: true, status, text: await readText(answer, { limitBytes: LIMIT_BYTES, signal }) };
  } catch (error) {
    if (!(error instanceof BodyTooLarge)) throw error;
    return { ok: false, cause: "the answer has more than 1 MiB; ask for less" };
  }
}

/** Once left behind, headers stay behind. */
function followRedirect(
  answer: StatusAnswer,
  { request, from }: { request: TriggerRequest; from: Hop },
): Hop | { cause: string } {
  const location = answer.headers.get("location");
  const url = location === null ? null : URL.parse(location, from.url);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    return { cause: `it redirects (${answer.status}) to no http or https URL` };
  }
  const purpose = findForbiddenPurpose(url);
  if (purpose !== null) return { cause: `it redirects (${answer.status}) to ${purpose}, which is not asked` };
  url.username = url.password = "";
  if (isSameHost(from.url, url)) return { url, headers: from.headers };
  if (isLeak(url, request.secrets)) {
    return {
      cause:
        "it redirects to another host with the credentials in the URL, which is not followed; give that host's own address",
    };
  }
  const headers = new Headers(from.headers);
  for (const name of request.ownHeaders) headers.delete(name);
  return { url, headers };
}

/** The same port too, for another one may be another's; but from http's own to https's own is the same host, better kept. */
function isSameHost(from: URL, to: URL): boolean {
  if (from.origin === to.origin) return true;
  const isUpgrade = from.protocol === "http:" && to.protocol === "https:" && from.port === "" && to.port === "";
  return isUpgrade && from.hostname === to.hostname;
}

/** Short secrets are looked for as whole values only, as any URL has them somewhere. */
function isLeak(url: URL, secrets: readonly string[]): boolean {
  const texts = [url.href, decode(url.href)];
  const values = [...url.searchParams.values()];
  return secrets.some((secret) =>
    values.includes(secret) || (secret.length >= 8 && texts.some((text) => text.includes(secret)))
  );
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
}
