import type { Mutations } from "../tools/mutation.ts";
export const MUTATIONS: Mutations = {
  C33: [{
    breaks: "rounds a size down",
    file: "lib/core/sizing.ts",
    find: "Math.ceil(amount / unit - 1e-9)",
    replace: "Math.floor(amount / unit - 1e-9)",
    testFile: "core/sizing_test.ts",
    test: "size() moves a broken millicore up to a whole one (C33)",
  }],
};
