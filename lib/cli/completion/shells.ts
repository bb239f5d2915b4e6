/** Whose scripts there are; `kubectl` is what kubectl asks about its plug-in. */

export const SHELLS = ["bash", "zsh", "fish", "kubectl"] as const;
export type Shell = typeof SHELLS[number];
