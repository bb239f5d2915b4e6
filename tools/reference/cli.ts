/** What do podfit's commands and flags mean? Made from the commander program and the daemon's tables. */
import type { Argument, Command, Option } from "commander";
import { formatExitCodes } from "../../lib/cli/command/process.ts";
import { createCommands } from "../../lib/cli/commands.ts";
import { type FlagRow, FLAGS, VARIABLES } from "../../lib/cli/run/flags.ts";
import { createProgram } from "../../lib/cli/run/options.ts";
import { toCell, toCode, toHeadingLink, toPage, toSentence, toTable } from "./markdown.ts";

/** The page of all commands. */
export function toCliPage(): string {
  const { commands } = createProgram(() => undefined, {
    run: () => Promise.resolve(),
    commands: createCommands(() => Promise.resolve()),
  });
  const rows = commands.map((command) => {
    const heading = `podfit ${command.name()}`;
    return [`[\`${heading}\`](${toHeadingLink(heading)})`, toSentence(command.description())];
  });
  return toPage("Commands", "podfit's own commands", [
    "Each command prints the same with `--help`. As a plug-in of kubectl, `podfit` is `kubectl podfit`.",
    toTable(["command", "what it does"], rows),
    "All commands have the same exit codes:",
    toFence(
      formatExitCodes({ found: "a check found something: lint an error, replay a decision that differs" })
        .replace(/^.*\n/, "").replaceAll(/^ {2}/gm, ""),
      "text",
    ),
    "These flags mean the same in every command that has them (the flags of `podfit run` are its own):",
    toSharedFlags(commands),
    ...commands.flatMap(toCommand),
  ]);
}

/** Flags that kubectl's users know. */
const SHARED_FLAGS = [
  "--filename",
  "--namespace",
  "--all-namespaces",
  "--selector",
  "--watch",
  "--output",
  "--no-headers",
  "--kubeconfig",
  "--context",
];

/** Which command takes which flag? The cell of --output has its formats. */
function toSharedFlags(commands: readonly Command[]): string {
  const own = commands.filter((command) => command.name() !== "run");
  const taking = own.filter(({ options }) => options.some(({ long }) => SHARED_FLAGS.includes(long ?? "")));
  const heads = SHARED_FLAGS.map((name) => {
    const { short } = taking.flatMap(({ options }) => options).find(({ long }) => long === name) ?? {};
    return toCode(short ?? name);
  });
  const rows = taking.map((command) => [
    toCode(command.name()),
    ...SHARED_FLAGS.map((name) => {
      const found = command.options.find(({ long }) => long === name);
      return found === undefined ? "" : name === "--output" ? found.argChoices?.join(", ") ?? "a file" : "yes";
    }),
  ]);
  return toTable(["", ...heads], rows);
}

function toCommand(command: Command): readonly string[] {
  const help = command.createHelp();
  const heading = `podfit ${command.name()}`;
  const rows = [
    ...command.registeredArguments.map(toArgumentRow),
    ...help.visibleOptions(command).filter(({ long }) => long !== "--help").map(toFlagRow),
  ];
  const parts = [
    `## ${heading}`,
    toSentence(command.description()),
    toFence(`podfit ${help.commandUsage(command).replace(/^podfit /, "")}`, "text"),
  ];
  // The daemon's flags have a page of their own, with their variables.
  if (command.name() === "run") {
    return [
      ...parts,
      "Its flags and variables: [flags.md](flags.md).",
      ...toNotes(readNotes(command), ["Exit codes:", "Examples:"]),
    ];
  }
  return [
    ...parts,
    ...(rows.length === 0 ? [] : [toTable(["", "meaning"], rows)]),
    ...toNotes(readNotes(command)),
  ];
}

function toArgumentRow(argument: Argument): readonly string[] {
  const name = argument.required ? argument.name().toUpperCase() : `[${argument.name().toUpperCase()}]`;
  return [toCode(name), toSentence(argument.description) + toChoices(argument.argChoices)];
}

