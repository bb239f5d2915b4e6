/** `-o text|json`, for commands that say the same in words and as data. */
import type { Command } from "commander";
import { createChoice } from "./help.ts";
import { parseChoice } from "./run/parse_values.ts";

const FORMATS = ["text", "json"] as const;

export function addFormatFlag(command: Command): Command {
  return command.addOption(createChoice("-o, --output <format>", "how it is printed", FORMATS).default("text"));
}

/** Throws a StartError for any other word. */
export function parseIsJson(text: string): boolean {
  return parseChoice({ name: "--output", text }, FORMATS) === "json";
}
