/** The custom resource definitions of crds/, each with one version. */
import { parse } from "../../lib/runtime/yaml.ts";

/** `Schema` is what a test looks at in the schemas. */
export interface Definition<Schema> {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly group: string;
    readonly scope: string;
    readonly names: Readonly<Record<string, unknown>>;
    readonly versions: readonly [Version<Schema>];
  };
}

interface Version<Schema> {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly subresources: unknown;
  readonly additionalPrinterColumns: readonly Readonly<Record<string, unknown>>[];
  readonly schema: { readonly openAPIV3Schema: Schema };
}

/** `kind` in lower case, such as `scaledobject`. Throws where there is no such file. */
export function readDefinition<Schema>(kind: string): Definition<Schema> {
  return parse(Deno.readTextFileSync(new URL(`../../crds/${kind}.yaml`, import.meta.url))) as Definition<Schema>;
}
