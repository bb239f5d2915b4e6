/** A screenshot of the report of `podfit simulate`, taken by a browser without a window. */

const ROOT = new URL("../../", import.meta.url);
const BROWSER = "chromium";
const DAY_SECONDS = 24 * 3600;
const STEP_SECONDS = 60;
const MIB = 1024 ** 2;

const WEB = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: example.com/web:1
        resources:
          requests: {cpu: 500m, memory: 256Mi}
          limits: {cpu: "1", memory: 512Mi}
`;

function toAutoscaler(profile: string): string {
  return `apiVersion: keda.kedify.io/v1alpha1
kind: PodResourceAutoscaler
metadata: {name: web}
spec:
  target: {kind: Deployment, name: web}
  profile: ${profile}
`;
}

/** Writes the PNG of a day of a web server under two profiles. Throws if a program fails, or there is no browser. */
export async function takeScreenshot(path: string): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    const files = {
      "monday.csv": writeDay(),
      "web.yaml": `${WEB}---\n${toAutoscaler("balanced")}`,
      "thrifty.yaml": toAutoscaler("thrifty"),
    };
    for (const [name, text] of Object.entries(files)) await Deno.writeTextFile(`${folder}/${name}`, text);
    const main = new URL("main.ts", ROOT).pathname;
    const config = new URL("deno.json", ROOT).pathname;
    const podfit = ["run", "-A", "--quiet", "--config", config, main];
    const simulate = ["simulate", "-f", "web.yaml", "--policy", "thrifty.yaml", "--load", "monday.csv", "--noise"];
    await run(Deno.execPath(), [...podfit, ...simulate, "--html", "report.html"], { folder });
    const page = `file://${folder}/report.html`;
    const size = ["--window-size=1200,1000", "--hide-scrollbars", `--screenshot=${new URL(path, ROOT).pathname}`];
    await run(BROWSER, ["--headless", "--no-sandbox", "--disable-gpu", ...size, page], { folder });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** CPU and memory of a day: few visitors at night, most at noon and in the evening, and a crowd for half an hour. */
function writeDay(): string {
  const lines = ["seconds,millicores,bytes"];
  for (let second = 0; second <= DAY_SECONDS; second += STEP_SECONDS) {
    const hour = second / 3600;
    const visitors = toPeak(hour, { at: 12, width: 3 }) + 0.8 * toPeak(hour, { at: 19.5, width: 2 });
    const crowd = toPeak(hour, { at: 15.5, width: 0.25 });
    const millicores = 120 + 500 * visitors + 700 * crowd;
    lines.push(`${second},${Math.round(millicores)},${Math.round((120 + 100 * visitors) * MIB)}`);
  }
  return `${lines.join("\n")}\n`;
}

function toPeak(hour: number, { at, width }: { readonly at: number; readonly width: number }): number {
  return Math.exp(-(((hour - at) / width) ** 2));
}

async function run(program: string, args: readonly string[], { folder }: { readonly folder: string }): Promise<void> {
  const output = await new Deno.Command(program, { args: [...args], cwd: folder }).output().catch((error: unknown) => {
    throw new Error(`Cannot run ${program}: ${error}. For ${BROWSER}: apt-get install -y chromium`);
  });
  if (!output.success) throw new Error(`${program} failed: ${new TextDecoder().decode(output.stderr)}`);
}
