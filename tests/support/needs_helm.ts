/** A test that needs helm: ignored, with the reason in its name, where there is none. */
import { hasHelm } from "../../tools/helm.ts";

const ignore = !await hasHelm();

/** As Deno.test(). */
export function chartTest(name: string, fn: (context: Deno.TestContext) => Promise<void>): void {
  Deno.test({ name: ignore ? `${name} [helm is not built: tests/cluster/build helm]` : name, ignore, fn });
}
