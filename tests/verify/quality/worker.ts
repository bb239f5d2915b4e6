// deno-lint-ignore-file no-console
/**
 * One policy over some curves in a process of its own, as two of them in one need more memory than V8 gives:
 *   worker.ts OUT CONTROLLER POLICY.json CURVE,...
 * Reads OUT/curves/CURVE.json, writes OUT/runs/CONTROLLER/CURVE.json. Prints how far it is, one line at a time.
 */
import type { Curve } from "./curve.ts";
import { runDaemon } from "./daemon_run.ts";

const [out = "", controller = "", policy = "", names = ""] = Deno.args;
const curves = names.split(",").map((name): Curve => JSON.parse(Deno.readTextFileSync(`${out}/curves/${name}.json`)));
const runs = await runDaemon({
  controller,
  curves,
  spec: JSON.parse(Deno.readTextFileSync(policy)),
  seed: "quality",
  onHours: (passed, of) => console.log(`${passed} of ${of} h`),
  complain: (line) => console.error(line),
});
await Deno.mkdir(`${out}/runs/${controller}`, { recursive: true });
for (const run of runs) await Deno.writeTextFile(`${out}/runs/${controller}/${run.curve}.json`, JSON.stringify(run));
