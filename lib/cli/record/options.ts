/** The flags of `podfit record`. */
import { createFlag, defineCommand, type GetEnv, SubjectArgument, type Typed } from "../command/command.ts";
import { parseMs, parseOptional, parseSubject, type Subject } from "../command/parse_values.ts";
import { parseOutputFile } from "../command/shared_flags.ts";
import { ACCESS_FLAGS, type AccessFlags, type AccessOptions, toAccess } from "../connection/access_options.ts";

const KINDS = ["pod", "scaledobject"] as const;

/** What is recorded, from where and for how long. */
export interface RecordOptions {
  readonly subject: Subject<typeof KINDS[number]>;
  readonly access: AccessOptions;
  /** `null` = until the pod is gone or a signal comes. */
  readonly forMs: number | null;
  /** The records that podfit still has are written first. */
  readonly withPast: boolean;
  /** `null` = stdout. */
  readonly path: string | null;
}

const NOTES = `
Follows what a running podfit decides about one pod or ScaledObject, and writes each evaluation as a line of JSON, for
"podfit replay" and for bug reports. It asks the podfit that owns it, as "podfit explain" does: that podfit must run with
--debug-listen, and you need the right to "get" on "pods/proxy" in its namespace.

Lines have names, labels, sizes and usage of the pod, and no credentials. Ends after Ctrl-C, after --for, and when the pod
or podfit ends. bin/podfit may write -o in the current folder only; elsewhere use > FILE.
`;

type Given = AccessFlags & Readonly<{ for?: string; past?: boolean; output?: string }>;

export const createRecordCommand = defineCommand({
  name: "record",
  description: "record what podfit decides about a pod or ScaledObject",
  argument: new SubjectArgument("<subject...>", KINDS),
  flags: [
    createFlag("--for <duration>", "how long, such as 10m (default: until Ctrl-C)"),
    createFlag("--past", "begin with the records of about the last hour"),
    createFlag("-o, --output <file>", "where to write (default: stdout)"),
    ...ACCESS_FLAGS,
  ],
  notes: NOTES,
  examples: [
    ["a pod, for a while", "podfit record web-7d9c5-x2x4p -n shop --for 10m -o trace.jsonl"],
    [
      "a ScaledObject, from what is still known of it on",
      "podfit record scaledobject/web -n shop --past > trace.jsonl",
    ],
    [
      "where podfit has --metrics-auth, beside kubectl port-forward",
      "podfit record web-7d9c5-x2x4p -n shop --url http://127.0.0.1:8081 --token-file token",
    ],
  ],
  parse: ({ args, given, getEnv }: Typed<Given>) => toRecordOptions(args, given, getEnv),
});

function toRecordOptions(subject: readonly string[], given: Given, getEnv: GetEnv): RecordOptions {
  const { for: duration, past = false, output = null } = given;
  return {
    subject: parseSubject(subject, KINDS),
    access: toAccess(given, getEnv),
    forMs: parseOptional(duration === undefined ? null : { name: "--for", text: duration }, parseMs),
    withPast: past,
    path: output === null ? null : parseOutputFile({ name: "--output", text: output }, "lines of JSON"),
  };
}
