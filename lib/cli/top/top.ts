/** `podfit top`: what tracked pods use, have and want. */
import { abortable } from "../../runtime/abortable.ts";
import { systemClock } from "../../runtime/clock.ts";
import { openScreen } from "../demo/screen.ts";
import type { Access } from "../explain/access.ts";
import { answer, readTextOptions } from "../explain/answer.ts";
import { fill, type TextOptions } from "../explain/paint.ts";
import { readLatest } from "../explain/records.ts";
import { formatClock } from "../explain/say.ts";
import { type Text, toJson, writeLines, writeOutput } from "../terminal/output.ts";
import type { TopOptions } from "./options.ts";
import { filterRows, sortRows, type TopRow, toRows } from "./rows.ts";
import { toTopTable } from "./table.ts";

/** Resolves to the exit code: 0 = listed, 1 = it cannot be. */
export function top(options: TopOptions): Promise<number> {
  return answer(options.access, async (access, signal) => {
    if (options.watches) await watch(access, options, signal);
    else print(await abortable(list(access, options, signal), signal), options);
  });
}

async function list(access: Access, options: TopOptions, signal: AbortSignal): Promise<readonly TopRow[]> {
  const namespace = options.isEveryNamespace ? null : access.namespace;
  const sources = await access.open({ namespace, pod: null }, signal);
  const lines = await readLatest(sources, namespace === null ? {} : { namespace }, { signal });
  return sortRows(filterRows(toRows(lines, systemClock.now()), options.filter), options.sort);
}

function print(rows: readonly TopRow[], { isJson }: Pick<TopOptions, "isJson">): void {
  if (isJson) writeOutput(`${toJson(rows)}\n`);
  else writeLines(toText(rows, readTextOptions()));
}

function toText(rows: readonly TopRow[], options: TextOptions): readonly Text[] {
  return rows.length === 0
    ? ["podfit tracks nothing there, or nothing that --filter lets through"]
    : toTopTable(rows, options);
}

const WATCH_MS = 5_000;

/** In place on a terminal, with what went wrong last; one table after the other elsewhere. */
async function watch(access: Access, options: TopOptions, signal: AbortSignal): Promise<void> {
  const isDrawn = Deno.stdout.isTerminal() && !options.isJson;
  const first = await abortable(list(access, options, signal), signal);
  using screen = isDrawn ? openScreen() : null;
  let rows = first;
  let failure = "";
  while (!signal.aborted) {
    const now = systemClock.now();
    screen?.draw(({ columns, rows: height }) => {
      const held = rows.filter(({ isHeld }) => isHeld).length;
      const heading = `podfit top  ${
        formatClock(now, now)
      }  ${rows.length} rows, ${held} wait for something  ${failure}`;
      return fill([heading, "", ...toText(rows, { hasColor: !Deno.noColor, columns })], height);
    });
    if (screen === null) print(rows, options);
    await systemClock.sleep(WATCH_MS, signal).catch(() => {});
    try {
      rows = await abortable(list(access, options, signal), signal);
      failure = "";
    } catch (error) {
      if (signal.aborted) return;
      failure = error instanceof Error ? error.message : String(error);
    }
  }
}
