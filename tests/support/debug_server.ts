/** A debug listener as podfit's: `/debug/records` over lines that a test has. */
import type { RecordLine } from "../../lib/record/record.ts";

/** As podfit writes lines: JSON has no bigint and no Map. */
export function formatTestLine(line: RecordLine): string {
  return JSON.stringify(line, (_, value: unknown) => {
    if (typeof value === "bigint") return String(value);
    return value instanceof Map ? [...value] : value;
  });
}

/** Answers its one route, and 404 as podfit does. */
export function answerDebug(lines: readonly RecordLine[]): (request: Request) => Response {
  return (request) => {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname !== "/debug/records") return new Response("404 Not Found", { status: 404 });
    const [namespace, pod, scaledObject] = ["namespace", "pod", "scaledObject"].map((name) => searchParams.get(name));
    const name = pod ?? scaledObject;
    const own = lines.filter((line) =>
      (namespace === null || line.namespace === namespace) &&
      (name === null || (line.name === name && line.kind === (pod === null ? "scaledObject" : "pod")))
    );
    if (name !== null && own.length === 0) {
      const kind = pod === null ? "scaledObject" : "pod";
      return new Response(`Nothing is known of ${kind} "${namespace}/${name}": it has evaluated none\n`, {
        status: 404,
      });
    }
    const given = name === null ? [...new Map(own.map((line) => [`${line.kind} ${line.uid}`, line])).values()] : own;
    return new Response(given.map((line) => `${formatTestLine(line)}\n`).join(""), {
      headers: { "content-type": "application/x-ndjson" },
    });
  };
}
