/** Runs batches that it is told of, one after the other, and tells what came of each. */
/// <reference lib="deno.worker" />
import { type Batch, runBatch } from "./run.ts";

self.onmessage = async ({ data }: MessageEvent<Batch>) => self.postMessage(await runBatch(data));
