/** By what rows can be sorted; for the options, which load nothing else of top. */

export const SORTS = ["cpu", "memory", "utilization", "wanted", "name"] as const;
export type Sort = typeof SORTS[number];
