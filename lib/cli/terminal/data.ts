/** Prints a value as data: the same fields as JSON and as YAML. */
import { stringify } from "../../runtime/yaml.ts";
import { toJson, writeOutput } from "./output.ts";

export type DataFormat = "json" | "yaml";

/** Returns whether the format is one of data, and not of text for people. */
export function isData(format: string): format is DataFormat {
  return format === "json" || format === "yaml";
}

/** Returns the value as one line of JSON (with `indent`, several), or as a YAML document that begins with `---`. */
export function formatData(value: unknown, format: DataFormat, indent = 0): string {
  // A round trip through JSON leaves out what is undefined.
  return format === "json" ? `${toJson(value, indent)}\n` : `---\n${stringify(JSON.parse(JSON.stringify(value)))}`;
}

/** Writes the value to stdout. Returns false when the reader of the pipe has ended. */
export function writeData(value: unknown, format: DataFormat, indent = 0): boolean {
  return writeOutput(formatData(value, format, indent));
}
