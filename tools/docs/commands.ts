/**
 * The commands of a page and what the page shows of their output.
 *
 * A block of the language `sh` has commands, which a reader can copy. A block of the language `text` right after it is the
 * output of its last command. A block of the language `console` is a terminal: `$ ` begins a command, `> ` continues it, and
 * the other lines are its output. In outputs `...` is a gap. A comment `<!-- not run: WHY -->` on the line above a block
 * excludes it from runs.
 */
import { type Block, listBlocks } from "./markdown.ts";

/** Commands that are typed together, and the lines of output that the page shows. */
export interface Step {
  readonly command: string;
  /** Empty where the page shows none. */
  readonly shown: readonly string[];
}

/** Returns what a reader types, in the order of the page. */
export function listSteps(text: string): readonly Step[] {
  const blocks = listBlocks(text);
  return blocks.flatMap((block, index) => block.notRun === null ? toSteps(block, blocks[index + 1]) : []);
}

function toSteps(block: Block, next: Block | undefined): readonly Step[] {
  const lines = block.text.trimEnd().split("\n");
  if (block.language === "console") return parseTerminal(lines);
  if (block.language !== "sh") return [];
  // The two fences and an empty line are between them.
  const isOutput = next?.language === "text" && next.line === block.line + lines.length + 3;
  if (!isOutput) return [{ command: lines.join("\n"), shown: [] }];
  let last = lines.length - 1;
  while (lines[last - 1]?.endsWith("\\")) last--;
  const before = lines.slice(0, last);
  return [
    ...(before.length === 0 ? [] : [{ command: before.join("\n"), shown: [] }]),
    { command: lines.slice(last).join("\n"), shown: next.text.trimEnd().split("\n") },
  ];
}

function parseTerminal(lines: readonly string[]): readonly Step[] {
  const steps: { command: string; shown: string[] }[] = [];
  for (const line of lines) {
    const last = steps.at(-1);
    if (line.startsWith(PROMPT)) steps.push({ command: line.slice(2), shown: [] });
    else if (last === undefined) throw new Error(`Cannot read a console block: "${line}" comes before the first "$ "`);
    else if (line.startsWith(CONTINUED) && last.shown.length === 0) last.command += `\n${line.slice(2)}`;
    else last.shown.push(line);
  }
  return steps;
}

/** Begins each command in a transcript, and each further line of one. */
const PROMPT = "$ ";
const CONTINUED = "> ";

/**
 * Returns a script for bash that prints each command before its output, and stops at the first that fails. `change` gives
 * what is run in place of a command, such as another registry; the command is printed as the page has it.
 */
export function toScript(steps: readonly Step[], change: (command: string) => string = (command) => command): string {
  const print = (text: string) => `printf '%s\\n' '${text.replaceAll("'", `'\\''`)}'`;
  return ["exec 2>&1", ...steps.flatMap(({ command }) => [print(toPrompt(command)), change(command)])].join("\n");
}

/** The command as a terminal shows it. */
function toPrompt(command: string): string {
  return command.split("\n").map((line, at) => (at === 0 ? PROMPT : CONTINUED) + line).join("\n");
}

/** Returns the commands of a transcript, each with all of its output. */
export function parseTranscript(transcript: string): readonly Step[] {
  const lines = transcript.trimEnd().split("\n");
  const first = lines.findIndex((line) => line.startsWith(PROMPT));
  return first < 0 ? [] : parseTerminal(lines.slice(first));
}

/**
 * Returns the steps of the page that show output, each with the one of the transcript: the next run of the same command, or
 * else its first. Throws where the transcript lacks the command.
 */
export function matchSteps(page: readonly Step[], transcript: readonly Step[]): readonly (readonly [Step, Step])[] {
  let next = 0;
  return page.filter(({ shown }) => shown.length > 0).map((step) => {
    const isRun = ({ command }: Step) => command === step.command;
    const later = transcript.slice(next).findIndex(isRun);
    const index = later < 0 ? transcript.findIndex(isRun) : next + later;
    const run = transcript[index];
    if (run === undefined) throw new Error(`Cannot find the command in the transcript: "${step.command}"`);
    next = index + 1;
    return [step, run] as const;
  });
}

/** Returns the lines that the page shows and that the command did not print: all but gaps, compared in their order. */
export function listUnprinted({ shown }: Step, { shown: printed }: Step): readonly string[] {
  let next = 0;
  return shown.filter((line) => {
    if (line === GAP) return false;
    const found = printed.indexOf(line, next);
    if (found >= 0) next = found + 1;
    return found < 0;
  });
}

const GAP = "...";

/**
 * Returns the page with the output of the transcript in its blocks. A line that is shown is replaced by the next line of
 * the output with the same shape. Throws where there is none: then what the command prints has changed.
 */
export function fillOutput(text: string, transcript: readonly Step[]): string {
  let filled = text;
  let at = 0;
  for (const [step, run] of matchSteps(listSteps(text), transcript)) {
    const old = `\n${step.shown.join("\n")}\n`;
    at = filled.indexOf(old, at);
    if (at < 0) throw new Error(`Cannot find the output of "${step.command}"`);
    const fresh = `\n${replaceShown(step, run).join("\n")}\n`;
    filled = filled.slice(0, at) + fresh + filled.slice(at + old.length);
    at += fresh.length - 1;
  }
  return filled;
}

function replaceShown({ command, shown }: Step, { shown: printed }: Step): readonly string[] {
  let next = 0;
  return shown.map((line) => {
    if (line === GAP) return line;
    const found = printed.findIndex((one, index) => index >= next && toShape(one) === toShape(line));
    if (found < 0) throw new Error(`Cannot find a line like "${line}" in the output of "${command}"`);
    next = found + 1;
    return printed[found] ?? "";
  });
}

/**
 * Returns the line without what differs between two runs: numbers, times, generated names, widths of columns, and what podfit
 * waits for at the moment.
 */
export function toShape(line: string): string {
  return line
    .replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "ID")
    .replaceAll(/\bsha256:[0-9a-f]+/g, "DIGEST")
    .replaceAll(/-[bcdfghjklmnpqrstvwxz2456789]{5,10}-[bcdfghjklmnpqrstvwxz2456789]{5}(?![a-z\d])/g, "-HASH")
    .replaceAll(/\b[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ [\d:]+ \d{4}\b/g, "DATE")
    .replaceAll(/\b\d{4}-\d\d-\d\dT[\d:.]+Z|\b\d\d:\d\d:\d\dZ/g, "TIME")
    .replaceAll(/\b(?:[Tt]rue|[Ff]alse|Unknown)\b/g, "BOOLEAN")
    .replaceAll(/(?:(?:, )?\b(?:cpu|memory)\.(?:requests|limits) \S+ -> [\w.]+)+/g, "CHANGES")
    .replaceAll(/\bpodfit wants .*|\bCHANGES (?:\S+ ago .*|\(.*| *because .*)/g, "")
    .replaceAll(/\b(?:Warmup|StreakShort|InBand|AtTarget|Cooldown|ScaleDownWindow)\b/g, "REASON")
    .replaceAll(/\b(?:up|down) \d+ of \d+$|(?<=\s)-(?=\s|$)/g, "N")
    .replaceAll(/\d+(?:\.\d+)?(?:[mun]|[KMG]i|[dhms](?:\d+[hms])*)?(?!\w|\.\w)/g, "N")
    .replaceAll(/[N-]\/[N-]/g, "N").replaceAll(" %", "")
    .replaceAll(/(?<=-HASH\s.*\s)(?:[A-Z]\w+|N)$/g, "REASON")
    .replaceAll(/\s+/g, " ").trimEnd();
}
