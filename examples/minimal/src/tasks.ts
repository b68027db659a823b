import { Type } from '@sinclair/typebox'

export const Task = Type.Object({
  id: Type.String({ format: 'uuid', readOnly: true }),
  title: Type.String({ minLength: 1, maxLength: 200 }),
  done: Type.Boolean({ default: false }),
  createdAt: Type.String({ format: 'date-time', readOnly: true }),
  updatedAt: Type.String({ format: 'date-time', readOnly: true })
})
