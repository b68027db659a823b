export { default } from '@fastify/express'
