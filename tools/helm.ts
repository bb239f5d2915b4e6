/** Which helm is there, and what does it make of podfit's chart? That of `tests/cluster/build helm`, else one on the PATH. */
import { parseAll } from "../lib/runtime/yaml.ts";
import { hasProgram, type ProgramAnswer, tryProgram } from "../tests/e2e/support/kubectl.ts";

/** Where the chart lies. */
export const CHART = new URL("../deploy/helm", import.meta.url).pathname;

/** Values as in a values file: what is not given is as in the chart's own. */
export type Values = Readonly<Record<string, unknown>>;

/** A release that is rendered; by default `podfit` in the namespace `podfit`, with the chart's own values. */
export interface Release {
  readonly name?: string;
  readonly namespace?: string;
  readonly values?: Values;
  /** A folder; podfit's chart by default. */
  readonly chart?: string;
  /** Flags of `helm template`. */
  readonly args?: readonly string[];
}

/** An object that the chart makes. */
export interface Rendered {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  // deno-lint-ignore no-explicit-any -- objects of any kind
  readonly [field: string]: any;
}

/** Whether there is a helm. */
export function hasHelm(): Promise<boolean> {
  return hasProgram("helm");
}

/** Runs helm. Values, if any, go in by `--values -`. */
export function runHelm(args: readonly string[], values: Values | null = null): Promise<ProgramAnswer> {
  if (values === null) return tryProgram("helm", args);
  return tryProgram("helm", [...args, "--values", "-"], { input: JSON.stringify(values) });
}

/** The manifest of a release, as text. Rejects with helm's own words where it refuses the values. */
export async function renderText(
  { name = "podfit", namespace = "podfit", values = {}, chart = CHART, args = [] }: Release,
): Promise<string> {
  const said = await runHelm(["template", name, chart, "--namespace", namespace, ...args], values);
  if (said.code !== 0) throw new Error(`Cannot render the chart: ${said.stderr.trim()}`);
  return said.stdout;
}

/** The same as objects. */
export async function renderObjects(release: Release): Promise<readonly Rendered[]> {
  return parseObjects(await renderText(release));
}

/** The objects of a manifest: documents without any are left out. */
export function parseObjects(text: string): readonly Rendered[] {
  return (parseAll(text) as readonly (Rendered | null)[]).filter((object) => object !== null);
}
