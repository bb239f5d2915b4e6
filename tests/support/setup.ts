/**
 * What every test file runs after: `deno test --preload` loads this first. Properties get a fixed seed, so a property that
 * fails once fails in each run; `deno task fuzz` chooses seeds of its own and prints them. The process trusts no public
 * certificate authority, as podfit trusts only those that it is given.
 */
import * as fc from "fast-check";
import { trustNoRuntimeRoots } from "../../lib/kube/https.ts";

fc.configureGlobal({ seed: 20261120 });
trustNoRuntimeRoots();
