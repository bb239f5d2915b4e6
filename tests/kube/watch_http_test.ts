import { assertEquals, assertStringIncludes } from "#assert";
import { watchList } from "../../lib/kube/watch.ts";
import { systemClock } from "../../lib/runtime/clock.ts";

Deno.test("watchList() streams over real HTTP, drops a silent connection there, and closes it on abort", async () => {
  const closed: string[] = [];
  const firstVersion: string[] = [];
  await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => {
    const params = new URL(request.url).searchParams;
    const version = params.get("resourceVersion");
    if (version === null) return Response.json({ metadata: { resourceVersion: "1" }, items: [] });
    firstVersion.push(version);
    const object = { metadata: { name: `after-${version}`, uid: version, resourceVersion: `${version}0` } };
    return new Response(
      new ReadableStream({
        start: (controller) =>
          controller.enqueue(new TextEncoder().encode(JSON.stringify({ type: "ADDED", object }) + "\n")),
        cancel: () => void closed.push(version),
      }),
    );
  });
  const controller = new AbortController();
  const errors: string[] = [];
  const events: string[] = [];
  const watching = watchList((request) => fetch(request), {
    origin: `http://127.0.0.1:${server.addr.port}`,
    path: "/api/v1/pods",
    // Waits of back-off are skipped, silence is real.
    clock: { ...systemClock, sleep: (_, signal) => systemClock.sleep(0, signal) },
    random: () => 0,
    signal: controller.signal,
    silentMs: 300,
    project: ({ metadata }) => metadata.name,
    onError: (error) => void errors.push(error.message),
  });
  for await (const event of watching) {
    events.push(event.kind === "listed" ? "listed" : event.object);
    if (event.kind !== "listed" && event.object === "after-10") controller.abort();
  }
  assertEquals(events, ["listed", "after-1", "after-10"]);
  assertEquals(firstVersion, ["1", "10"]);
  assertEquals(errors.length, 1);
  assertStringIncludes(errors[0] ?? "", "went silent");
  await server.shutdown();
  assertEquals(closed, ["1", "10"]);
});
