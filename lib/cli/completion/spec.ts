/**
 * The shells that have a completion script, and what can be typed, as plain data.
 *
 * Everything is read from the commander program; no list is kept by hand.
 */
import type { Argument, Command, Option } from "commander";
import { SubjectArgument } from "../command/command.ts";

export const SHELLS = ["bash", "zsh", "fish", "kubectl"] as const;

export type Shell = typeof SHELLS[number];

/** A command, or podfit itself. */
export interface CommandSpec {
  /** `podfit lint`: its name after those of its parents. */
  readonly path: string;
  readonly name: string;
  readonly description: string;
  readonly flags: readonly FlagSpec[];
  readonly commands: readonly CommandSpec[];
  /** The values that its argument may have. */
  readonly values: Values;
}

export interface FlagSpec {
  /** `-o` and `--output`; at least one. */
  readonly names: readonly string[];
  readonly description: string;
  /** `null` for a flag without a value. */
  readonly values: Values | null;
  /** The value may be left out. */
  readonly isOptional: boolean;
  /** Further values may follow. */
  readonly isVariadic: boolean;
}

/** The values that a flag or argument may have; `names` = of objects of the cluster or contexts of the kubeconfig; `any` = only the user can know. */
export type Values =
  | { readonly kind: "words"; readonly words: readonly string[] }
  | { readonly kind: "file" | "directory" | "names" | "any" | "none" };

/** The name before every path. */
export const PROGRAM = "podfit";

/** The first word with which a script asks podfit for names; the words of the line follow. */
export const NAMES_COMMAND = "__complete";

/** Returns a program with its commands; hidden ones are left out. */
export function toCommandSpec(command: Command, path = PROGRAM): CommandSpec {
  const help = command.createHelp();
  const [argument] = command.registeredArguments;
  return {
    path,
    name: path.split(" ").at(-1) ?? path,
    description: toLine(command.description()),
    flags: help.visibleOptions(command).map(toFlag),
    commands: help.visibleCommands(command).map((one) => toCommandSpec(one, `${path} ${one.name()}`)),
    values: argument === undefined
      ? { kind: "none" }
      : argument instanceof SubjectArgument
      ? { kind: "names" }
      : toValues(argument, argument.name()),
  };
}

/** Returns the command and all below it. */
export function listCommands(spec: CommandSpec): readonly CommandSpec[] {
  return [spec, ...spec.commands.flatMap(listCommands)];
}

function toFlag(option: Option): FlagSpec {
  const { short, long, description, required, optional, variadic, flags } = option;
  const placeholder = /[<[]([^\]>]*)/.exec(flags)?.[1] ?? "";
  return {
    names: [short, long].filter((name) => name !== undefined && name !== null),
    description: toLine(description),
    values: findNamed(option) !== null
      ? { kind: "names" }
      : required || optional
      ? toValues(option, placeholder)
      : null,
    isOptional: optional,
    isVariadic: variadic,
  };
}

/** Returns of what the value of the flag is the name; `null` = of nothing that podfit can list. */
export function findNamed({ long, required }: Option): "namespace" | "context" | null {
  if (!required) return null;
  if (long === "--context") return "context";
  return /^--([a-z-]+-)?namespace$/.test(long ?? "") ? "namespace" : null;
}

/** Only the placeholder shows that a value is a file. */
function toValues({ argChoices }: Pick<Option | Argument, "argChoices">, placeholder: string): Values {
  if (argChoices !== undefined && argChoices.length > 0) return { kind: "words", words: argChoices };
  if (/boolean/i.test(placeholder)) return { kind: "words", words: ["true", "false"] };
  if (/dir(ectory)?|folder/i.test(placeholder)) return { kind: "directory" };
  return { kind: /path|file/i.test(placeholder) ? "file" : "any" };
}

/** Returns the first part of a description, without the notes in brackets: shells show one short line. */
function toLine(text: string): string {
  return text.replace(/\s*\([^()]*\)$/, "").replace(/\s+/g, " ").trim();
}
