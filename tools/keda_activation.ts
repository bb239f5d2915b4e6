/**
 * Writes lib/api/keda_activation.ts from the schema of KEDA's scalers.
 *
 *     deno run -P=dev tools/keda_activation.ts "$(go mod download -json github.com/kedacore/keda/v2@v2.21.0 | jq -r .Dir)"
 */
import { isRecord } from "../lib/units/untrusted.ts";

const TARGET = new URL("../lib/api/keda_activation.ts", import.meta.url);

interface Parameter {
  readonly name: string;
  readonly default?: string;
}

interface Scaler {
  readonly type: string;
  readonly parameters: readonly Parameter[];
}

/** Returns the text of the file. The schema is trusted: it is that of a checked module. */
export function formatActivationTable(schema: unknown, version: string): string {
  if (!isRecord(schema) || !Array.isArray(schema["scalers"])) {
    throw new Error("Cannot read the schema: no scalers in it");
  }
  const scalers = (schema["scalers"] as readonly Scaler[]).toSorted((a, b) => a.type < b.type ? -1 : 1);
  const lines = scalers.flatMap(({ type, parameters }) => {
    const found = parameters.filter(({ name }) => name.startsWith("activation"));
    if (found.length === 0) return [];
    const entries = found.map((one) => `[${JSON.stringify(one.name)}, ${Number(one.default ?? 0)}]`);
    return `  [${JSON.stringify(type)}, [${entries.join(", ")}]],`;
  });
  return `/**
 * The parameters of KEDA ${version} that say above which value a trigger is active, with their defaults.
 *
 * Made by tools/keda_activation.ts from schema/generated/scalers-schema.json of the module github.com/kedacore/keda/v2.
 * Types that are not here have no such parameter: they are active above 0.
 */
export const ACTIVATION_PARAMETERS: ReadonlyMap<string, readonly (readonly [name: string, fallback: number])[]> = new Map([
${lines.join("\n")}
]);
`;
}

if (import.meta.main) {
  const [directory = ""] = Deno.args;
  const text = await Deno.readTextFile(`${directory}/schema/generated/scalers-schema.json`);
  const version = /@v([0-9.]+)\/?$/.exec(directory)?.[1] ?? "of an unknown version";
  await Deno.writeTextFile(TARGET, formatActivationTable(JSON.parse(text), version));
}
