/**
 * What a page of 1,000 autoscalers costs on which every label set has been used: its making beside one plain join of the
 * same lines, both up to the bytes; and over HTTP how long the event loop stands still and what memory grows to.
 */
import { createMetrics, type Metrics } from "../../../lib/daemon/metrics/metrics.ts";
import { createHandler, metricsRoutes } from "../../../lib/daemon/server/routes.ts";
import { serve } from "../../../lib/daemon/server/serve.ts";
import { recordAutoscaler, recordNamespaces, recordProcess } from "../../support/every_series.ts";

export interface PageCost {
  readonly lines: number;
  readonly bytes: number;
  readonly renderMs: number;
  readonly joinMs: number;
  readonly ratio: number;
  /** Of a page read over HTTP by another process. */
  readonly scrapeMs: number;
  readonly gzipBytes: number;
  /** The longest time that the event loop did not turn during a scrape; the least of three. */
  readonly blockMs: number;
  /** Growth of resident memory: by telling all series, and by two scrapes at once on top of that. */
  readonly seriesMiB: number;
  readonly scrapeMiB: number;
}

export async function measurePage(autoscalers: number): Promise<PageCost> {
  const metrics = createMetrics({ version: "bench" });
  const before = readRssMiB();
  tellAll(metrics, autoscalers);
  const seriesMiB = readRssMiB() - before;
  // What podfit itself blocks is in each; what a busy machine adds is not.
  const scrapes = [await measureScrape(metrics), await measureScrape(metrics), await measureScrape(metrics)];
  const scrapeMiB = Math.max(...scrapes.map((scrape) => scrape.scrapeMiB));
  const [scrape] = scrapes.sort((a, b) => a.blockMs - b.blockMs);
  const rounds = Array.from({ length: 7 }, () => measureRender(metrics)).sort((a, b) => a.ratio - b.ratio);
  const middle = rounds[3];
  if (middle === undefined || scrape === undefined) throw new Error("Cannot measure a page: no round");
  return { ...middle, ...scrape, seriesMiB, scrapeMiB };
}

const NAMESPACES = Array.from({ length: 50 }, (_, index) => `team-${index}`);

function tellAll(metrics: Metrics, autoscalers: number): void {
  recordNamespaces(metrics, NAMESPACES);
  recordProcess(metrics);
  for (let index = 0; index < autoscalers; index++) {
    const namespace = NAMESPACES[index % NAMESPACES.length] ?? "";
    recordAutoscaler(metrics, { namespace, name: `autoscaler-${index}` }, index);
  }
}

function measureRender(metrics: Metrics): Pick<PageCost, "lines" | "bytes" | "renderMs" | "joinMs" | "ratio"> {
  const encoder = new TextEncoder();
  const pieces: string[] = [];
  const started = performance.now();
  let bytes = 0;
  for (const piece of metrics.render()) {
    bytes += encoder.encode(piece).length;
    pieces.push(piece);
  }
  const renderMs = performance.now() - started;
  const lines = pieces.join("").split("\n");
  const joinStarted = performance.now();
  encoder.encode(lines.join("\n"));
  const joinMs = performance.now() - joinStarted;
  return { lines: lines.length - 1, bytes, renderMs, joinMs, ratio: renderMs / joinMs };
}

async function measureScrape(
  metrics: Metrics,
): Promise<Pick<PageCost, "scrapeMs" | "gzipBytes" | "blockMs" | "scrapeMiB">> {
  await using server = serve(createHandler([metricsRoutes(metrics)]), { hostname: "127.0.0.1", port: 0 });
  const url = `http://127.0.0.1:${server.port}/metrics`;
  const before = readRssMiB();
  let [blockMs, peakMiB, turnedAt] = [0, before, performance.now()];
  const timer = setInterval(() => {
    const now = performance.now();
    // A timer of 1 ms that is on time blocks nobody.
    blockMs = Math.max(blockMs, now - turnedAt - 1);
    turnedAt = now;
    peakMiB = Math.max(peakMiB, readRssMiB());
  }, 1);
  const started = performance.now();
  const downloads = await Promise.all(["identity", "gzip"].map((encoding) => download(url, encoding)));
  const scrapeMs = performance.now() - started;
  clearInterval(timer);
  return { scrapeMs, gzipBytes: downloads[1] ?? 0, blockMs, scrapeMiB: peakMiB - before };
}

/** By another process, as it is in life; gives the bytes on the wire. */
async function download(url: string, encoding: string): Promise<number> {
  const args = ["--silent", "--fail", "--output", "/dev/null", "--write-out", "%{size_download}"];
  const { code, stdout } = await new Deno.Command("curl", {
    args: [...args, "--header", `Accept-Encoding: ${encoding}`, url],
  }).output();
  if (code !== 0) throw new Error(`Cannot read "${url}": curl ended with ${code}`);
  return Number(new TextDecoder().decode(stdout));
}

function readRssMiB(): number {
  return Deno.memoryUsage().rss / 2 ** 20;
}
