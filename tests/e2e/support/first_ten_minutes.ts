/**
 * What a new user types, from the installation to the end, with nothing but the chart and podfit's image. The commands
 * of podfit run in pods of that image, by an account with the rights of a reader.
 */

/** The output of a run, for the documents. The scenario writes it with PODFIT_TRANSCRIPT=true. */
export const TRANSCRIPT = new URL("../../../docs/first-ten-minutes.txt", import.meta.url);

/** A command with what it is for. */
interface Step {
  readonly title: string;
  readonly commands: readonly string[];
}

/** Defined in the shell before the first command: podfit's command line, as a pod. */
export const PODFIT_FUNCTION = `podfit() {
  kubectl run "cli-$RANDOM" --namespace podfit --image localhost/podfit:0.1.0 --restart Never --rm --attach --quiet \\
    --overrides '{"spec": {"serviceAccountName": "me"}}' -- "$@"
}`;

export const STEPS: readonly Step[] = [
  {
    title: "Install podfit, with a sample workload",
    commands: [
      "helm install podfit deploy/helm --namespace podfit --create-namespace --wait --set sample.enabled=true",
      "kubectl rollout status deployment/podfit-sample --namespace podfit --timeout 60s",
      "kubectl get pods,lease,podresourceautoscalers --namespace podfit",
    ],
  },
  {
    title: "Raise its load, and see it grow without a restart",
    commands: [
      "POD=$(kubectl get pod --namespace podfit -l app.kubernetes.io/component=sample -o name | cut -d/ -f2)",
      'kubectl get --raw "/api/v1/namespaces/podfit/pods/$POD:8080/proxy/set?cpu=300m"',
      "sleep 60",
      "kubectl get podresourceautoscalers --namespace podfit -o wide",
      'kubectl get pod $POD --namespace podfit -o jsonpath=\'{.spec.containers[0].resources}{"\\n"}' +
      'restarts: {.status.containerStatuses[0].restartCount}{"\\n"}\'',
      "kubectl describe podresourceautoscaler podfit-sample --namespace podfit",
    ],
  },
  {
    title: "Give an account the rights of a reader",
    commands: [
      "kubectl create serviceaccount me --namespace podfit",
      "kubectl create rolebinding me-records --role podfit-records-reader --serviceaccount podfit:me --namespace podfit",
      "kubectl create clusterrolebinding podfit-me-view --clusterrole view --serviceaccount podfit:me",
      "kubectl create clusterrole podfit-lint --verb get,list --resource " +
      "podresourceautoscalers.keda.kedify.io,nodes,horizontalpodautoscalers.autoscaling",
      "kubectl create clusterrolebinding podfit-me-lint --clusterrole podfit-lint --serviceaccount podfit:me",
    ],
  },
  {
    title: "Ask why",
    commands: [
      "podfit explain pod/$POD --namespace podfit",
      "podfit top --namespace podfit",
      "podfit lint --cluster --namespace podfit",
    ],
  },
  {
    title: "Uninstall",
    commands: [
      "helm uninstall podfit --namespace podfit --wait",
      "kubectl delete clusterrolebinding podfit-me-view podfit-me-lint",
      "kubectl delete clusterrole podfit-lint",
      "kubectl delete crd podresourceautoscalers.keda.kedify.io",
      "kubectl delete namespace podfit",
    ],
  },
];

/** Returns the shell's script, which prints each command before its output. */
export function toScript(steps: readonly Step[] = STEPS): string {
  const print = (text: string) => `printf '%s\\n' '${text.replaceAll("'", `'\\''`)}'`;
  const lines = steps.flatMap(({ title, commands }) => [
    print(`\n# ${title}`),
    ...commands.flatMap((command) => [print(`$ ${command}`), command]),
  ]);
  return ["exec 2>&1", PODFIT_FUNCTION, ...lines].join("\n");
}

/** Returns the commands of a transcript, in their order. */
export function listCommands(transcript: string): readonly string[] {
  return [...transcript.matchAll(/^\$ (.*)$/gm)].map(([, command = ""]) => command);
}
