/** The pages of the documentation: which there are, and how large each may be. */

/** Paths from the project's root, each with its upper bound in KiB. */
export const PAGES: Readonly<Record<string, number>> = {
  "README.md": 12,
  "docs/README.md": 2,
  "docs/start/demo.md": 3,
  "docs/start/quickstart.md": 6,
  "docs/install.md": 9,
  "docs/upgrade.md": 4,
  "docs/operate/troubleshooting.md": 10,
  "docs/operate/monitoring.md": 6,
  "docs/operate/sizing.md": 4,
  "docs/operate/rights.md": 5,
  "docs/faq.md": 6,
  "docs/compare.md": 5,
};

/** Folders of pages: the pages that each must have, and the upper bound of each page in KiB. */
export const FOLDERS: Readonly<Record<string, { readonly max: number; readonly names: readonly string[] }>> = {
  "docs/concepts": {
    max: 6,
    names: ["decisions", "profiles", "memory", "new-pods", "replicas", "usage-sources", "limits-and-scope"],
  },
  "docs/how-to": {
    max: 3,
    names: [
      ...["recommend-mode", "choose-a-policy", "jvm", "nodejs", "python", "postgresql", "batch-and-queues", "sidecars"],
      ...[
        "from-vpa",
        "from-hpa",
        "from-keda",
        "next-to-keda",
        "from-kedify-agent",
        "gitops",
        "many-tenants",
        "metrics-over-tls",
      ],
      ...["lint-in-ci", "report-a-bug", "editor-schemas"],
    ],
  },
  "docs/evidence": { max: Infinity, names: ["README", "quality", "chaos", "scale", "results"] },
  "docs/reference": {
    max: Infinity,
    names: [
      ...["api", "reasons", "metrics", "cli", "flags", "helm-values", "lint-rules", "keda-support"],
      ...["kedify-differences", "explain", "records", "simulate", "labels"],
    ],
  },
};
