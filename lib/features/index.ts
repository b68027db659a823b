// For authors of features: docs/features.md#write-your-own. Before 1.0, it can change in any release.

export { describeLayers } from '../engine/engine.ts'
export { getDecision } from '../engine/decisions.ts'
export { changeOperation } from '../engine/operation.ts'
export type { Decide, Door, LayerOptions, Operation, Outcome, Positions, RuleSource } from '../engine/operation.ts'
export type { Feature, Host } from '../engine/feature.ts'
