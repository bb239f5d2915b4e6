/** What the flight recorder costs in memory for each pod, measured in processes of their own. */

/** How a pod spends its hour. */
export type Hour = "quiet" | "busy";

export interface RecordsCost {
  readonly hour: Hour;
  /** Of one pod, in KiB: the heap with the recorder less that without. */
  readonly kiB: number;
  /** Evaluations of one pod in the hour, lines that are kept of them, and how long ago the first of these was. */
  readonly evaluations: number;
  readonly lines: number;
  readonly minutes: number;
  /** What the recorder took for one evaluation, packing included. */
  readonly microseconds: number;
}

export async function measureRecords(hour: Hour): Promise<RecordsCost> {
  const script = new URL("records_run.ts", import.meta.url).pathname;
  const args = ["run", "-q", "-A", "--v8-flags=--expose-gc", script, hour];
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args }).output();
  const decoder = new TextDecoder();
  if (!success) throw new Error(`Cannot measure records: ${decoder.decode(stderr)}`);
  return JSON.parse(decoder.decode(stdout));
}
