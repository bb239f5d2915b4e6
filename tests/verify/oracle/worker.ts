/** Runs chunks that it is told of, one after the other, and tells what came of each. */
/// <reference lib="deno.worker" />
import { type Chunk, runChunk } from "./run.ts";

self.onmessage = async ({ data }: MessageEvent<Chunk>) => self.postMessage(await runChunk(data));
