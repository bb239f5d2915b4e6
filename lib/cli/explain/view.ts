/** Where explanations are shown: once, or one after the other. */
import { openScreen, type Screen } from "../demo/screen.ts";
import { type Text, toJson, writeError, writeLines, writeOutput } from "../terminal/output.ts";
import { readTextOptions } from "./answer.ts";
import type { Explanation } from "./explanation.ts";
import { breakLines, fill, paint, type TextOptions } from "./paint.ts";
import { describePod } from "./pod_words.ts";
import { describeWorkload } from "./workload_words.ts";

interface ViewOptions {
  readonly isJson: boolean;
}

/** On a terminal in place, below what is amiss; elsewhere whenever the answer is another. Disposal gives the terminal back. */
export interface View extends Disposable {
  readonly show: (explained: Explanation) => void;
  /** Until something is shown again. */
  readonly complain: (trouble: string) => void;
}

export function printExplanation(explained: Explanation, { isJson }: ViewOptions): void {
  if (isJson) writeOutput(`${toJson(explained)}\n`);
  else writeLines(toText(explained, readTextOptions()));
}

export function openView(options: ViewOptions): View {
  return Deno.stdout.isTerminal() && !options.isJson ? openScreenView() : openPrintedView(options);
}

function openScreenView(): View {
  let screen: Screen | null = null;
  let shown: Explanation | null = null;
  function draw(trouble: string): void {
    screen ??= openScreen();
    screen.draw(({ columns, rows }) => {
      const options = { hasColor: !Deno.noColor, columns };
      const amiss = trouble === "" ? [] : breakLines(trouble, options).map((line) => paint(line, "bad", options));
      return fill([...amiss, ...shown === null ? [] : toText(shown, options)], rows);
    });
  }
  return {
    show(explained) {
      shown = explained;
      draw("");
    },
    complain: draw,
    [Symbol.dispose]: () => screen?.[Symbol.dispose](),
  };
}

function openPrintedView(options: ViewOptions): View {
  let [answer, amiss] = ["", ""];
  return {
    show(explained) {
      if (explained.answer !== answer) printExplanation(explained, options);
      [answer, amiss] = [explained.answer, ""];
    },
    complain(trouble) {
      if (trouble !== amiss) writeError(trouble);
      amiss = trouble;
    },
    [Symbol.dispose]() {},
  };
}

function toText(explained: Explanation, options: TextOptions): readonly Text[] {
  return explained.kind === "pod" ? describePod(explained, options) : describeWorkload(explained, options);
}
