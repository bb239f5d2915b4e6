/** placeholder */
import type { Stage } from "../stage.ts";
export function runReal(
  _options: { readonly seed: string; readonly only: string | undefined },
): Promise<readonly Stage[]> {
  return Promise.resolve([]);
}
