/**
 * Writes lib/api/keda_activation.ts from the schema of KEDA's scalers and from their code.
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

/** Returns the text of the file. Schema and code are trusted: they are those of a checked module. */
export function formatActivationTable(
  schema: unknown,
  names: readonly (readonly [type: string, name: string])[],
  version: string,
): string {
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

/** By the type of a trigger: KEDA's label \`scaler\` for a trigger without a name. It is the Go type of its scaler. */
export const SCALER_NAMES: ReadonlyMap<string, string> = new Map([
${names.map(([type, name]) => `  ["${type}", "${name}"],`).join("\n")}
]);
`;
}

/**
 * Returns the Go type of each trigger's scaler, sorted. `builder` is pkg/scaling/scalers_builder.go, `code` is all of
 * pkg/scalers.
 */
export function findScalerNames(builder: string, code: string): readonly (readonly [type: string, name: string])[] {
  const bodies = new Map(
    [...code.matchAll(/^func (\w+)\((.*?)\n}\n/gms)].map(([, name = "", body = ""]) => [name, body]),
  );
  const findName = (constructor: string, callers: readonly string[] = []): string | undefined => {
    const body = bodies.get(constructor) ?? "";
    const own = /(?:&|:= )(\w*[sS]caler)\{/.exec(body)?.[1];
    if (own !== undefined) return own;
    const called = [...body.matchAll(/\b((?:create|new|New)\w+)\(/g)].map(([, name = ""]) => name);
    const names = called.filter((one) => bodies.has(one) && !callers.includes(one));
    return names.map((one) => findName(one, [...callers, constructor])).find((one) => one !== undefined);
  };
  const [, cases = ""] = /TRIGGERS-START(.*)TRIGGERS-END/s.exec(builder) ?? [];
  return cases.split("\tcase ").slice(1).flatMap((one) => {
    const [line = "", body = ""] = [one.slice(0, one.indexOf("\n")), one.slice(one.indexOf("\n"))];
    const constructor = /scalers\.(New\w+)\(/.exec(body)?.[1] ?? "";
    const name = findName(constructor);
    if (name === undefined) throw new Error(`Cannot find the type of ${line}`);
    return [...line.matchAll(/"([^"]+)"/g)].map(([, type = ""]) => [type, name] as const);
  }).toSorted(([a], [b]) => a < b ? -1 : 1);
}

async function readCode(directory: string): Promise<string> {
  const names = Array.from(Deno.readDirSync(directory), ({ name }) => name);
  const texts = names.filter((name) => name.endsWith(".go") && !name.endsWith("_test.go")).sort();
  return (await Promise.all(texts.map((name) => Deno.readTextFile(`${directory}/${name}`)))).join("\n");
}

if (import.meta.main) {
  const [directory = ""] = Deno.args;
  const text = await Deno.readTextFile(`${directory}/schema/generated/scalers-schema.json`);
  const version = /@v([0-9.]+)\/?$/.exec(directory)?.[1] ?? "of an unknown version";
  const builder = await Deno.readTextFile(`${directory}/pkg/scaling/scalers_builder.go`);
  const names = findScalerNames(builder, await readCode(`${directory}/pkg/scalers`));
  await Deno.writeTextFile(TARGET, formatActivationTable(JSON.parse(text), names, version));
}
