/**
 * The head of an HTTP/1 request: its first line and its headers, as somebody on the network wrote them (RFC 9112). A
 * body is never read: nothing that podfit answers takes one.
 */

/** A request, or the status of the answer to a head that is none. */
export type RequestHead =
  | { readonly kind: "request"; readonly request: Request; readonly isHttp10: boolean }
  | { readonly kind: "refused"; readonly status: number };

/** Parses a head without the empty line at its end. Never throws. */
export function parseRequestHead(text: string): RequestHead {
  const [first = "", ...lines] = text.split("\r\n");
  const [, method = "", target = "", minor = ""] = FIRST_LINE.exec(first) ?? [];
  if (method === "") return { kind: "refused", status: /HTTP\/[02-9]/.test(first) ? 505 : 400 };
  try {
    // The path alone says what is asked for, whatever name the server was reached by.
    const url = new URL(target.startsWith("/") ? `http://podfit${target}` : target, "http://podfit");
    return {
      kind: "request",
      request: new Request(url, { method, headers: parseHeaders(lines) }),
      isHttp10: minor === "0",
    };
  } catch {
    return { kind: "refused", status: 400 };
  }
}

const FIRST_LINE = /^([A-Z]+) (\S+) HTTP\/1\.([01])$/;

/** Throws a TypeError for a line that is no header. */
function parseHeaders(lines: readonly string[]): Headers {
  const headers = new Headers();
  for (const line of lines) {
    const colon = line.indexOf(":");
    headers.append(line.slice(0, Math.max(0, colon)), line.slice(colon + 1));
  }
  return headers;
}
