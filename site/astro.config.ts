import { defineConfig } from 'astro/config'
import starlight from '@astrojs/starlight'
import { satteri } from '@astrojs/markdown-satteri'
import { correctHtml } from './src/correct-html.ts'
import { base, origin, repository } from './src/address.ts'
import { groups, readPage } from './src/documents.ts'

export default defineConfig({
  ...(origin !== undefined && { site: origin }),
  base,
  trailingSlash: 'always',
  // Quotes and dashes of the pages stay as they are written.
  markdown: {
    processor: satteri({ features: { smartPunctuation: false } }),
    shikiConfig: { themes: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' }, defaultColor: false }
  },
  integrations: [
    correctHtml(),
    starlight({
      title: 'fastify-collections',
      description: readPage('README.md').description,
      // Its markup of code is invalid HTML.
      expressiveCode: false,
      markdown: { processedDirs: ['../docs', '../examples', '..'] },
      sidebar: groups.map(({ label, pages }) => ({
        label,
        items: [...pages.map(({ slug }) => ({ slug })), ...(label === 'Reference' ? [{ slug: 'types' }] : [])]
      })),
      components: { Footer: './src/components/Footer.astro', PageTitle: './src/components/PageTitle.astro' },
      customCss: ['./src/style.css'],
      ...(repository !== undefined && {
        editLink: { baseUrl: `${repository}/edit/main/site/` },
        social: [{ icon: 'github', label: 'GitHub', href: repository }]
      }),
      head: [{ tag: 'link', attrs: { rel: 'alternate', type: 'text/plain', href: `${base}llms.txt`, title: 'llms.txt' } }]
    })
  ]
})
