/** How findings may be printed. Apart from what prints them: the daemon's start loads the options of every command. */

export const FORMATS = ["text", "json", "github"] as const;
export type Format = typeof FORMATS[number];
