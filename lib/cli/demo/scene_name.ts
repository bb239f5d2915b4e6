/** What the demo can tell: sizes alone, or sizes and the number of pods together. */
export const SCENES = ["sizes", "both"] as const;
export type SceneName = typeof SCENES[number];
