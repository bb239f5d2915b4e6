/** Refusals of PATCH pods/resize as a Kubernetes 1.36 API server gave them, by file name without extension. */

export interface RecordedRefusal {
  readonly code: number;
  readonly body: Record<string, unknown>;
}

export function readRefusal(name: string): RecordedRefusal {
  const body = JSON.parse(Deno.readTextFileSync(new URL(`../testdata/refusals/${name}.json`, import.meta.url)));
  return { code: body.code, body };
}
