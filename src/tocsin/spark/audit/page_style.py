"""The style of the report page: quiet, readable in the light and in the dark, and on paper."""

STYLE = """
:root {
  --paper: #fcfcfb; --ink: #1d2126; --soft: #626a73; --rule: #dfe2e6; --card: #ffffff;
  --pass: #17754a; --pass-back: #e3f3ea; --fail: #b3261e; --fail-back: #fbe7e5; --open: #7a5a00; --open-back: #faf1d8;
  --c1: #2f67b1; --c2: #cf6a1b; --c3: #1f8a63; --c4: #b03f7a; --c5: #6a5cc4; --c6: #767d86; --band: #2f67b133;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171b; --ink: #e6e9ed; --soft: #9aa3ad; --rule: #2c3138; --card: #1a1e23;
    --pass: #6fd3a2; --pass-back: #16321f; --fail: #ff9a90; --fail-back: #3b1a18; --open: #e7c765; --open-back: #352b10;
    --c1: #76a9ea; --c2: #f0a05f; --c3: #5cc79c; --c4: #e187b6; --c5: #a79cf0; --c6: #a3abb4; --band: #76a9ea33;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
}
main { max-width: 1120px; margin: 0 auto; padding: 32px 24px 64px; }
h1 { font-size: 26px; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 19px; margin: 40px 0 8px; }
h3 { font-size: 16px; margin: 0 0 4px; }
p { margin: 0 0 12px; }
a { color: var(--c1); }
.lead, .note { color: var(--soft); }
.note { font-size: 13px; }
.levels { display: flex; flex-wrap: wrap; gap: 8px; list-style: none; padding: 0; margin: 20px 0; }
.levels li { flex: 1 1 150px; border-radius: 8px; padding: 10px 14px; border: 1px solid var(--rule); }
.levels b { display: block; }
.levels span { font-size: 13px; }
.levels .pass { background: var(--pass-back); } .levels .pass span { color: var(--pass); }
.levels .fail { background: var(--fail-back); } .levels .fail span { color: var(--fail); }
.levels .open { background: var(--open-back); } .levels .open span { color: var(--open); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 14px; width: 100%; margin: 4px 0 12px; }
th, td { text-align: left; padding: 6px 12px 6px 0; border-bottom: 1px solid var(--rule); vertical-align: top; }
thead th { color: var(--soft); font-weight: 500; font-size: 13px; }
tbody th { font-weight: 500; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.verdicts thead th:nth-child(3), .verdicts thead th:nth-child(4) { text-align: right; }
.pill { border-radius: 999px; padding: 1px 10px; font-size: 13px; white-space: nowrap; }
.pill.pass { background: var(--pass-back); color: var(--pass); }
.pill.fail { background: var(--fail-back); color: var(--fail); font-weight: 600; }
.pill.not { border: 1px solid var(--rule); color: var(--soft); }
.pill.open { background: var(--open-back); color: var(--open); }
.card, .plot { border: 1px solid var(--rule); border-radius: 10px; background: var(--card); }
.card { padding: 16px 18px; margin: 12px 0; }
.plot { padding: 12px 14px 8px; margin: 0; }
.plots {
  display: grid; gap: 16px; margin: 12px 0;
  grid-template-columns: repeat(auto-fit, minmax(min(460px, 100%), 1fr));
}
details { font-size: 14px; }
summary { cursor: pointer; color: var(--soft); }
figcaption { font-weight: 600; font-size: 14px; margin-bottom: 4px; }
.key { display: flex; flex-wrap: wrap; gap: 4px 14px; list-style: none; padding: 0; margin: 0 0 2px; }
.key { font-size: 13px; color: var(--soft); }
.key i { display: inline-block; width: 11px; height: 11px; border-radius: 3px; margin-right: 6px; }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--ink); font-size: 12px; }
svg .tick, svg .label, svg .when { fill: var(--soft); font-size: 11px; }
svg .none { fill: var(--soft); text-anchor: middle; }
.grid { stroke: var(--rule); }
.axis, .mark { stroke: var(--soft); }
.line { fill: none; stroke-width: 1.8; stroke-linejoin: round; }
.band { fill: var(--band); }
.diagram { margin: 6px 0 10px; }
.diagram text { paint-order: stroke; stroke: var(--card); stroke-width: 4px; stroke-linejoin: round; }
.diagram .site, .diagram .what { font-weight: 600; }
.lane { stroke: var(--rule); stroke-width: 2; }
.link { fill: none; stroke-width: 1.6; opacity: 0.75; }
.tip { fill: var(--soft); }
.hollow { fill: var(--card); stroke-width: 2.5; }
.cross { fill: none; stroke-width: 2.5; }
@media print { body { background: #fff; } .card, .plot { break-inside: avoid; } }
""".strip()
