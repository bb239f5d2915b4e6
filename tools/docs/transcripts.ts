/** Which page's commands a scenario runs on a real cluster, and where their output is kept. */

/** By page, the transcript. PODFIT_TRANSCRIPT=true lets the scenario write it. */
export const TRANSCRIPTS: Readonly<Record<string, string>> = {
  "README.md": "tests/testdata/transcripts/readme.txt",
  "docs/start/quickstart.md": "tests/testdata/transcripts/quickstart.txt",
  "docs/install.md": "tests/testdata/transcripts/install.txt",
  "docs/how-to/next-to-keda.md": "tests/testdata/transcripts/next-to-keda.txt",
};