function toFlagRow({ flags, description, defaultValue, argChoices }: Option): readonly string[] {
  const [text, fallback] = splitDefault(description);
  const shown = fallback ?? toCode(String(defaultValue ?? ""));
  return [toCode(flags), toCell(toSentence(text) + toChoices(argChoices), [shown === "" ? "" : `default: ${shown}`])];
}

function toChoices(choices: readonly string[] | undefined): string {
  return choices === undefined ? "" : ` One of ${choices.map(toCode).join(", ")}.`;
}

/** `text (default: value)` -> both; values of flags that depend on something are described, not given to commander. */
function splitDefault(description: string): readonly [text: string, fallback: string | null] {
  const [, text, fallback] = /^(.*) \(default: ([^()]*)\)$/s.exec(description) ?? [];
  return text === undefined || fallback === undefined ? [description, null] : [text, fallback];
}

/** The text of --help after the flags. */
function readNotes(command: Command): string {
  const { writeOut } = command.configureOutput();
  let text = "";
  command.configureOutput({ writeOut: (part) => text += part });
  command.outputHelp();
  if (writeOut !== undefined) command.configureOutput({ writeOut });
  const [, notes = ""] = /\n {2}-h, --help[^\n]*\n([^]*)$/.exec(text) ?? [];
  return notes.trim();
}

/** Paragraphs as Markdown; indented ones as code. `only`: the paragraphs that begin so. */
function toNotes(notes: string, only: readonly string[] | null = null): readonly string[] {
  const paragraphs = notes.split(/\n\s*\n|\n(?=Examples:\n)/).map((one) => one.replace(/^\n+|\s+$/g, ""));
  return paragraphs.filter((one) => one !== "" && (only === null || only.some((start) => one.startsWith(start)))).map(
    (one) => {
      const [first = "", ...rest] = one.split("\n");
      const isIndented = (lines: readonly string[]) => lines.length > 0 && lines.every((line) => line.startsWith("  "));
      const toBlock = (lines: readonly string[], language: string) =>
        toFence(lines.map((line) => line.slice(2)).join("\n"), language);
      if (isIndented([first, ...rest])) return toBlock([first, ...rest], "text");
      if (isIndented(rest) && first.endsWith(":")) {
        return `${toSentence(first)}\n\n${toBlock(rest, first === "Examples:" ? "sh" : "text")}`;
      }
      return toSentence(one);
    },
  );
}

function toFence(text: string, language: string): string {
  return `\`\`\`${language}\n${text}\n\`\`\``;
}

/** The page of the daemon's flags and variables. */
export function toFlagsPage(): string {
  const flags = Object.values<FlagRow>(FLAGS).map(({ flag, value, variable, help, fallback, isRepeatable = false }) => {
    const [text, described] = splitDefault(help);
    const unset = value === null ? "`false`" : "";
    const shown = fallback !== undefined ? toCode(fallback) : described ?? unset;
    return [
      toCode(value === null ? flag : `${flag} ${value}`),
      toCell(toSentence(text) + (isRepeatable && !text.includes("repeatable") ? " Repeatable." : ""), [
        `variable ${toCode(variable)}`,
        shown === "" ? "" : `default: ${shown}`,
      ]),
    ];
  });
  const variables = Object.entries(VARIABLES).map((
    [name, { value, help }],
  ) => [toCode(`${name}=${value}`), toSentence(help)]);
  return toPage("Flags and variables of the daemon", "the tables in `lib/cli/run/flags.ts`", [
    "`podfit run` is the daemon. Each flag has a variable, and a flag overrides its variable. The chart sets most of " +
    "them from its [values](helm-values.md); `extraArgs` sets the others. The other commands are in [cli.md](cli.md).",
    toTable(["flag", "meaning"], flags),
    "## Variables without a flag",
    toTable(["variable", "meaning"], variables),
  ]);
}
