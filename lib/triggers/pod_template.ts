/** The containers of a target's pod template, as far as their variables go. Of any kind that has `spec.template`, so nothing of it is believed. */
import { isRecord } from "../units/untrusted.ts";

export interface EnvContainer {
  readonly name: string;
  readonly variables: readonly EnvVariable[];
  readonly sources: readonly EnvSource[];
}

/** One entry of `env`. */
export interface EnvVariable {
  readonly name: string;
  /** May name others: `$(NAME)`. Empty where `from` is given. */
  readonly value: string;
  readonly from: EnvRef | { readonly kind: "other" } | null;
}

export interface EnvRef {
  readonly kind: "secret" | "config map";
  readonly name: string;
  readonly key: string;
  readonly isOptional: boolean;
}

/** One entry of `envFrom`. */
export interface EnvSource {
  readonly kind: "secret" | "config map";
  readonly name: string;
  readonly prefix: string;
  readonly isOptional: boolean;
}

/** Reads `spec.template.spec.containers` of a workload; entries that are none are left out. Never throws. */
export function readEnvContainers(workload: unknown): readonly EnvContainer[] {
  const containers = ["spec", "template", "spec", "containers"].reduce(readField, workload);
  return readRecords(containers).map((container) => ({
    name: readText(container["name"]),
    variables: readRecords(container["env"]).map(readVariable),
    sources: readRecords(container["envFrom"]).map(readSource).filter((source) => source !== null),
  }));
}

type Fields = Readonly<Record<string, unknown>>;

function readField(value: unknown, name: string): unknown {
  return isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function readRecords(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

function readText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function readVariable(entry: Fields): EnvVariable {
  const name = readText(entry["name"]);
  const value = readText(entry["value"]);
  const from = entry["valueFrom"];
  return { name, value, from: value === "" && isRecord(from) ? readRef(from) : null };
}

function readRef(from: Fields): EnvRef | { readonly kind: "other" } {
  const { secretKeyRef: secret, configMapKeyRef: configMap } = from;
  if (isRecord(secret)) return { kind: "secret", ...readName(secret), key: readText(secret["key"]) };
  if (isRecord(configMap)) return { kind: "config map", ...readName(configMap), key: readText(configMap["key"]) };
  return { kind: "other" };
}

function readSource(entry: Fields): EnvSource | null {
  const { configMapRef: configMap, secretRef: secret } = entry;
  const prefix = readText(entry["prefix"]);
  if (isRecord(configMap)) return { kind: "config map", prefix, ...readName(configMap) };
  return isRecord(secret) ? { kind: "secret", prefix, ...readName(secret) } : null;
}

function readName(ref: Fields): { readonly name: string; readonly isOptional: boolean } {
  return { name: readText(ref["name"]), isOptional: ref["optional"] === true };
}
