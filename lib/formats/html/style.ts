/** The style sheet of pages. It follows the light or dark mode of the system, and loads nothing. */
export const style = `
:root {
  color-scheme: light dark;
  --paper: #fff;
  --raised: #f6f7f9;
  --line: #d9dde3;
  --ink: #1b2430;
  --quiet: #576374;
  --accent: #1257b8;
  --on-accent: #fff;
  --wrong: #b3261e;
  --wrong-paper: #fdf1f0;
  --shade: #0003;
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif;
  --mono: ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "Liberation Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #12161c;
    --raised: #1a2029;
    --line: #333c49;
    --ink: #e7ebf1;
    --quiet: #a2aebd;
    --accent: #82b4ff;
    --on-accent: #0b1a30;
    --wrong: #ff9c94;
    --wrong-paper: #2c1817;
    --shade: #0009;
  }
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
body { margin: 0; background: var(--paper); color: var(--ink); }
header, main { max-width: 76rem; margin: 0 auto; padding: 0 1.5rem; }
header {
  display: flex;
  flex-wrap: wrap;
  justify-content: space-between;
  gap: .25rem 1.5rem;
  padding-block: 1.25rem .5rem;
  font-size: .9rem;
}
main { padding-bottom: 5rem; outline: none; }
h1 {
  font-size: 1.9rem;
  line-height: 1.2;
  font-weight: 650;
  letter-spacing: -.015em;
  margin: .5rem 0 1rem;
  overflow-wrap: anywhere;
}
a { color: var(--accent); text-underline-offset: .18em; text-decoration-thickness: .06em; }
a:hover { text-decoration-thickness: .12em; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 3px; }
ol, ul { list-style: none; margin: 0; padding: 0; display: flex; flex-wrap: wrap; gap: .25rem .5rem; }
header ol li + li::before { content: "/"; color: var(--quiet); margin-right: .5rem; }
header [aria-current] { color: var(--quiet); text-decoration: none; }
header bdi { overflow-wrap: anywhere; }
header .caller { font-weight: 550; }
.aside { gap: .25rem 1.25rem; color: var(--quiet); }
.skip { position: absolute; left: -100vw; padding: .5rem 1rem; background: var(--paper); }
.skip:focus { left: 0; }
.none, .hint, .count, .empty, .curl { color: var(--quiet); }
code, pre { font-family: var(--mono); font-size: .85em; }
.curl {
  display: flex;
  flex-wrap: wrap;
  align-items: baseline;
  gap: .25rem .75rem;
  margin: 0 0 1.75rem;
  font-size: .85rem;
}
.curl code {
  flex: 1 1 18rem;
  min-width: 0;
  padding: .4rem .7rem;
  background: var(--raised);
  border-radius: 6px;
  color: var(--ink);
  font-size: .95em;
  white-space: nowrap;
  overflow-x: auto;
  user-select: all;
}
.raw { margin: -1.25rem 0 1.25rem; font-size: .85rem; }
.raw pre { padding: .7rem; background: var(--raised); border-radius: 6px; }
.query { margin-bottom: 1.25rem; }
.query p, .field { margin: 0; display: flex; flex-direction: column; gap: .3rem; }
.row { display: flex; flex-wrap: wrap; align-items: end; gap: .75rem 1rem; }
.row p { flex: 1 1 10rem; max-width: 22rem; }
.row .send, .send { display: flex; flex-direction: row; flex: none; align-items: center; gap: 1rem; }
.query .send { flex-direction: row; }
.grid {
  display: grid;
  grid-template-columns: repeat(auto-fill, minmax(13rem, 1fr));
  gap: .9rem 1rem;
  padding: .75rem 0 .25rem;
}
.others { margin-top: .75rem; }
.others li {
  padding: .1rem .6rem;
  background: var(--raised);
  border-radius: 1rem;
  font-size: .9rem;
  overflow-wrap: anywhere;
}
label { font-size: .85rem; font-weight: 550; overflow-wrap: anywhere; }
.needed { font-weight: 400; color: var(--quiet); }
input, select, textarea, button {
  font: inherit;
  color: inherit;
  border: 1px solid var(--line);
  border-radius: 6px;
  padding: .45rem .65rem;
  width: 100%;
  min-height: 2.6rem;
  background: var(--paper);
}
input, select, textarea { border-color: var(--quiet); }
input, select { height: 2.6rem; }
textarea { resize: vertical; }
textarea[data-kind=json] { font-family: var(--mono); font-size: .85rem; }
::placeholder { color: var(--quiet); opacity: 1; }
[aria-invalid] { border-color: var(--wrong); box-shadow: 0 0 0 1px var(--wrong); }
button {
  width: auto;
  padding-inline: 1.1rem;
  font-weight: 550;
  background: var(--accent);
  border-color: transparent;
  color: var(--on-accent);
  cursor: pointer;
}
button:disabled { opacity: .6; cursor: progress; }
button.danger { background: var(--wrong); color: var(--paper); }
.query button, .alert button { background: var(--raised); border-color: var(--quiet); color: var(--ink); }
summary {
  cursor: pointer;
  width: max-content;
  max-width: 100%;
  font-weight: 550;
  color: var(--accent);
  padding: .35rem 0;
}
.query summary { font-size: .9rem; margin-top: .4rem; }
.scroll {
  overflow-x: auto;
  border: 1px solid var(--line);
  border-radius: 8px;
  background:
    linear-gradient(to left, var(--paper) 1rem, transparent) right / 2rem 100% no-repeat local,
    linear-gradient(to left, var(--shade), transparent) right / .8rem 100% no-repeat;
}
table { border-collapse: collapse; width: 100%; font-size: .92rem; font-variant-numeric: tabular-nums; }
th, td {
  text-align: start;
  vertical-align: top;
  padding: .55rem .9rem;
  border-bottom: 1px solid var(--line);
  max-width: 19rem;
  white-space: nowrap;
  overflow: hidden;
  text-overflow: ellipsis;
}
tbody tr:last-child > * { border-bottom: 0; }
tbody tr:hover, tbody tr:hover th { background: var(--raised); }
thead th { border-bottom-width: 2px; }
th:first-child { position: sticky; left: 0; background: var(--paper); }
thead th { font-size: .82rem; font-weight: 550; color: var(--quiet); }
thead a { color: inherit; }
.number { text-align: end; }
[aria-sort=ascending] a::after { content: " ↑"; }
[aria-sort=descending] a::after { content: " ↓"; }
tbody th { font: .85em/1.8 var(--mono); }
.below {
  display: flex;
  flex-wrap: wrap;
  justify-content: space-between;
  gap: .5rem 2rem;
  min-height: 2.5rem;
  padding-top: .75rem;
  font-size: .92rem;
}
.below p { margin: 0; }
.pages ul { gap: 1.25rem; }
.empty { padding: 2.5rem 1.5rem; margin: 0; text-align: center; border: 1px dashed var(--line); border-radius: 8px; }
dl { margin: 0; border: 1px solid var(--line); border-radius: 8px; }
dl > div { display: grid; grid-template-columns: minmax(7rem, 14rem) minmax(0, 1fr); gap: 1rem; padding: .6rem 1rem; }
dl > div + div { border-top: 1px solid var(--line); }
dt { color: var(--quiet); font-size: .9rem; overflow-wrap: anywhere; }
dd { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; }
pre { margin: 0; max-height: 24rem; overflow: auto; white-space: pre-wrap; }
.home ul { flex-direction: column; gap: .6rem; font-size: 1.1rem; }
.home code { color: var(--quiet); }
.links { margin-top: 1.25rem; }
.links li a {
  display: block;
  padding: .35rem .9rem;
  border: 1px solid var(--line);
  border-radius: 2rem;
  text-decoration: none;
  font-size: .92rem;
}
.links li a:hover { border-color: currentColor; }
.forms { margin-top: 2rem; border-top: 1px solid var(--line); padding-top: 1rem; }
.forms:has(~ .query) { margin: 0 0 1rem; border: 0; padding: 0; }
.forms details { margin-bottom: .25rem; }
.forms form { display: grid; gap: 1.1rem; max-width: 36rem; padding: .75rem 0 1.5rem; }
.forms p { margin: 0; }
.hint, .problem { margin: 0; font-size: .85rem; }
.problem { color: var(--wrong); font-weight: 550; }
.alert {
  padding: .75rem 1rem;
  border-left: 3px solid var(--wrong);
  background: var(--wrong-paper);
  border-radius: 0 6px 6px 0;
  overflow-wrap: anywhere;
}
.alert button { display: block; margin-top: .6rem; }
.status:not(:empty) {
  position: fixed;
  inset: auto 0 1.5rem;
  margin: auto;
  width: max-content;
  padding: .5rem 1.2rem;
  border-radius: 2rem;
  background: var(--ink);
  color: var(--paper);
}
@media (max-width: 40rem) {
  header, main { padding-inline: 1rem; }
  h1 { font-size: 1.5rem; }
  dl > div { grid-template-columns: 1fr; gap: .1rem; }
  .row p { max-width: none; }
  tbody th { max-width: 6.5rem; }
}
@media print { .query, .forms, .pages, .curl, .skip { display: none; } }
`
