/** Clauses M of podfit next to KEDA. */
import type { Mutations } from "../../tools/mutation.ts";

const ACTIVATION = "a trigger is active above the parameter that KEDA's schema names (M12)";

const RIGHTS = "podfit may read external.metrics.k8s.io next to KEDA only, and installs no definitions there (M15)";

const UNSELECTED = "an object that is not selected has podfit's own types only (M10, M22)";

const ADOPTED =
  "adopt selects, waits for the record, pauses and waits for podfit; release goes back; replicas stay (M6)";

const LEFT = "podfit leaves a selected object to KEDA until it is paused and the HPA is gone (M2)";

const UNSEEN = "an object that was paused before podfit saw the HPA is left alone, with what to do (M4)";

const RECORD = "the record is that of KEDA's HPA, and follows it while the object is not paused (M4)";

const OWN_STATUS = "podfit writes its own conditions and leaves KEDA's as they are (M7)";

const GIVEN_BACK = "an object that is no longer selected loses podfit's conditions, and keeps the others (M7)";

const MEASURED = "podfit measures its own types itself, and knows that KEDA could (M10)";

const DECIDED = "the annotation podfit.dev/metrics decides who measures (M10)";

const FALLBACK = "an object with a fallback is asked no more often than the HPA would, and podfit applies none (M13)";

