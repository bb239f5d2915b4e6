/** Which definitions are missing, of those that podfit goes by? */
import type { Shown } from "../finding.ts";
import { KINDS, type Known, type Plural } from "../known.ts";

const FILES: Readonly<Partial<Record<Plural, string>>> = {
  podresourceautoscalers: "podresourceautoscaler.yaml",
  scaledobjects: "scaledobject.yaml",
  triggerauthentications: "triggerauthentication.yaml",
  clustertriggerauthentications: "clustertriggerauthentication.yaml",
};

/** One error for each that somebody asks about. Nobody needs ScaledObjects who has none. */
export function describeAbsent(
  absent: ReadonlySet<Plural>,
  { known, isOfFiles }: { readonly known: Known; readonly isOfFiles: boolean },
): readonly Shown[] {
  return [...absent].flatMap((plural): readonly Shown[] => {
    const file = FILES[plural];
    const isAsked = known[plural].length > 0 || plural.endsWith("triggerauthentications") ||
      (plural === "podresourceautoscalers" && !isOfFiles);
    if (file === undefined || !isAsked) return [];
    const message = `the cluster knows no ${KINDS[plural].kind}: install its definition with ` +
      `\`kubectl apply --server-side -f crds/${file}\``;
    return [{
      level: "error",
      rule: "crd-missing",
      path: "",
      message,
      file: null,
      place: null,
      kind: null,
      object: null,
    }];
  });
}
