/**
 * Nothing is written by who leads no more. A process may be paused anywhere, for any time, and timers tell it late: so
 * each request asks right before it goes out.
 */
import type { Term } from "../../kube/lease.ts";
import type { Transport } from "../../kube/transport.ts";

/** It was certainly not sent. */
export class NotSent extends Error {
  override readonly name = "NotSent";
}

/** The same transport for the time of one leadership; afterwards it rejects with NotSent, and sends nothing. */
export function fence(transport: Transport, { isLeading, lost }: Pick<Term, "isLeading" | "lost">): Transport {
  const beforeSend = () => {
    if (!isLeading()) throw new NotSent("Not sent: this podfit no longer leads");
  };
  return async (request, options) => {
    beforeSend();
    const bound = new Request(request, { signal: AbortSignal.any([request.signal, lost]) });
    return await transport(bound, { ...options, beforeSend });
  };
}
