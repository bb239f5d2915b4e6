/**
 * Which flags mean the same in every command that has them?
 *
 * They are named as kubectl names them. A command takes those that make sense for it; docs/reference/cli.md has the table.
 */
import { parseSelectorText, type Selector } from "../../units/selector.ts";
import { createFlag } from "./command.ts";
import { type FlagValue, parseChoice } from "./parse_values.ts";
import { StartError } from "./process.ts";

/** `-n`. Without it: the namespace of the context, or `default` where no cluster is asked. */
export const NAMESPACE_FLAG = createFlag(
  "-n, --namespace <name>",
  "namespace of what is asked about, and of manifests without one (default: the context's)",
);

export const ALL_NAMESPACES_FLAG = createFlag("-A, --all-namespaces", "all namespaces of the cluster");

export const SELECTOR_FLAG = createFlag(
  "-l, --selector <labels>",
  "only objects with these labels: app=web,tier!=test",
);

export const WATCH_FLAG = createFlag("-w, --watch", "go on, and print again what changes");

export const NO_HEADERS_FLAG = createFlag("--no-headers", "no first line with the names of the columns");

export const KUBECONFIG_FLAG = createFlag(
  "--kubeconfig <path>",
  "kubeconfig file; repeatable (default: KUBECONFIG, the service account, ~/.kube/config)",
  { isRepeatable: true },
);

export const CONTEXT_FLAG = createFlag(
  "--context <name>",
  "context of the kubeconfig (default: its current-context)",
);

/** `-f` of commands that read manifests, as kubectl reads them. */
export const FILENAME_FLAG = createFlag(
  "-f, --filename <path>",
  "file, directory (its *.yaml, *.yml and *.json), or - for stdin; repeatable",
  { isRepeatable: true },
);

/** Returns `-o`, for a command that prints an object or a table. The first format is the default. */
export function createFormatFlag(formats: readonly string[]) {
  return createFlag("-o, --output <format>", "how it is printed", { fallback: formats[0] ?? "", choices: formats });
}

/** Returns the format. Throws a StartError for another word. */
export function parseFormat<Format extends string>(text: string, formats: readonly Format[]): Format {
  return parseChoice({ name: "--output", text }, formats);
}

/** Returns the selector; `null` = all objects. Throws a StartError. */
export function parseSelectorFlag(text: string | undefined): Selector | null {
  if (text === undefined) return null;
  const parsed = parseSelectorText(text, "--selector");
  if (parsed.ok) return parsed.selector;
  throw new StartError(parsed.problems[0]?.message ?? "Cannot parse the selector");
}

/** Throws a StartError where `-n` and `-A` contradict each other. */
export function refuseNamespaceWithAll(namespace: string | undefined, isEvery: boolean): void {
  if (!isEvery || namespace === undefined) return;
  throw new StartError("Cannot use --all-namespaces with --namespace: one of them is enough");
}

/** Words that kubectl's `-o` takes, and that a user means as a format. */
const FORMAT_WORDS = /^(json|yaml|wide|text|table|name)$/;

/** Returns the file of `-o`, for a command that writes one. Throws a StartError for a format. */
export function parseOutputFile({ name, text }: FlagValue, prints: string): string {
  if (!FORMAT_WORDS.test(text)) return text;
  throw new StartError(
    `Cannot use ${name} "${text}": it names a file here, as this command prints ${prints}; for a file write ./${text}`,
  );
}
