/**
 * `/metrics`. However long the page is, everything else goes on while it is sent; and however many want it, no more than
 * a few are made at a time, as one that is under way holds 1 MB or more until its reader has taken it.
 */
import { compress } from "hono/compress";
import { type Clock, systemClock } from "../../runtime/clock.ts";
import { Limit } from "../../runtime/limit.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { Route } from "./handler.ts";
import type { CheckReader } from "./reader_access.ts";
import { guardReaders } from "./reader_guard.ts";
import { toTextStream } from "./text_stream.ts";

/** For whom the page is, and for how many of them. */
export interface MetricsRoutesOptions {
  /** Without it everybody may read. */
  readonly checkReader?: CheckReader | null;
  readonly clock?: Pick<Clock, "timeout">;
  /** How many pages may be under way; 4 by default. */
  readonly mostPages?: number;
}

/** The page for Prometheus, compressed where the reader takes it. */
export function metricsRoutes(
  metrics: Pick<Metrics, "contentType" | "render">,
  { checkReader = null, clock = systemClock, mostPages = 4 }: MetricsRoutesOptions = {},
): readonly Route[] {
  const pages = new Limit(mostPages);
  const headers = { "content-type": metrics.contentType };
  return [{
    path: PATH,
    about: "its metrics, for Prometheus",
    middleware: [
      ...(checkReader === null ? [] : [guardReaders(checkReader, PATH)]),
      // Measured: 29 MB become 1 MB at a cost of 0.15 s, in steps of a millisecond.
      compress({ encoding: "gzip" }),
    ],
    async answer(context) {
      if (context.req.method === "HEAD") return context.body("", 200, headers);
      const page = metrics.render();
      const slot = await takeSlot(pages, clock);
      if (slot === null) return context.text("Too many readers at once\n", 503, { "retry-after": "5" });
      return context.body(toTextStream(page, slot), 200, headers);
    },
  }];
}

const PATH = "/metrics";
/** As long as Prometheus waits by default. Those who do not read are gone by then. */
const PATIENCE_MS = 10_000;

async function takeSlot(pages: Limit, clock: Pick<Clock, "timeout">): Promise<Disposable | null> {
  using timeout = clock.timeout(PATIENCE_MS);
  return await pages.acquire(timeout.signal).catch(() => null);
}
