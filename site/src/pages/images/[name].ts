import { basename } from 'node:path'
import type { APIRoute, GetStaticPaths } from 'astro'
import { pictures, readFile } from '../../documents.ts'

export const getStaticPaths: GetStaticPaths = () =>
  pictures.map((file) => ({ params: { name: basename(file) }, props: { file } }))

export const GET: APIRoute<{ file: string }> = ({ props }) => new Response(new Uint8Array(readFile(props.file)))
