export { defineRelations as relate } from './define-relations.ts'
