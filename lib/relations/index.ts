export { relate } from './relate.ts'
