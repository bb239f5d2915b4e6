/**
 * Colour, where somebody looks at a terminal: by `--color`, else as the terminal and NO_COLOR say.
 * https://no-color.org
 */
import { type Text, toStyle } from "./terminal/output.ts";

/** What `--color` may be. */
export const COLOR_WHENS = ["auto", "always", "never"] as const;
export type ColorWhen = typeof COLOR_WHENS[number];

/** What is known of where a text goes. */
export interface Surroundings {
  readonly isTerminal: boolean;
  /** NO_COLOR; any text but an empty one asks for none. */
  readonly noColor: string | undefined;
}

/** Texts as they are shown; each without a change where there is no colour. */
export interface Style {
  readonly isColored: boolean;
  readonly bold: Paint;
  readonly dim: Paint;
  readonly red: Paint;
  readonly yellow: Paint;
  readonly green: Paint;
  readonly cyan: Paint;
}

/** Colours a text, which holds no colours of its own. */
export type Paint = (text: Text) => Text;

/** Whether to colour: a word of the caller's goes before NO_COLOR, and that before the terminal. */
export function isColored(when: ColorWhen, { isTerminal, noColor = "" }: Surroundings): boolean {
  if (when !== "auto") return when === "always";
  return isTerminal && noColor === "";
}

/** Makes the style. */
export function createStyle(hasColor: boolean): Style {
  const paint = (on: number, off: number): Paint =>
    hasColor ? (text) => [toStyle(on), text, toStyle(off)] : (text) => text;
  return {
    isColored: hasColor,
    bold: paint(1, 22),
    dim: paint(2, 22),
    red: paint(31, 39),
    yellow: paint(33, 39),
    green: paint(32, 39),
    cyan: paint(36, 39),
  };
}

/** For what goes to stdout of this process. */
export function readStyle(when: ColorWhen, getEnv: (name: string) => string | undefined): Style {
  return createStyle(isColored(when, { isTerminal: Deno.stdout.isTerminal(), noColor: getEnv("NO_COLOR") }));
}
