/** From a row of the flags' table to commander's option. */
import { Option } from "commander";
import { collect } from "../subcommand.ts";
import type { FlagRow } from "./flags.ts";

/** Help shows what its value may be in the flag's own words; completion goes by the choices. */
export function toOption({ flag, value, variable, help, isRepeatable, fallback, choices }: FlagRow): Option {
  const notes = [...(fallback === undefined ? [] : [`default: ${fallback}`]), `env: ${variable}`].join(", ");
  const option = new Option(value === null ? flag : `${flag} ${value}`, `${help} (${notes})`);
  if (choices !== undefined) option.argChoices = [...choices];
  return isRepeatable === true ? option.argParser(collect) : option;
}
