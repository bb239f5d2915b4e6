/** Long work lets others go first. */
import { assertEquals } from "@std/assert";
import { startStretch } from "../../lib/runtime/breath.ts";

function work() {
  let [now, slept] = [0, 0];
  const clock = {
    monotonic: () => now,
    sleep: (ms: number) => {
      slept++;
      now += 3;
      return ms === 0 ? Promise.resolve() : Promise.reject(new Error("a breath is no wait"));
    },
  };
  const breathe = startStretch({ clock, signal: new AbortController().signal });
  return { breathe, take: (ms: number) => void (now += ms), readSlept: () => slept };
}

Deno.test("a breath is taken after each 5 ms of work, which begin anew with it", async () => {
  const { breathe, take, readSlept } = work();
  const slept: number[] = [];
  for (let piece = 0; piece < 6; piece++) {
    take(2);
    await breathe();
    slept.push(readSlept());
  }
  assertEquals(slept, [0, 0, 1, 1, 1, 2]);
});

Deno.test("a breath that is cut short by the end is no error", async () => {
  let now = 0;
  const sleep = () => Promise.reject(new DOMException("ended", "AbortError"));
  const breathe = startStretch({ clock: { monotonic: () => now, sleep }, signal: AbortSignal.abort() });
  now = 10;
  assertEquals(await breathe(), undefined);
});
