/**
 * What podfit answers over HTTP: a plain (Request) -> Response out of groups of routes, with an index of all of them at
 * `/`. Every route answers GET and HEAD and nothing else.
 */
import { type Context, Hono, type MiddlewareHandler } from "hono";

/** Answers one request. */
export type Handler = (request: Request) => Response | Promise<Response>;

/** One path and its answer. */
export interface Route {
  /** `/metrics` */
  readonly path: string;
  /** What the index says of it. */
  readonly about: string;
  /** What every answer passes through, such as compression. */
  readonly middleware?: readonly MiddlewareHandler[];
  readonly answer: (context: Context) => Response | Promise<Response>;
}

/** Never rejects: an answer that throws is a 500 with its message. Of two routes with one path the first answers. */
export function createHandler(groups: readonly (readonly Route[])[]): Handler {
  const routes = groups.flat();
  const app = new Hono();
  const index: Route = { path: "/", about: "", answer: (context) => context.text(formatIndex(routes)) };
  for (const { path, middleware = [], answer } of [index, ...routes]) {
    for (const one of middleware) app.get(path, one);
    app.get(path, (context) => answer(context));
    app.all(path, (context) => context.text("Method not allowed\n", 405, { allow: "GET, HEAD" }));
  }
  app.notFound((context) => context.text("Not found\n", 404));
  app.onError((error, context) => context.text(`Cannot answer: ${error.message}\n`, 500));
  return (request) => app.fetch(request);
}

function formatIndex(routes: readonly Route[]): string {
  const width = Math.max(...routes.map(({ path }) => path.length));
  return ["podfit", "", ...routes.map(({ path, about }) => `${path.padEnd(width)}  ${about}`), ""].join("\n");
}
