/** podfit keeps every pod the right size. This file runs the command line and ends the process. */
import { main } from "./lib/cli/main.ts";

await main(Deno.args);
// A client that does not read its answer would otherwise keep the process running.
Deno.exit();
