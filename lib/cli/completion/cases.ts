/** The tables that the scripts of bash and zsh go by: two functions that print what may stand where. */
import { quoteSh } from "./quote.ts";
import { type CommandSpec, type FlagSpec, listCommands, type Values } from "./spec.ts";

/**
 * `_podfit_values COMMAND FLAG` prints what the flag takes, one a line: words, or `:file`, `:files`, `:directory`, `:any`; nothing for
 * one that takes nothing. A flag whose value may be left out begins with `:optional`.
 */
export function formatValues(spec: CommandSpec): string {
  const cases = listCommands(spec).flatMap(({ path, flags }) =>
    flags.flatMap((flag) => flag.values === null ? [] : [toCase(path, flag, flag.values)])
  );
  return formatFunction("_podfit_values", '"$1 $2"', cases);
}

/** `_podfit_arguments COMMAND` prints what its argument may be, in the same way. */
export function formatArguments(spec: CommandSpec): string {
  const cases = listCommands(spec).filter(({ values }) => values.kind !== "none")
    .map(({ path, values }) => `${quoteSh(path)}) printf '%s\\n' ${toWords(values).map(quoteSh).join(" ")} ;;`);
  return formatFunction("_podfit_arguments", '"$1"', cases);
}

/** `_podfit_NAME COMMAND` prints lines of a list of each command's. */
export function formatList(
  name: string,
  spec: CommandSpec,
  toLines: (command: CommandSpec) => readonly string[],
): string {
  const cases = listCommands(spec).flatMap((command) => {
    const lines = toLines(command);
    return lines.length === 0 ? [] : [`${quoteSh(command.path)}) printf '%s\\n' ${lines.map(quoteSh).join(" ")} ;;`];
  });
  return formatFunction(name, '"$1"', cases);
}

function toCase(path: string, { names, isOptional, isVariadic }: FlagSpec, values: Values): string {
  const patterns = names.map((name) => quoteSh(`${path} ${name}`)).join(" | ");
  const words = isVariadic && values.kind === "file" ? [":files"] : toWords(values);
  return `${patterns}) printf '%s\\n' ${[...(isOptional ? [":optional"] : []), ...words].map(quoteSh).join(" ")} ;;`;
}

function toWords(values: Values): readonly string[] {
  return values.kind === "words" ? values.words : [`:${values.kind}`];
}

function formatFunction(name: string, subject: string, cases: readonly string[]): string {
  return [`${name}() {`, `  case ${subject} in`, ...cases.map((one) => `    ${one}`), "  esac", "}"].join("\n");
}
