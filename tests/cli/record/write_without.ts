/** Opens the file of a trace, in a process that may write none. */
import { openSink } from "../../../lib/cli/record/record.ts";
import { writeOutput } from "../../../lib/cli/terminal/output.ts";

await openSink("trace.jsonl").catch(({ message }: Error) => writeOutput(`${message}\n`));
