/** Lets only those readers through to a route who may. What others get says what they lack. */
import type { Context, MiddlewareHandler } from "hono";
import type { Access, CheckReader } from "./reader_access.ts";

/** What goes before a route's own answer. */
export function guardReaders(checkReader: CheckReader, path: string): MiddlewareHandler {
  return async (context, next) => {
    const access = await checkReader(context.req.header("authorization") ?? null, path);
    return access.kind === "allowed" ? await next() : refuse(context, access, path);
  };
}

function refuse(context: Context, access: Exclude<Access, { readonly kind: "allowed" }>, path: string): Response {
  switch (access.kind) {
    case "unknownReader":
      return context.text("Unauthorized: send a bearer token of this cluster\n", 401, {
        "www-authenticate": 'Bearer realm="podfit"',
      });
    case "denied":
      return context.text(
        `Forbidden: user "${access.user}" may not read this; grant the verb "get" on the nonResourceURL "${path}"\n`,
        403,
      );
    case "unanswered":
      return context.text(`Cannot tell who may read this: ${access.why}\n`, 503, { "retry-after": "5" });
    case "rightMissing":
      return context.text(`Cannot tell who may read this: ${access.why}\n`, 500);
  }
}
