/** What commands are asked about, as kubectl writes it. */
import { assertEquals, assertThrows } from "#assert";
import { StartError } from "../../lib/cli/command/process.ts";
import { describeSubjects, parseSubject, type SubjectKind } from "../../lib/cli/command/parse_values.ts";

const ALL: readonly SubjectKind[] = ["pod", "deployment", "statefulset", "daemonset", "scaledobject"];

const READ: Readonly<Record<string, string>> = {
  "web-1": "pod web-1",
  "pod/web-1": "pod web-1",
  "po/web-1": "pod web-1",
  "pods/web-1": "pod web-1",
  "deploy/web": "deployment web",
  "deploy web": "deployment web",
  "pod web-1": "pod web-1",
  "Deployment/web": "deployment web",
  "deployment.apps/web": "deployment web",
  "sts/db": "statefulset db",
  "STS/db": "statefulset db",
  "statefulsets/db": "statefulset db",
  "ds/log": "daemonset log",
  "daemonset/log": "daemonset log",
  "so/web": "scaledobject web",
  "ScaledObject/web": "scaledobject web",
  "scaledobject.keda.sh/web": "scaledobject web",
};

for (const [text, expected] of Object.entries(READ)) {
  Deno.test(`"${text}" is about ${expected}`, () => {
    const { kind, name } = parseSubject(text.split(" "), ALL);
    assertEquals(`${kind} ${name}`, expected);
  });
}

const REFUSED: Readonly<Record<string, readonly [kinds: readonly SubjectKind[], message: string]>> = {
  "node/a": [["pod", "scaledobject"], 'Cannot read "node/a": write POD, pod/NAME or scaledobject/NAME'],
  "constructor/a": [
    ["deployment", "statefulset"],
    'Cannot read "constructor/a": write deployment/NAME or statefulset/NAME',
  ],
  "deploy/a": [["pod", "scaledobject"], 'Cannot read "deploy/a": write POD, pod/NAME or scaledobject/NAME'],
  "web": [["deployment", "daemonset"], 'Cannot read "web": write deployment/NAME or daemonset/NAME'],
  "pod a b": [["pod"], 'Cannot read "pod a b": write POD or pod/NAME'],
  "pod/a/b": [["pod"], 'Cannot read "pod/a/b": write POD or pod/NAME'],
  "": [ALL, 'Cannot read pod "": it is not a name of a pod: lower case letters, digits, "-" and ".", at most 253'],
  "sts/": [
    ALL,
    'Cannot read statefulset "": it is not a name of a statefulset: lower case letters, digits, "-" and ".", at most 253',
  ],
  "pod/A_b": [
    ALL,
    'Cannot read pod "A_b": it is not a name of a pod: lower case letters, digits, "-" and ".", at most 253',
  ],
};

for (const [text, [kinds, message]] of Object.entries(REFUSED)) {
  Deno.test(`"${text}" is refused where it may be about ${describeSubjects(kinds)}`, () => {
    assertEquals(assertThrows(() => parseSubject(text.split(" "), kinds), StartError).message, message);
  });
}
