/**
 * Shows variants of the same code as tabs. In the Markdown, which is complete without them, comments separate the
 * variants:
 *
 *     <!-- tab: SQLite -->
 *     ...
 *     <!-- tab: PostgreSQL -->
 *     ...
 *     <!-- end of tabs -->
 *
 * The tabs are radio buttons, so they work without scripts.
 */
export function showTabs (markdown: string): string {
  let groups = 0
  return markdown.replace(/^<!-- tab: [^]*?^<!-- end of tabs -->$/gm, (group) => {
    const name = `tabs-${++groups}`
    const tabs = [...group.matchAll(/^<!-- tab: (.*) -->\n([^]*?)(?=^<!-- )/gm)]
      .map(([, label = '', content = ''], index) => ({ id: `${name}-${index + 1}`, label, content, index }))
    const buttons = tabs.map(({ id, label, index }) =>
      `<input type="radio" name="${name}" id="${id}"${index === 0 ? ' checked' : ''}><label for="${id}">${label}</label>`)
    const panels = tabs.map(({ content }) => `<div class="tab">\n\n${content.trim()}\n\n</div>`)
    return `<fieldset class="tabs"><legend class="sr-only">Show</legend>${buttons.join('')}\n${panels.join('\n')}\n</fieldset>`
  })
}
