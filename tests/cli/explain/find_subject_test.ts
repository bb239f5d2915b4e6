/** What does `podfit explain` take a name for, and does it say so? */
import { assertEquals, assertRejects } from "#assert";
import { findSubject } from "../../../lib/cli/explain/explain.ts";
import type { Subject } from "../../../lib/cli/command/parse_values.ts";
import { DebugError } from "../../../lib/cli/connection/records.ts";

const [APPS, PRAS] = ["/apis/apps/v1/namespaces/shop", "/apis/keda.kedify.io/v1alpha1/namespaces/shop"];

/** A status, or the spec of an object. */
type Answers = Readonly<Record<string, number | Readonly<Record<string, unknown>>>>;

/** An API server with these objects and no others. */
function serve(answers: Answers) {
  const asked: string[] = [];
  const transport = (request: Request) => {
    const { pathname } = new URL(request.url);
    asked.push(pathname.split("/").slice(-2).join("/"));
    const found = answers[pathname] ?? 404;
    if (typeof found !== "number") return Promise.resolve(Response.json({ spec: found }));
    const status = { kind: "Status", apiVersion: "v1", status: "Failure", code: found, message: `answered ${found}` };
    return Promise.resolve(Response.json(status, { status: found }));
  };
  return { server: { origin: "https://it", transport }, asked };
}

async function find(answers: Answers, text: string) {
  const [kind = "", name] = text.split("/");
  const isBare = name === undefined;
  const subject = { kind: isBare ? "pod" : kind, name: name ?? kind } as Subject;
  const { server, asked } = serve(answers);
  const query = { subject, isBare, namespace: "shop" };
  const found = await findSubject(server, query, AbortSignal.timeout(10_000));
  return { found: `${found.subject.kind}/${found.subject.name}`, note: found.note, asked };
}

Deno.test("a bare name is that of a pod, and nothing else is asked for", async () => {
  const { found, note, asked } = await find({ "/api/v1/namespaces/shop/pods/web": {} }, "web");
  assertEquals([found, note, asked], ["pod/web", null, ["pods/web"]]);
});

const WORKLOADS = {
  deployment: `${APPS}/deployments/web`,
  statefulset: `${APPS}/statefulsets/web`,
  daemonset: `${APPS}/daemonsets/web`,
  scaledobject: "/apis/keda.sh/v1alpha1/namespaces/shop/scaledobjects/web",
};
for (const [kind, path] of Object.entries(WORKLOADS)) {
  Deno.test(`a bare name without such a pod is that of a ${kind}, and a note says so`, async () => {
    const { found, note } = await find({ [path]: {} }, "web");
    assertEquals(found, `${kind}/web`);
    assertEquals(note, `Explaining ${kind}/web: there is no pod "shop/web"`);
  });
}

Deno.test("an autoscaler with a target is about that workload, and a note says so", async () => {
  const answers = { [`${PRAS}/podresourceautoscalers/size`]: { target: { kind: "Deployment", name: "web" } } };
  const { found, note } = await find(answers, "podresourceautoscaler/size");
  assertEquals(found, "deployment/web");
  assertEquals(note, "Explaining deployment/web: podresourceautoscaler/size is about it");
});

Deno.test("an autoscaler with a selector is about the pods that it selects", async () => {
  const answers = { [`${PRAS}/podresourceautoscalers/size`]: { selector: { matchLabels: { app: "web" } } } };
  const { found, note } = await find(answers, "podresourceautoscaler/size");
  assertEquals([found, note], ["podresourceautoscaler/size", null]);
});

Deno.test("a workload that may not be read may be there: podfit may have records of it", async () => {
  const { found, note } = await find({ [`${APPS}/deployments/web`]: 403 }, "deployment/web");
  assertEquals([found, note], ["deployment/web", null]);
});

Deno.test("what does not exist is said before anything is watched, with its namespace", async () => {
  const cases: Readonly<Record<string, string>> = {
    "web":
      'Cannot find pod or workload "web" in namespace "shop": there is none; name another with -n; other kinds are ' +
      "written deployment/NAME",
    "statefulset/web": 'Cannot find statefulset "web" in namespace "shop": there is none; name another with -n',
  };
  for (const [text, message] of Object.entries(cases)) {
    const error = await assertRejects(() => find({}, text), DebugError);
    assertEquals([error.message, error.reason], [message, "NoPod"]);
  }
});
