/** The report's style sheet: light, and dark where the reader's system is. */

export const STYLE = `
:root {
  color-scheme: light dark;
  --page: #ffffff; --text: #1d2530; --dim: #667080; --rule: #e3e7ec; --card: #f5f7f9;
  --used: #8fb3d9; --peak: #d3e2f2; --request: #0b5cad; --limit: #b06a00; --replicas: #5b4bb5;
  --up: #0b5cad; --down: #2f8f4e; --bad: #c62828; --good: #1e7a3c;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12161c; --text: #e4e8ee; --dim: #95a0ae; --rule: #2b333d; --card: #1b212a;
    --used: #3d6b9c; --peak: #24405f; --request: #7fbcff; --limit: #f0ab4a; --replicas: #a99bff;
    --up: #7fbcff; --down: #6fd08c; --bad: #ff7066; --good: #6fd08c;
  }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1360px; padding: 24px 28px 48px; background: var(--page); color: var(--text);
  font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 24px; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 19px; margin: 36px 0 8px; overflow-wrap: anywhere; }
h3 { font-size: 16px; margin: 0 0 8px; overflow-wrap: anywhere; }
p { margin: 4px 0 16px; color: var(--dim); overflow-wrap: anywhere; }
.runs { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 460px), 1fr)); gap: 20px 28px; }
.runs > * { min-width: 0; }
.single { max-width: 1000px; }
.tiles { display: flex; flex-wrap: wrap; gap: 8px; }
.tile { background: var(--card); border-radius: 8px; padding: 8px 12px; flex: 1 1 120px; }
.tile b { display: block; font-size: 21px; font-weight: 600; font-variant-numeric: tabular-nums; }
.tile span { color: var(--dim); font-size: 13px; }
.tile.bad b { color: var(--bad); }
figure { margin: 0 0 14px; }
figcaption { color: var(--dim); font-size: 13px; }
svg { display: block; width: 100%; height: auto; }
svg text { font: 11px system-ui, sans-serif; fill: var(--dim); }
.end { text-anchor: end; } .middle { text-anchor: middle; }
.grid { stroke: var(--rule); fill: none; }
.peak { fill: var(--peak); } .lost { fill: var(--bad); fill-opacity: 0.75; } .used { fill: var(--used); }
.request, .limit, .replicas, .front { fill: none; stroke-width: 1.6; stroke-linejoin: round; }
.request { stroke: var(--request); } .limit { stroke: var(--limit); stroke-dasharray: 5 3; }
.replicas { stroke: var(--replicas); stroke-width: 2; }
.up { fill: var(--up); } .down { fill: var(--down); }
.kill { stroke: var(--bad); stroke-width: 1.6; fill: none; }
.front { stroke: var(--request); }
circle { fill: var(--request); } circle.throttles { fill: var(--limit); } circle.kills { fill: var(--bad); }
circle.off { fill-opacity: 0.35; }
.legend { display: flex; flex-wrap: wrap; gap: 6px 18px; color: var(--dim); font-size: 13px; margin: 18px 0 0; padding: 0; }
.legend li { display: flex; align-items: center; gap: 6px; list-style: none; }
.legend svg { width: 26px; height: 14px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: 8px 0; }
th, td { text-align: right; padding: 4px 14px; border-bottom: 1px solid var(--rule); font-weight: normal; }
tbody th { text-align: left; padding-left: 0; } thead th { color: var(--dim); overflow-wrap: anywhere; }
small { color: var(--dim); } .best { color: var(--good); font-weight: 600; } .change { color: var(--dim); }
@media print { body { max-width: none; padding: 0; } }
`.trim();
