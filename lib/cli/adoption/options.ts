/** The flags of `podfit adopt` and `podfit release`, and which ScaledObjects they are about. */
import { createFlag, defineCommand, type GetEnv, SubjectArgument, type Typed } from "../command/command.ts";
import { parseChoice, parseMs, parseNamespace, parseSubject } from "../command/parse_values.ts";
import { StartError } from "../command/process.ts";
import {
  ALL_NAMESPACES_FLAG,
  CONTEXT_FLAG,
  KUBECONFIG_FLAG,
  NAMESPACE_FLAG,
  parseSelectorFlag,
  refuseNamespaceWithAll,
  SELECTOR_FLAG,
} from "../command/shared_flags.ts";
import { getServerEnvironment, type ServerChoice } from "../connection/api_server.ts";

/** Which objects change hands, and how long each step may take. */
export interface AdoptionOptions {
  readonly server: ServerChoice;
  /** `null` = that of the context. */
  readonly namespace: string | null;
  readonly isEveryNamespace: boolean;
  /** Empty = all that have the labels. */
  readonly names: readonly string[];
  /** As typed, for the API server; `null` = all objects. */
  readonly selector: string | null;
  readonly isDryRun: boolean;
  readonly timeoutMs: number;
}

type Given = Readonly<{
  namespace?: string;
  allNamespaces?: boolean;
  selector?: string;
  dryRun?: string;
  timeout: string;
  kubeconfig?: readonly string[];
  context?: string;
}>;

const FLAGS = [
  NAMESPACE_FLAG,
  ALL_NAMESPACES_FLAG,
  SELECTOR_FLAG,
  createFlag("--dry-run <where>", "print the steps and change nothing", { choices: ["client"] }),
  createFlag("--timeout <duration>", "how long each step may take", { fallback: "30s" }),
  KUBECONFIG_FLAG,
  CONTEXT_FLAG,
];

const OBJECTS = "scaledobject/NAME, so/NAME or NAME; several are allowed";

const RIGHTS = `
It takes the rights get, list and patch for scaledobjects, and get for horizontalpodautoscalers.
`;

/** Clauses: M6. */
export const createAdoptCommand = defineCommand({
  name: "adopt",
  description: "let podfit scale a ScaledObject, while KEDA measures",
  argument: new SubjectArgument("[object...]", ["scaledobject"], OBJECTS),
  flags: FLAGS,
  notes: `
podfit must run with scaledObjects.mode=selected, and KEDA must run too. The steps: select the object for podfit, wait
until podfit has recorded what KEDA asks of the triggers, pause the object for KEDA, wait until podfit sets the replicas.
If a step fails, the steps before it are undone. Run it again when the triggers of an adopted object have changed.
${RIGHTS}`,
  examples: [
    ["one object", "podfit adopt so/web -n shop"],
    ["look first", "podfit adopt so/web -n shop --dry-run=client"],
    ["all of a team", "podfit adopt -A -l team=web"],
  ],
  parse: (typed: Typed<Given>) => {
    if (typed.given.allNamespaces === true && typed.given.selector === undefined) {
      throw new StartError("Cannot adopt every ScaledObject of the cluster: give --selector too");
    }
    return toOptions(typed, typed.getEnv);
  },
});

/** Clauses: M6. */
export const createReleaseCommand = defineCommand({
  name: "release",
  description: "give the replicas of a ScaledObject back to KEDA",
  argument: new SubjectArgument("[object...]", ["scaledobject"], OBJECTS),
  flags: FLAGS,
  notes: `
The steps: end the pause for KEDA, wait until KEDA's HPA is there again, remove podfit's annotations. If KEDA makes no HPA,
the object is paused again, and podfit goes on to set its replicas. podfit removes its conditions itself.
With --selector or --all-namespaces, only objects that podfit scales are released.
${RIGHTS}`,
  examples: [
    ["one object", "podfit release so/web -n shop"],
    ["everything that podfit scales", "podfit release -A"],
  ],
  parse: (typed: Typed<Given>) => toOptions(typed, typed.getEnv),
});

function toOptions({ args, given }: Typed<Given>, getEnv: GetEnv): AdoptionOptions {
  const { namespace, allNamespaces = false, selector, dryRun, timeout, kubeconfig = [], context } = given;
  refuseNamespaceWithAll(namespace, allNamespaces);
  parseSelectorFlag(selector);
  const names = parseNames(args);
  if (names.length === 0 === (selector === undefined && !allNamespaces)) {
    throw new StartError("Cannot choose objects: name some, such as so/web, or give --selector or --all-namespaces");
  }
  if (dryRun !== undefined) parseChoice({ name: "--dry-run", text: dryRun }, ["client"]);
  return {
    server: { kubeconfigPaths: kubeconfig, context: context ?? null, environment: getServerEnvironment(getEnv) },
    namespace: namespace === undefined ? null : parseNamespace({ name: "--namespace", text: namespace }),
    isEveryNamespace: allNamespaces,
    names,
    selector: selector ?? null,
    isDryRun: dryRun !== undefined,
    timeoutMs: parseMs({ name: "--timeout", text: timeout }),
  };
}

/** `so/web so/api`, `so web api` and `web api` name the same objects. */
function parseNames(words: readonly string[]): readonly string[] {
  const [first = "", ...rest] = words;
  const isKind = rest.length > 0 && /^(so|scaledobjects?(\.keda\.sh)?)$/i.test(first);
  const names = (isKind ? rest : words).map((word) =>
    parseSubject(word.includes("/") ? [word] : ["so", word], ["scaledobject"]).name
  );
  return [...new Set(names)];
}
