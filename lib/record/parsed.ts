/** What was read of JSON that anybody may have written or cut off. */
import * as v from "valibot";
import type { Problem } from "../units/problem.ts";

/** The value, or every problem that was found. */
export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** What is read, and of which version. */
export interface Kind<T> {
  readonly what: string;
  readonly version: number;
  readonly schema: v.GenericSchema<unknown, T>;
}

/** Another version is refused by name. Never throws. */
export function parseVersioned<T>(value: unknown, { what, version, schema }: Kind<T>): Parsed<T> {
  const versioned = v.safeParse(v.looseObject({ version: v.number() }), value);
  if (versioned.success && versioned.output.version !== version) {
    const message =
      `Cannot read a ${what} of version ${versioned.output.version}: this podfit reads version ${version}`;
    return { ok: false, problems: [{ path: "version", message }] };
  }
  return parseAs(value, { what, schema });
}

/** Never throws. */
export function parseAs<T>(value: unknown, { what, schema }: Pick<Kind<T>, "what" | "schema">): Parsed<T> {
  const parsed = v.safeParse(schema, value);
  if (parsed.success) return { ok: true, value: parsed.output };
  const problems = parsed.issues.map((issue) => ({
    path: v.getDotPath(issue) ?? "",
    message: `Cannot read the ${what}: ${issue.message}`,
  }));
  return { ok: false, problems };
}
