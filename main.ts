/** podfit: keeps every pod the right size. Runs the command line, nothing else. */
import { main } from "./lib/cli/main.ts";

if (import.meta.main) await main(Deno.args);
