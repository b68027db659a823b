/** The output of results: for a terminal, or for a Markdown page. */
export interface Printer {
  title(text: string): void
  note(text: string): void
  table(lines: string[][]): void
}

export const text: Printer = {
  title: (title) => console.log(`\n${title}`),
  note: (note) => console.log(note),
  table (lines) {
    const widths = lines[0]!.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)))
    for (const line of lines) {
      console.log(
        line.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!))).join('  ')
      )
    }
  }
}

export const markdown: Printer = {
  title: (title) => console.log(`\n### ${title}\n`),
  note: (note) => console.log(`\n${note}\n`),
  table ([head = [], ...lines]) {
    const row = (cells: string[]) => console.log(`| ${cells.join(' | ')} |`)
    row(head)
    row(head.map((_, column) => (column === 0 ? '---' : '---:')))
    for (const line of lines) row(line)
  }
}
