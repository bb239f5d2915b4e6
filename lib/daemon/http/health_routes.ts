/** `/healthz` and `/readyz`, as a kubelet probes them: 200 or 503, with the reasons one per line. */
import type { Context } from "hono";
import type { Verdict } from "../verdict.ts";
import type { Route } from "./handler.ts";

/** Whose verdicts the probes get. */
export interface HealthRoutesOptions {
  readonly isAlive: () => Verdict;
  readonly isReady: () => Verdict;
}

/** The two routes, each with its own verdict, asked anew for every answer. */
export function healthRoutes({ isAlive, isReady }: HealthRoutesOptions): readonly Route[] {
  return [
    { path: "/healthz", about: "is the process alive", answer: (context) => answer(context, isAlive()) },
    { path: "/readyz", about: "is it ready to work", answer: (context) => answer(context, isReady()) },
  ];
}

function answer(context: Context, { ok, message }: Verdict): Response {
  return context.text(`${message}\n`, ok ? 200 : 503);
}
