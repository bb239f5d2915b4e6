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
