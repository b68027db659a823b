import { hal, json, xml } from 'fastify-collections'
import { html } from 'fastify-collections/html'

/** The first is for who asks for nothing in particular; a browser asks for HTML. */
export const formats = [json, hal, xml, html]
