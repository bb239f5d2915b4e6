/**
 * What do the values of flags and variables mean? Each is refused with one line that names where it was written, what
 * was written and what would be right.
 */
import { parseDuration } from "../../units/duration.ts";
import { isText } from "../../units/fields.ts";
import { LABEL_RULE, NAME_RULE } from "../../units/names.ts";
import { parseAmount } from "../../units/quantity.ts";
import type { Resource } from "../../units/resources.ts";
import { StartError } from "./start_error.ts";

/** A value and where it was written: `--listen` or `PODFIT_LISTEN`. */
export interface Written {
  readonly name: string;
  readonly text: string;
}

/** As Go's strconv.ParseBool: what the product that reads these variables today accepts. */
export function parseBoolean(written: Written): boolean {
  const text = written.text.toLowerCase();
  if (["true", "t", "1"].includes(text)) return true;
  if (["false", "f", "0"].includes(text)) return false;
  throw refuse(written, "write true or false");
}

/** One of the choices; throws a StartError for anything else. */
export function parseChoice<T extends string>(written: Written, choices: readonly T[]): T {
  const found = choices.find((choice) => choice === written.text);
  if (found === undefined) {
    throw refuse(written, `write ${choices.slice(0, -1).join(", ")} or ${choices.at(-1)}`);
  }
  return found;
}

/** Some of the choices, a list with commas in any order; throws a StartError for anything else. */
export function parseChoices<T extends string>(written: Written, choices: readonly T[]): readonly T[] {
  return written.text.split(",").map((part) => parseChoice({ name: written.name, text: part.trim() }, choices));
}

/** `null` = all. A list that names none is refused: it would watch either nothing or everything. */
export function parseNamespaces(all: readonly Written[]): readonly string[] | null {
  if (all.length === 0) return null;
  const names = new Set<string>();
  for (const written of all) {
    const parts = written.text.split(",").map((part) => part.trim()).filter((part) => part !== "");
    if (parts.length === 0) throw refuse(written, "it names no namespace");
    for (const part of parts) names.add(checkNamespace(part, written));
  }
  return [...names];
}

/** The name of one namespace. */
export function parseNamespace(written: Written): string {
  return checkNamespace(written.text, written);
}

/** `what` it has to be: a node name. */
export function parseSubdomain(written: Written, what: string): string {
  if (!isText(written.text, NAME_RULE)) {
    throw refuse(written, `it is no ${what}: lower case letters, digits, "-" and ".", at most 253`);
  }
  return written.text;
}

/** `null` = all. */
export function parsePod(written: Written | null): { readonly namespace: string; readonly name: string } | null {
  if (written === null) return null;
  const [namespace = "", name = "", ...rest] = written.text.split("/");
  if (!isText(namespace, LABEL_RULE) || !isText(name, NAME_RULE) || rest.length > 0) {
    throw refuse(written, "write NAMESPACE/NAME of a pod, such as shop/web-7d9c5-x2x4p");
  }
  return { namespace, name };
}

/** Without a host, every IPv4 address. Port 0 takes any free one. */
export function parseListen(written: Written): { readonly hostname: string; readonly port: number } {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:\s[\]]*)):(\d{1,5})$/.exec(written.text);
  const port = Number(match?.[3]);
  if (match === null || port > 65535) throw refuse(written, "write HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080");
  return { hostname: match[1] ?? (match[2] || "0.0.0.0"), port };
}

/** `null` where nothing is written. */
export function parseOptional<T>(written: Written | null, parse: (written: Written) => T): T | null {
  return written === null ? null : parse(written);
}

/** A duration of at least a millisecond. */
export function parseMs(written: Written): number {
  const parsed = parseDuration(written.text);
  if (!parsed.ok || parsed.ms === 0) throw refuse(written, "write a duration such as 15s");
  return parsed.ms;
}

/** A quantity above zero, in millicores or bytes. */
export function parseSize(written: Written, resource: Resource): number {
  const parsed = parseAmount(written.text, resource);
  if (!parsed.ok || parsed.amount === 0) {
    throw refuse(written, `write a quantity such as ${resource === "cpu" ? "8 or 500m" : "64Gi"}`);
  }
  return parsed.amount;
}

/** A whole number, both ends included. */
export function parseWhole(written: Written, [least, most]: readonly [number, number]): number {
  const number = /^\d{1,9}$/.test(written.text) ? Number(written.text) : NaN;
  if (!(number >= least && number <= most)) throw refuse(written, `write a whole number from ${least} to ${most}`);
  return number;
}

/** A number, both ends included; a fraction is one too. */
export function parseBetween(written: Written, [least, most]: readonly [number, number]): number {
  const number = /^\d+(\.\d+)?$/.test(written.text) ? Number(written.text) : NaN;
  if (!(number >= least && number <= most)) throw refuse(written, `write a number from ${least} to ${most}`);
  return number;
}

function checkNamespace(name: string, written: Written): string {
  if (isText(name, LABEL_RULE)) return name;
  throw refuse(written, `"${name}" is no namespace name: lower case letters, digits and "-", at most 63`);
}

function refuse({ name, text }: Written, why: string): StartError {
  return new StartError(`Cannot read ${name} "${text}": ${why}`);
}
