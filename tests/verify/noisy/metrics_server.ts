/** The server that triggers read: honest values, and what hostile ScaledObjects point to. */

/** A server on 127.0.0.1. */
export interface MetricsServer extends AsyncDisposable {
  readonly origin: string;
  /** How often a request to /secret had a credential. */
  readonly countLeaks: () => number;
}

const MIB = 2 ** 20;

/** Exposition text of just 1 MiB. */
const LARGE = Array.from({ length: 100_000 }, (_, index) => `a${index} 1`).join("\n").slice(0, MIB - 10)
  .replace(/\n[^\n]*$/, "\n");

/** Answers /value/NAME as JSON, /large with 1 MiB, /tarpit never, and counts credentials at /secret. */
export function serveMetrics(valueOf: (name: string) => number): MetricsServer {
  const large = new TextEncoder().encode(LARGE);
  let leaks = 0;
  const ending = Promise.withResolvers<Response>();
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, ({ url, headers }) => {
    const [, kind = "", name = ""] = new URL(url).pathname.split("/");
    if (kind === "tarpit") return ending.promise.then((response) => response.clone());
    if (kind === "large") return new Response(large);
    if (kind === "secret" && (headers.has("authorization") || headers.has("x-api-key"))) leaks++;
    return Response.json({ value: valueOf(name) });
  });
  return {
    origin: `http://127.0.0.1:${server.addr.port}`,
    countLeaks: () => leaks,
    async [Symbol.asyncDispose]() {
      ending.resolve(new Response());
      await server.shutdown();
    },
  };
}
