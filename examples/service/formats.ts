import { json } from 'fastify-collections'
import { hal } from 'fastify-collections/hal'
import { xml } from 'fastify-collections/xml'
import { html } from 'fastify-collections/html'

/** The first is for who asks for nothing in particular; a browser asks for HTML. */
export const formats = [json, hal, xml, html]
