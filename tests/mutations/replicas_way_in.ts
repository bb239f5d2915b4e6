/** Slips in the switch of replicas and in the rights that come with it (R1, R95). */
import type { Mutations } from "../../tools/mutation.ts";

const SWITCH = "replicas are set only where somebody says so, and by a podfit that sees whole workloads (R1)";
const DEFINITIONS = "the definitions of keda.sh come with replicas, unless KEDA's are there, and are ours (R1)";
const OFF = "podfit is told of scaledObjects, which are off (R1)";
const RULES = "deploy/helm/templates/_rules.tpl";
const toRights = (who: string) => `podfit ${who} has the rights that it uses, and no others (C54)`;
const ON = toRights("central with replicas (R95)");
const COMPUTED = toRights("central with replicas that it only computes (R95)");
const NAMED = toRights("central with replicas, credentials and HPAs to take over, for one namespace (R95)");
const UNASKED = toRights("central whose replicas are off, whatever else is said of them (R1, R95)");

export const REPLICAS_WAY_IN: Mutations = {
  R1: [
    {
      breaks: "sets replicas unless told otherwise",
      in: "FLAGS",
      find: 'fallback: "off",\n    choices: REPLICAS_MODES',
      replace: 'fallback: "all",\n    choices: REPLICAS_MODES',
      test: SWITCH,
    },
    {
      breaks: "installs the definitions where replicas are off",
      file: "deploy/helm/templates/crd.yaml",
      find: 'and (eq (include "podfit.replicasMode" .) "all") .Values.scaledObjects.installDefinitions',
      replace: "and .Values.scaledObjects.installDefinitions",
      test: DEFINITIONS,
    },
    {
      breaks: "installs the definitions over KEDA's",
      file: "deploy/helm/templates/crd.yaml",
      find: 'and (eq (include "podfit.replicasMode" .) "all") .Values.scaledObjects.installDefinitions',
      replace: 'eq (include "podfit.replicasMode" .) "all"',
      test: DEFINITIONS,
    },
    {
      breaks: "passes the switch that is off",
      file: "deploy/helm/templates/_pod.tpl",
      find: `{{- if ne (include "podfit.replicasMode" .) "off" }}
{{- $args`,
      replace: `{{- if true }}
{{- $args`,
      test: OFF,
    },
  ],
  R95: [
    {
      breaks: "grants the rights where replicas are off",
      file: RULES,
      find: `{{- if ne (include "podfit.replicasMode" .) "off" }}
{{- include "podfit.replicaRules"`,
      replace: `{{- if true }}
{{- include "podfit.replicaRules"`,
      test: UNASKED,
    },
    {
      breaks: "may update workloads",
      file: RULES,
      find: "[deployments, statefulsets, replicasets, controllerrevisions], verbs: [get]",
      replace: "[deployments, statefulsets, replicasets, controllerrevisions], verbs: [get, update]",
      test: ON,
    },
    {
      breaks: "may write the scale in a dry run",
      file: RULES,
      find: "{{ if not .Values.dryRun }}, update{{ end }}",
      replace: ", update",
      test: COMPUTED,
    },
    {
      breaks: "may change specs of ScaledObjects through no patch",
      file: RULES,
      find: `ternary "list, watch" "list, watch, patch" .Values.dryRun`,
      replace: `"list, watch"`,
      test: ON,
    },
    {
      breaks: "may change ScaledObjects though it only computes",
      file: RULES,
      find: `ternary "list, watch" "list, watch, patch" .Values.dryRun`,
      replace: `"list, watch, patch"`,
      test: COMPUTED,
    },
    {
      breaks: "may delete HPAs that nobody hands over",
      file: RULES,
      find: "and .Values.scaledObjects.transferHpas (not .Values.dryRun)",
      replace: "not .Values.dryRun",
      test: ON,
    },
    {
      breaks: "may delete HPAs in a dry run",
      file: RULES,
      find: "and .Values.scaledObjects.transferHpas (not .Values.dryRun)",
      replace: ".Values.scaledObjects.transferHpas",
      test: COMPUTED,
    },
    {
      breaks: "may list secrets",
      file: "deploy/helm/templates/role.yaml",
      find: "resources: [secrets, configmaps], verbs: [get]",
      replace: "resources: [secrets, configmaps], verbs: [get, list]",
      test: NAMED,
    },
    {
      breaks: "reads secrets where replicas are off",
      file: "deploy/helm/templates/role.yaml",
      find: `{{- if ne (include "podfit.replicasMode" .) "off" }}
{{- $places := list }}`,
      replace: `{{- if true }}
{{- $places := list }}`,
      test: UNASKED,
    },
  ],
};