export const NEXT_TO_KEDA: Mutations = {
  M2: [
    {
      breaks: "scales while KEDA is not paused",
      in: "findAdoptionBlocker",
      find: "if (!adoption.isKedaPaused) {",
      replace: "if (false) {",
      test: LEFT,
    },
    {
      breaks: "scales while KEDA's HPA is there",
      in: "findAdoptionBlocker",
      find: "if (own !== undefined) {",
      replace: "if (false) {",
      test: LEFT,
    },
    {
      breaks: "takes KEDA's number of paused replicas for a pause",
      in: "isKedaPaused",
      find: " && annotations?.has(KEDAS_PAUSES.replicas) === false",
      replace: "",
      test: "podfit's own annotations pause a selected object, and KEDA's do not (M2, M3)",
    },
  ],
  M4: [
    {
      breaks: "makes the record of changed triggers from the HPA of the old ones",
      in: "createKeepRecord",
      find: "adoption.isKedaPaused || ",
      replace: "",
      test: "triggers that change with the pause get no record of the HPA that was made for others (M4, M5)",
    },
    {
      breaks: "scales without a record",
      in: "findAdoptionBlocker",
      find: "if (!adoption.lacksRecord) return null;",
      replace: "return null;",
      test: UNSEEN,
    },
    {
      breaks: "keeps the first record",
      in: "createKeepRecord",
      find: "if (record !== null && text === formatAdoptionRecord(record)) return;",
      replace: "if (record !== null) return;",
      test: RECORD,
    },
    {
      breaks: "writes the same record again",
      in: "createKeepRecord",
      find: "if (record !== null && text === formatAdoptionRecord(record)) return;",
      replace: "",
      test: RECORD,
    },
    {
      breaks: "takes two metrics of one trigger for one",
      in: "findRecordProblem",
      find: "if (metrics === 1) return null;",
      replace: "if (metrics >= 1) return null;",
      test: "a trigger that KEDA has two metrics for fails, and says to give the object back (M4)",
    },
  ],
  M6: [
    {
      breaks: "does not select the object",
      in: "adoptOne",
      find: 'if (!isOwn) await change(steps, of, { [SELECTED]: "true" });',
      replace: "",
      test: ADOPTED,
    },
    {
      breaks: "leaves the pause where it releases",
      in: "releaseOne",
      find: "await change(steps, of, { [KEDA_PAUSED]: null });",
      replace: "",
      test: ADOPTED,
    },
    {
      breaks: "undoes nothing",
      in: "orUndo",
      find: "await annotate({ ...steps, signal: timeout.signal }, before, { annotations, resourceVersion: null });",
      replace: "",
      test: "adopt undoes the selection where KEDA makes no HPA (M6)",
    },
  ],
  M7: [
    {
      breaks: "waits for a stale watch to show its own write",
      in: "StatusWriter.#decideWhen",
      find: "isShared && !isStale && isOverwritten",
      replace: "isShared && isOverwritten",
      test:
        "podfit's own conditions say that a list is stale, also after a write that the watch did not show (M7, R91)",
    },
    {
      breaks: "gives the advice of a dry run for KEDA's finalizer",
      in: "applyDeletion",
      find: "!isKedas && input.dryRun",
      replace: "input.dryRun",
      test:
        "a dry run says of a deleted object that KEDA does not let go that it is being deleted, and no more (M7, R57)",
    },
    {
      breaks: "says that it scales a deleted object that KEDA does not let go",
      in: "applyDeletion",
      find: "isKept || isKedas || ",
      replace: "isKept || ",
      test: "podfit's conditions of a deleted object that KEDA does not let go say so, without KEDA's event (M7, R91)",
    },
    {
      breaks: "writes KEDA's fields too",
      in: "toScaledObjectStatus",
      find: "if (adoption !== null) return { conditions: listOwnConditions(facts, adoption, state) };",
      replace: "",
      test: OWN_STATUS,
    },
    {
      breaks: "drops KEDA's conditions",
      in: "toSharedPatch",
      find: "conditions: [...kept, ...own]",
      replace: "conditions: own",
      test: OWN_STATUS,
    },
    {
      breaks: "leaves its conditions behind",
      in: "createRemoveConditions",
      find: "const kept = conditions.filter((one) => !isOwnCondition(one));",
      replace: "const kept = conditions;",
      test: GIVEN_BACK,
    },
    {
      breaks: "does not look again",
      in: "createRemoveConditions",
      find: "for (const waitMs of LOOK_AGAIN_MS) {",
      replace: "for (const waitMs of [] as number[]) {",
      test: "podfit's conditions that KEDA writes back after a release are removed within 35 s (M7)",
    },
    {
      breaks: "takes the conditions of an object that is selected again",
      in: "createRemoveConditions",
      find: "isSelected(found.data) || ",
      replace: "",
      test: "an object that is selected again at once keeps podfit's conditions (M7)",
    },
    {
      breaks: "takes KEDA's finalizer away",
      in: "needsFinalizerChange",
      find: "if (adoption !== null) return false;",
      replace: "",
      test: "KEDA's finalizer stays, and podfit neither restores nor reports the end of the object (M7)",
    },
    {
      breaks: "lets an adopted object go to zero at once by KEDA's rule",
      in: "deactivate",
      find: " && input.object.adoption === null",
      replace: "",
      test: "an adopted object goes to zero one cooldown after podfit took it over, not sooner (M7, R58)",
    },
    {
      breaks: "keeps the time of activity from before KEDA had the object",
      in: "applyBlocker",
      find: "isKedas ? null : before.lastActiveAt",
      replace: "before.lastActiveAt",
      test: "an adopted object goes to zero one cooldown after podfit took it over, not sooner (M7, R58)",
    },
    {
      breaks: "goes by KEDA's lastActiveTime",
      in: "seedAdoptedState",
      find: "...NEW_REPLICAS_STATE,",
      replace: "...seedReplicasState(status),",
      test: "seedAdoptedState() takes podfit's own conditions, and not what KEDA did before the pause (M7)",
    },
  ],
  M8: [
    {
      breaks: "does not say to stop KEDA",
      in: "toHpaConflict",
      find: "const message = owners.includes(uid)",
      replace: "const message = false",
      test: "in mode all KEDA's HPA blocks the object, and nobody asks KEDA for values (M8, M22)",
    },
  ],
  M10: [
    {
      breaks: "lets KEDA measure what podfit can",
      in: "parseMeasured",
      find: "if (adopted.measuredBy === null) {",
      replace: "if (false) {",
      test: MEASURED,
    },
    {
      breaks: "measures itself what is KEDA's by annotation",
      in: "parseMeasured",
      find: "if (adopted.measuredBy === null) {",
      replace: "if (true) {",
      test: DECIDED,
    },
    {
      breaks: "lets KEDA measure what is podfit's by annotation",
      in: "parseMeasured",
      find: ' || adopted.measuredBy === "podfit"',
      replace: "",
      test: DECIDED,
    },
  ],
  M13: [
    {
      breaks: "applies a fallback of its own",
      in: "countFailures",
      find: "listExternalTriggers(object).filter(hasOwnFallback)",
      replace: "listExternalTriggers(object)",
      test: FALLBACK,
    },
    {
      breaks: "asks as often as without a fallback",
      in: "mayKeep",
      find: 'if (source.kind === "keda" && object.fallback !== null) return true;',
      replace: "",
      test: FALLBACK,
    },
    {
      breaks: "asks KEDA for each loop",
      in: "mayKeep",
      find: ' || (source.kind === "keda" && kept.half === "tick")',
      replace: "",
      test: "read() asks KEDA once a round for both loops, and in each poll while no scaling check runs (M13)",
    },
    {
      breaks: "wakes a workload late, because an old value of its own is enough for the activation loop",
      in: "mayKeep",
      find: ' && kept.half === "tick")',
      replace: ")",
      test: "read() asks KEDA once a round for both loops, and in each poll while no scaling check runs (M13)",
    },
    {
      breaks: "does not repeat KEDA's condition",
      in: "listOwnConditions",
      find: 'PodfitFallback: kedas?.status === "True" ? kedas : Fallback,',
      replace: "PodfitFallback: Fallback,",
      test: FALLBACK,
    },
  ],
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
  M17: [
    {
      breaks: "asks with the selector of pods for that of metrics",
      in: "toMetricPath",
      find: "metricLabelSelector: selector",
      replace: "labelSelector: selector",
      test: "toMetricPath() is the question of the HPA's clients (M17)",
    },
    {
      breaks: "leaves out values of pods that podfit does not list",
      in: "proposeByPodValues",
      find: "    others,\n",
      replace: "    others: [],\n",
      test: "proposeByPodValues() takes pods that podfit does not list into the average, as the HPA (M17)",
    },
    {
      breaks: "rounds an exact value to a double",
      in: "computeExternalMetric",
      find: "const { value, milli = toMilli(value) } = reading;",
      replace: "const { value } = reading;\n    const milli = toMilli(value);",
      test: "a value beyond doubles is counted exactly, as by the HPA: 4900T are seven times 700T (M17)",
    },
    {
      breaks: "loses the exact value on the way to the decision",
      in: "toAnswer",
      find: "isEmpty: false, milli, ",
      replace: "isEmpty: false, ",
      test: "a value beyond doubles is counted exactly, as by the HPA: 4900T are seven times 700T (M17)",
    },
    {
      breaks: "refuses a JSON number with a fraction",
      in: "parseMetricAnswer",
      find: "parseMilli(value, { floats: true })",
      replace: "parseMilli(value)",
      test: "parseMetricAnswer() refuses what is no value of this metric (M17, M23)",
    },
    {
      breaks: "asks for pods where there are none",
      in: "createAskMetrics",
      find: "if (isOfPods && pods?.pods.length === 0) {",
      replace: "if (false) {",
      test: "a pods-metric at zero replicas asks nothing, and counts as 0 (M17)",
    },
  ],
  M20: [
    {
      breaks: "takes over where the annotation is not there",
      in: "isTransferred",
      find: "object.annotations.transfersHpa && ",
      replace: "!object.annotations.transfersHpa && ",
      test: "a ScaledObject takes over an HPA with these metrics, and goes on from its replicas (M20)",
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
