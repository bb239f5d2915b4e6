/** Clauses M of podfit next to KEDA. */
import type { Mutations } from "../../tools/mutation.ts";

const ACTIVATION = "a trigger is active above the parameter that KEDA's schema names (M12)";

const RIGHTS = "podfit may read external.metrics.k8s.io next to KEDA only, and installs no definitions there (M15)";

const UNSELECTED = "an object that is not selected has podfit's own types only (M10, M22)";

export const NEXT_TO_KEDA: Mutations = {
  M12: [
    {
      breaks: "takes the default where the parameter is given",
      in: "findActivation",
      find: "if (value !== null) return value;",
      replace: "if (value !== null) break;",
      test: ACTIVATION,
    },
    {
      breaks: "takes 0 for the default of KEDA",
      in: "findActivation",
      find: "return parameters[0]?.[1] ?? 0;",
      replace: "return 0;",
      test: ACTIVATION,
    },
  ],
  M15: [
    {
      breaks: "grants the rights of all modes next to KEDA",
      file: "deploy/helm/templates/_rules.tpl",
      find: `{{- if eq (include "podfit.replicasMode" .) "selected" }}`,
      replace: `{{- if false }}`,
      test: RIGHTS,
    },
    {
      breaks: "may ask for metrics in mode all",
      file: "deploy/helm/templates/_rules.tpl",
      find: `{{- if eq (include "podfit.replicasMode" .) "selected" }}`,
      replace: `{{- if true }}`,
      test: RIGHTS,
    },
  ],
  M22: [
    {
      breaks: "takes KEDA's types in every mode",
      in: "parseScaledObject",
      find: "{ isNextToKeda: isSelected(object) }",
      replace: "{ isNextToKeda: true }",
      test: UNSELECTED,
    },
  ],
};
