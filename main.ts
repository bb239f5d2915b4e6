/** podfit: keeps every pod the right size. Runs the command line, nothing else. */
import { main } from "./lib/cli/main.ts";

if (import.meta.main) {
  await main(Deno.args);
  // A client that does not read its answer would keep the process for as long as it stays.
  Deno.exit();
}
