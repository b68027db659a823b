import type { APIRoute, GetStaticPaths } from 'astro'
import { version } from '../address.ts'
import { pageFiles, readPage, resolveLinks, toMarkdownPath } from '../documents.ts'

export const getStaticPaths: GetStaticPaths = () =>
  pageFiles.map((file) => ({ params: { slug: readPage(file).slug }, props: { file } }))

export const GET: APIRoute<{ file: string }> = ({ props }) => {
  const page = readPage(props.file)
  const text = resolveLinks(page, toMarkdownPath)
  return new Response(`# ${page.title}\n\nfastify-collections ${version}\n${text}`)
}
